import { createHash } from 'node:crypto'
import { type Clock, escapeInvisible, systemClock } from '@reply/core'
import { pause } from '@reply/core/internal'
import type { MessageRef } from '@reply/sink'
import {
  type Attachment,
  type Bubble,
  type Button,
  type ChannelPort,
  callPlatform,
  type EditOptions,
  ignoreGone,
  type PortError,
  type PostOptions,
  uploadTimeoutMs,
} from '@reply/sink/channel'
import { requireFileSize, type TypingOptions, withoutHalf } from '@reply/sink/internal'
import { type Body, type DiscordRest, messageFlags, refOf } from './api.ts'
import { responseOf, toPortError } from './error.ts'
import { customIdOf } from './form.ts'
import { idIn } from './inbound.ts'
import { discordLimits, fileLimits, nonceLength, reactionPauseMs, threadNameLength } from './limits.ts'
import { escapeDiscord, oneMessage } from './render.ts'

/** The options of `createDiscordPort`. */
export interface DiscordPortOptions {
  /** `@discordjs/rest`'s: `new REST(discordRestOptions).setToken(token)`, or a client's `client.rest`. */
  readonly rest: DiscordRest
  /** Id of a channel, direct message or thread. */
  readonly channelId: string
  /** A thread to create from a message in that channel, with the first post. */
  readonly thread?: DiscordThread | undefined
  /** Call timeout in ms. After it, the call may or may not have taken effect. Default 30,000. */
  readonly timeoutMs?: number | undefined
  /** The source of all times and timers. Default: the computer's clock. */
  readonly clock?: Clock | undefined
}

const emoji = { seen: '👀', done: '✅' } as const

/** Creates the platform adapter for one Discord channel. It never retries a call: the sink does. */
export function createDiscordPort(options: DiscordPortOptions): ChannelPort {
  const { rest, channelId, thread, timeoutMs, clock = systemClock } = options
  const targetId = createTarget(rest, channelId, thread)
  return { limits: discordLimits, post, edit, remove, typing, upload, uploadAlbum, react }

  /** Posts a message, with a nonce of its key, by which Discord drops a repeat. */
  async function post(bubble: Bubble, posting: PostOptions): Promise<MessageRef> {
    return await call('post', posting, async (signal) => {
      const target = await targetId(signal)
      const body = { ...postFields(withoutParentReply(posting, target), nonceOf(posting.key)), ...contentBody(bubble) }
      return refOf(idIn(await rest.post(`/channels/${target}/messages`, { body, signal }), 'post'))
    })
  }

  /** Edits a message. A bubble without buttons removes the message's buttons. */
  async function edit({ id }: MessageRef, bubble: Bubble, editing: EditOptions): Promise<void> {
    await call('edit', editing, async (signal) => {
      const target = await targetId(signal)
      await rest.patch(`/channels/${target}/messages/${id}`, { body: contentBody(bubble), signal })
    })
  }

  /** Removes a message. Succeeds if it is already gone. */
  async function remove({ id }: MessageRef, removing: EditOptions): Promise<void> {
    await ignoreGone(
      call('remove', removing, async (signal) => {
        const target = await targetId(signal)
        await rest.delete(`/channels/${target}/messages/${id}`, { signal })
      }),
    )
  }

  /** Shows the typing notice. Can't hide it: Discord does so after 10 s, and with the next message. */
  async function typing(on: boolean, options: TypingOptions): Promise<void> {
    if (!on) return
    await call('typing', options, async (signal) => {
      const target = await targetId(signal)
      await rest.post(`/channels/${target}/typing`, { signal })
    })
  }

  /** Posts a file below its caption. */
  async function upload(file: Attachment, posting: PostOptions): Promise<MessageRef> {
    return await uploadAlbum([file], posting)
  }

  /**
   * Posts files in one message below their captions, which are cut to one message. Discord shows PNGs, JPEGs, GIFs and WebPs as
   * pictures.
   */
  async function uploadAlbum(attachments: readonly Attachment[], posting: PostOptions): Promise<MessageRef> {
    for (const one of attachments) requireFileSize(one, fileLimits)
    const captions = attachments.map(({ caption }) => caption).filter((caption) => caption !== '')
    const content = oneMessage(captions.join('\n'))
    const files = attachments.map(({ name, mime, bytes }) => ({ name, data: bytes, contentType: mime }))
    const byteCount = files.reduce((sum, { data }) => sum + data.length, 0)
    return await call('upload', { signal: posting.signal, byteCount }, async (signal) => {
      const target = await targetId(signal)
      const body = { content, ...postFields(withoutParentReply(posting, target), nonceOf(posting.key)) }
      const posted = await rest.post(`/channels/${target}/messages`, { body, files, signal })
      return refOf(idIn(posted, 'upload'))
    })
  }

  /**
   * Adds the new reaction, and then removes the others. The message is a person's, so it is in the channel, not in the
   * thread.
   */
  async function react({ id }: MessageRef, sign: 'seen' | 'done' | undefined, reacting: EditOptions): Promise<void> {
    const route = (reaction: keyof typeof emoji): `/${string}` =>
      `/channels/${channelId}/messages/${id}/reactions/${encodeURIComponent(emoji[reaction])}/@me`
    if (sign) await call('react', reacting, (signal) => rest.put(route(sign), { signal }))
    for (const [index, other] of (['seen', 'done'] as const).filter((reaction) => reaction !== sign).entries()) {
      if (sign || index > 0) await pause(clock, reactionPauseMs)
      await ignoreGone(call('react', reacting, (signal) => rest.delete(route(other), { signal })))
    }
  }

  /**
   * Makes a call. Rejects with a `PortError`. The timeout also covers the client's own wait before a retry. An aborted call
   * is not sent again.
   */
  async function call<T>(
    verb: string,
    { signal, byteCount = 0 }: Pick<EditOptions, 'signal'> & { readonly byteCount?: number },
    make: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const what = `${verb} in channel ${channelId}`
    return await callPlatform(make, {
      what,
      signal,
      timeoutMs: uploadTimeoutMs(byteCount, timeoutMs),
      clock,
      toPortError,
    })
  }
}

/**
 * Returns the post's options without a reply to the thread's parent message. That has the thread's id but is outside of it,
 * so it can't be replied to.
 */
function withoutParentReply(posting: PostOptions, channelId: string): PostOptions {
  return posting.replyTo?.id === channelId ? { ...posting, replyTo: undefined } : posting
}

/** Returns the key, or its hash if the key is longer than Discord allows. */
function nonceOf(key: string): string {
  return key.length <= nonceLength ? key : createHash('sha256').update(key).digest('base64url').slice(0, nonceLength)
}

/** A model's text mentions no one. https://discord.com/developers/docs/resources/message#allowed-mentions-object */
const noMentions = { allowed_mentions: { parse: [] } } as const

/**
 * Returns the fields of a post or an edit for its content and buttons, with its mentions on the first line, without ids that
 * are not a person's. A plain text is escaped. An empty list of components removes old buttons.
 */
function contentBody({ text, isPlain, buttons, form, mentions = [] }: Bubble): Body {
  const people = mentions.map(({ id }) => id).filter((id) => /^\d+$/.test(id))
  const lead = people.length === 0 ? '' : `${people.map((id) => `<@${id}>`).join(' ')}\n`
  const rows = [...buttons, ...(form ? [[{ label: form.label, data: form.token }]] : [])]
  const components = rows.map((row, at) =>
    buttonRow(row, at === buttons.length ? buttonStyle.primary : buttonStyle.secondary),
  )
  const content = lead + (isPlain ? escapeDiscord(text) : text)
  return { content, components, allowed_mentions: { parse: [], ...(lead !== '' && { users: people }) } }
}

/**
 * Returns the fields of a post besides its content: without mentions and link previews. It is posted even if the message
 * that it replies to was deleted.
 */
export function postFields({ silent, replyTo }: Pick<PostOptions, 'silent' | 'replyTo'>, nonce: string): Body {
  return {
    ...noMentions,
    nonce,
    enforce_nonce: true,
    flags: messageFlags.noEmbeds | (silent ? messageFlags.silent : 0),
    ...(replyTo && { message_reference: { message_id: replyTo.id, fail_if_not_exists: false } }),
  }
}

/** Returns a message that only the person sees, without link previews, with an optional button that opens a dialog. */
export function noticeBody(text: string, opener?: Button): Body {
  const components = opener ? { components: [buttonRow([opener], buttonStyle.primary)] } : {}
  return {
    content: oneMessage(text),
    flags: messageFlags.ephemeral | messageFlags.noEmbeds,
    ...components,
    ...noMentions,
  }
}

const buttonStyle = { primary: 1, secondary: 2 } as const

/** Returns an action row with these buttons in one style. */
function buttonRow(row: readonly Button[], style: number): Body {
  const components = row.map(({ label, data }) => ({ type: 2, style, label, custom_id: customIdOf(data) }))
  return { type: 1, components }
}

/** A thread's parent message and name. The thread's id is the message's. */
export interface DiscordThread {
  /** The message that the thread is created from. */
  readonly messageId: string
  /** Plain text, cut to 100 UTF-16 units. A blank name becomes "OpenCode". */
  readonly name: string
  /**
   * Called before each call with the id that messages go to: the thread's, or the channel's where threads are
   * impossible.
   */
  readonly onTarget?: ((channelId: string) => void) | undefined
  /** Called once if the bot may not create threads: messages go to the channel. */
  readonly onDenied?: ((error: PortError) => void) | undefined
}

/** Discord's error codes. https://discord.com/developers/docs/topics/opcodes-and-status-codes#json */
const threadErrors = {
  /** The message already has a thread. */
  exists: 160_004,
  /** This type of channel has no threads. */
  impossible: 50_024,
  /** The bot lacks a permission. */
  denied: 50_013,
} as const

/**
 * Returns a function that resolves with the id that messages go to: the thread, created with the first call, or the
 * channel where threads are impossible or denied. After a failure, the next call tries again.
 */
function createTarget(
  rest: DiscordRest,
  channelId: string,
  thread: DiscordThread | undefined,
): (signal: AbortSignal) => Promise<string> {
  let targetId = thread ? undefined : Promise.resolve(channelId)
  return async (signal) => {
    targetId ??= createThread(signal)
    try {
      const target = await targetId
      thread?.onTarget?.(target)
      return target
    } catch (error) {
      targetId = undefined
      throw error
    }
  }

  /**
   * Resolves with the thread's id, also if it exists already. Resolves with the channel's where threads are impossible, or
   * denied, which it reports to `onDenied`.
   */
  async function createThread(signal: AbortSignal): Promise<string> {
    const { messageId, name = '' } = thread ?? { messageId: '' }
    const body = { name: threadName(name) || 'OpenCode' }
    try {
      await rest.post(`/channels/${channelId}/messages/${messageId}/threads`, { body, signal })
    } catch (error) {
      const code = responseOf(error)?.code
      if (code === threadErrors.denied) thread?.onDenied?.(toPortError(error, `thread in chat ${channelId}`))
      if (code === threadErrors.impossible || code === threadErrors.denied) return channelId
      if (code !== threadErrors.exists) throw error
    }
    return messageId
  }
}

/** Returns a name on one line, cut to Discord's length, but never inside a surrogate pair, which Discord would refuse. */
function threadName(name: string): string {
  const line = escapeInvisible(name.replace(/\s+/g, ' ').trim())
  return line.length <= threadNameLength ? line : withoutHalf(line.slice(0, threadNameLength))
}
