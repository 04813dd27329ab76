import { createHash } from 'node:crypto'
import type { Clock } from '@reply/core'
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
} from '@reply/sink/channel'
import { escapeInvisible, pause, systemClock, type TypingOptions, withoutHalf } from '@reply/sink/internal'
import { type Body, type DiscordRest, flag, refOf } from './api.ts'
import { responseOf, toPortError } from './error.ts'
import { idOf } from './form.ts'
import { idIn } from './inbound.ts'
import { discordLimits, nonceLength, signMs, threadNameLength } from './limits.ts'
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

/** Platform adapter for one Discord channel. Never retries a call: the sink does. */
export function createDiscordPort(options: DiscordPortOptions): ChannelPort {
  const { rest, channelId, thread, timeoutMs, clock = systemClock } = options
  const target = createTarget({ rest, channelId, thread })
  return { limits: discordLimits, post, edit, remove, typing, upload, react }

  async function post(bubble: Bubble, posting: PostOptions): Promise<MessageRef> {
    return await call('post', posting, async (signal) => {
      const at = await target(signal)
      const body = postBody(bubble, inPlace(posting, at), nonceOf(posting.key))
      return refOf(idIn(await rest.post(`/channels/${at}/messages`, { body, signal }), 'post'))
    })
  }

  /** A bubble without buttons removes the message's buttons. */
  async function edit({ id }: MessageRef, bubble: Bubble, editing: EditOptions): Promise<void> {
    await call('edit', editing, async (signal) => {
      const at = await target(signal)
      await rest.patch(`/channels/${at}/messages/${id}`, { body: editBody(bubble), signal })
    })
  }

  async function remove({ id }: MessageRef, removing: EditOptions): Promise<void> {
    await ignoreGone(
      call('remove', removing, async (signal) => {
        const at = await target(signal)
        await rest.delete(`/channels/${at}/messages/${id}`, { signal })
      }),
    )
  }

  /** Discord ends the indicator after 10 s, and with the next message. */
  async function typing(on: boolean, options: TypingOptions): Promise<void> {
    if (!on) return
    await call('typing', options, async (signal) => {
      const at = await target(signal)
      await rest.post(`/channels/${at}/typing`, { signal })
    })
  }

  async function upload({ name, text, caption }: Attachment, posting: PostOptions): Promise<MessageRef> {
    const content = oneMessage(caption)
    const files = [{ name, data: new TextEncoder().encode(text), contentType: 'text/plain' }]
    return await call('upload', posting, async (signal) => {
      const at = await target(signal)
      const { silent, replyTo } = inPlace(posting, at)
      const body = { content, ...around({ silent, replyTo, nonce: nonceOf(posting.key) }) }
      const posted = await rest.post(`/channels/${at}/messages`, { body, files, signal })
      return refOf(idIn(posted, 'upload'))
    })
  }

  /**
   * Adds the new reaction before removing the others. The message is a person's, so it is in the channel, not in the
   * thread.
   */
  async function react({ id }: MessageRef, sign: 'seen' | 'done' | undefined, reacting: EditOptions): Promise<void> {
    const route = (of: keyof typeof emoji): `/${string}` =>
      `/channels/${channelId}/messages/${id}/reactions/${encodeURIComponent(emoji[of])}/@me`
    if (sign) await call('react', reacting, (signal) => rest.put(route(sign), { signal }))
    for (const [at, other] of (['seen', 'done'] as const).filter((one) => one !== sign).entries()) {
      if (sign || at > 0) await pause(clock, signMs)
      await ignoreGone(call('react', reacting, (signal) => rest.delete(route(other), { signal })))
    }
  }

  /** The timeout also covers the client's own wait before a retry. An aborted call is not sent again. */
  async function call<T>(
    verb: string,
    { signal }: Pick<EditOptions, 'signal'>,
    make: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    return await callPlatform(make, { what: `${verb} in channel ${channelId}`, signal, timeoutMs, clock, toPortError })
  }
}

/** A thread's parent message has the thread's id but is outside of it, so it can't be replied to there. */
function inPlace(posting: PostOptions, channelId: string): PostOptions {
  return posting.replyTo?.id === channelId ? { ...posting, replyTo: undefined } : posting
}

function nonceOf(key: string): string {
  return key.length <= nonceLength ? key : createHash('sha256').update(key).digest('base64url').slice(0, nonceLength)
}

/** A model's text mentions no one. https://discord.com/developers/docs/resources/message#allowed-mentions-object */
const noMentions = { allowed_mentions: { parse: [] } } as const

function postBody(bubble: Bubble, { silent, replyTo }: PostOptions, nonce: string): Body {
  return { ...around({ silent, replyTo, nonce }), ...editBody(bubble) }
}

/** Always sends `components`: an empty list removes the message's buttons. */
function editBody({ text, isPlain, buttons, form, mentions = [] }: Bubble): Body {
  const people = mentions.map(({ id }) => id).filter((id) => /^\d+$/.test(id))
  const lead = people.length === 0 ? '' : `${people.map((id) => `<@${id}>`).join(' ')}\n`
  const rows = [...buttons, ...(form ? [[{ label: form.label, data: form.token }]] : [])]
  const components = rows.map((row, at) => rowOf(row, at === buttons.length ? style.chief : style.plain))
  const content = lead + (isPlain ? escapeDiscord(text) : text)
  return { content, components, allowed_mentions: { parse: [], ...(lead !== '' && { users: people }) } }
}

interface Around {
  readonly silent: boolean
  readonly replyTo?: PostOptions['replyTo']
  readonly nonce: string
}

/** The fields of a post besides its content. It is posted even if the message it replies to was deleted. */
export function around({ silent, replyTo, nonce }: Around): Body {
  return {
    ...noMentions,
    nonce,
    enforce_nonce: true,
    flags: flag.noEmbeds | (silent ? flag.silent : 0),
    ...(replyTo && { message_reference: { message_id: replyTo.id, fail_if_not_exists: false } }),
  }
}

/** A message that only the person sees, without link previews, with an optional button that opens a dialog. */
export function noticeBody(text: string, opener?: Button): Body {
  const components = opener ? { components: [rowOf([opener], style.chief)] } : {}
  return { content: oneMessage(text), flags: flag.ephemeral | flag.noEmbeds, ...components, ...noMentions }
}

const style = { chief: 1, plain: 2 } as const

function rowOf(row: readonly Button[], look: number): Body {
  const components = row.map(({ label, data }) => ({ type: 2, style: look, label, custom_id: idOf(data) }))
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
 * The channel that messages go to: the thread, created with the first call, or the parent channel where threads are
 * impossible.
 */
function createTarget({
  rest,
  channelId,
  thread,
}: Pick<DiscordPortOptions, 'rest' | 'channelId' | 'thread'>): (signal: AbortSignal) => Promise<string> {
  let known = thread ? undefined : Promise.resolve(channelId)
  return async (signal) => {
    known ??= open(signal)
    try {
      const target = await known
      thread?.onTarget?.(target)
      return target
    } catch (error) {
      known = undefined
      throw error
    }
  }

  async function open(signal: AbortSignal): Promise<string> {
    const { messageId, name = '' } = thread ?? { messageId: '' }
    const body = { name: nameOf(name) || 'OpenCode' }
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

/** A visible thread name, never cut inside a surrogate pair, which Discord would refuse. */
function nameOf(name: string): string {
  const line = escapeInvisible(name.replace(/\s+/g, ' ').trim())
  return line.length <= threadNameLength ? line : withoutHalf(line.slice(0, threadNameLength))
}
