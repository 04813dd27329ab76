import { createHash } from 'node:crypto'
import type { Clock } from '@reply/core'
import type { ChannelPort, MessageRef } from '@reply/sink'
import {
  type Attachment,
  type Bubble,
  callPlatform,
  type EditOptions,
  PortError,
  type PostOptions,
  requireLength,
  systemClock,
} from '@reply/sink/channel'
import { asWritten } from '../render.ts'
import type { BaileysContent, BaileysQuoted, BaileysSource } from './api.ts'
import { connectionOf, keyOf, quotableIn } from './connection.ts'
import { toBaileysPortError } from './failure.ts'
import { toTime } from './inbound.ts'
import { baileysLimits, editWindowMs, textLength } from './limits.ts'

/** Options of `createBaileysPort`. */
export interface BaileysPortOptions {
  /** The socket, or a function that returns the current one. */
  readonly socket: BaileysSource
  /** The person or group to write to: the chat id of an inbound. */
  readonly jid: string
  /** The prompt's ref: marked as read with the first typing indicator. Default: no message is. */
  readonly replyTo?: string | undefined
  /** Call timeout in ms. After it, the call may or may not have taken effect. Default 30,000. */
  readonly timeoutMs?: number | undefined
  /** The source of all times and timers. Default: the computer's clock. */
  readonly clock?: Clock | undefined
}

/** Platform adapter for one chat of a linked device. It never retries a call: the sink does. */
export function createBaileysPort(options: BaileysPortOptions): ChannelPort {
  const { socket: source, jid, replyTo, timeoutMs, clock = systemClock } = options
  const connection = connectionOf(source)
  let isRead = replyTo === undefined
  return { limits: baileysLimits, post, edit, remove, typing, upload, react }

  async function post(bubble: Bubble, posting: PostOptions): Promise<MessageRef> {
    const text = textOf(bubble)
    return await send('post', { text, linkPreview: null, ...mentionsOf(bubble) }, { ...posting, shown: text })
  }

  async function edit(ref: MessageRef, bubble: Bubble, editing: EditOptions): Promise<void> {
    const text = textOf(bubble)
    refuseLate(ref)
    const key = ownKey(ref)
    await call('edit', editing, () =>
      connection.socket().sendMessage(jid, { text, linkPreview: null, edit: key, ...mentionsOf(bubble) }),
    )
    connection.remember(ref.id, { key, message: { conversation: text } }, clock.now())
  }

  async function remove(ref: MessageRef, removing: EditOptions): Promise<void> {
    if (connection.isGone(jid, ref.id)) return
    await call('remove', removing, () => connection.socket().sendMessage(jid, { delete: ownKey(ref) }))
  }

  async function typing(on: boolean, options: EditOptions): Promise<void> {
    await call('typing', options, async () => {
      const socket = connection.socket()
      if (!isRead && replyTo !== undefined) {
        isRead = true
        await socket.readMessages([quotedOf(replyTo).key])
      }
      await socket.sendPresenceUpdate(on ? 'composing' : 'paused', jid)
    })
  }

  async function upload({ name, text, caption }: Attachment, posting: PostOptions): Promise<MessageRef> {
    const document = {
      document: Buffer.from(text),
      fileName: name,
      mimetype: 'text/plain',
      caption: asWritten(caption),
    }
    return await send('upload', document, { ...posting, shown: caption })
  }

  async function react(ref: MessageRef, sign: 'seen' | 'done' | undefined, reacting: EditOptions): Promise<void> {
    const text = sign === undefined ? '' : sign === 'seen' ? '👀' : '✅'
    await call('react', reacting, () =>
      connection.socket().sendMessage(jid, { react: { text, key: quotedOf(ref.id).key } }),
    )
  }

  async function send(
    verb: string,
    content: BaileysContent,
    { key, replyTo: answered, shown, signal }: PostOptions & { readonly shown: string },
  ): Promise<MessageRef> {
    const messageId = messageIdOf(jid, key)
    const quoted = answered && { quoted: quotableIn(jid, quotedOf(answered.id)) }
    const at = clock.now()
    const sent = await call(verb, { signal }, () =>
      connection.socket().sendMessage(jid, content, { messageId, ...quoted }),
    )
    const ref = { id: messageId }
    connection.remember(ref.id, { key: ownKey(ref), message: { conversation: shown } }, at)
    // Without an acknowledgement, falls back to the sent message's time, from the computer's clock.
    return { ...ref, postedAt: (await connection.takenAt(messageId, clock)) ?? toTime(sent) }
  }

  function quotedOf(ref: string): BaileysQuoted {
    return connection.recall(ref)?.message ?? { key: keyOf(ref, jid), message: { conversation: '' } }
  }

  function ownKey({ id }: MessageRef): BaileysQuoted['key'] {
    return { remoteJid: jid, fromMe: true, id }
  }

  /** WhatsApp accepts edits that are too late, but doesn't show them. */
  function refuseLate({ id }: MessageRef): void {
    if (connection.isGone(jid, id)) throw new PortError('gone', `Message ${id} in chat ${jid} was deleted.`)
    const known = connection.recall(id)
    if (known && clock.now() - known.at >= editWindowMs)
      throw new PortError('fixed', `Message ${id} in chat ${jid} is older than ${editWindowMs} ms.`)
  }

  async function call<T>(verb: string, { signal }: Pick<EditOptions, 'signal'>, make: () => Promise<T>): Promise<T> {
    // A socket can't abort a call, so a timeout or an abort only stops waiting for it.
    return await callPlatform(make, {
      what: `${verb} in chat ${jid}`,
      signal,
      timeoutMs,
      clock,
      toPortError: toBaileysPortError,
    })
  }
}

/** A mention is the part of the person's id before its `@`, and the id beside the text. */
function textOf({ text, isPlain, mentions = [] }: Bubble): string {
  const people = mentions.map(({ id }) => `@${id.split('@')[0]}`)
  const written = [people.join(' '), isPlain ? asWritten(text) : text].filter((line) => line !== '').join('\n')
  requireLength(written, textLength)
  return written
}

function mentionsOf({ mentions = [] }: Bubble): { mentions?: string[] } {
  return mentions.length === 0 ? {} : { mentions: mentions.map(({ id }) => id) }
}

/** The same id for each retry of a post, because receivers ignore a known id. Has the form of Baileys' own ids. */
function messageIdOf(jid: string, key: string): string {
  return `3EB0${createHash('sha256').update(`${jid}\n${key}`).digest('hex').toUpperCase().slice(0, 18)}`
}
