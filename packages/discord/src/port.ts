import { createHash } from 'node:crypto'
import type { Clock } from '@reply/core'
import type { MessageRef } from '@reply/sink'
import {
  type Attachment,
  type Bubble,
  type ChannelPort,
  callPlatform,
  type EditOptions,
  type PostOptions,
  unlessGone,
} from '@reply/sink/channel'
import { pause, systemClock, type TypingOptions } from '@reply/sink/internal'
import type { DiscordRest } from './api.ts'
import { around, editBody, postBody } from './body.ts'
import { idIn } from './decode.ts'
import { toPortError } from './failure.ts'
import { discordLimits, nonceLength, signMs } from './limits.ts'
import { refOf } from './place.ts'
import { oneMessage } from './render.ts'
import { createTarget, type DiscordThread } from './thread.ts'

/** The channel or thread to write in, and how. */
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

/** Platform adapter for one Discord channel. It never retries a call: the sink does. */
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
    await unlessGone(
      call('remove', removing, async (signal) => {
        const at = await target(signal)
        await rest.delete(`/channels/${at}/messages/${id}`, { signal })
      }),
    )
  }

  /** Discord ends the indicator by itself, and with the next message. */
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
      await unlessGone(call('react', reacting, (signal) => rest.delete(route(other), { signal })))
    }
  }

  /** The timeout also covers the client's own wait before a retry; an aborted call is not sent again. */
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
