import { createHash, randomBytes } from 'node:crypto'
import type { Clock } from '@reply/core'
import type { MessageRef } from '@reply/sink'
import {
  type Attachment,
  type Bubble,
  type ChannelPort,
  callPlatform,
  type EditOptions,
  PortError,
  type PostOptions,
} from '@reply/sink/channel'
import { requireLength, systemClock } from '@reply/sink/internal'
import { toBaileysPortError } from '../error.ts'
import { baileysLimits, editWindowMs, textLength } from '../limits.ts'
import { asWritten } from '../render.ts'
import {
  type BaileysContent,
  type BaileysQuoted,
  type BaileysSendOptions,
  type BaileysSource,
  keyOf,
  quotableIn,
} from './api.ts'
import { connectionOf } from './socket.ts'

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
    await deliver('edit', { text, linkPreview: null, edit: key, ...mentionsOf(bubble) }, editing, {
      messageId: ownID(randomBytes(9)),
    })
    connection.remember(ref.id, { key, message: { conversation: text } }, clock.now())
  }

  async function remove(ref: MessageRef, removing: EditOptions): Promise<void> {
    if (connection.isGone(jid, ref.id)) return
    await deliver('remove', { delete: ownKey(ref) }, removing, { messageId: ownID(randomBytes(9)) })
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
    // From its first try on: the message may be as old, and WhatsApp shows edits only for a while.
    connection.remember(messageId, { key: ownKey({ id: messageId }), message: { conversation: shown } }, clock.now())
    return { id: messageId, postedAt: await deliver(verb, content, { signal }, { messageId, ...quoted }) }
  }

  /** Baileys' own call resolves once the bytes are written: only an acknowledgement says that WhatsApp has them. */
  async function deliver(
    verb: string,
    content: BaileysContent,
    { signal }: Pick<EditOptions, 'signal'>,
    options: BaileysSendOptions & { readonly messageId: string },
  ): Promise<number | undefined> {
    const { messageId } = options
    connection.forgetAck(messageId)
    return await call(verb, { signal }, async () => {
      const socket = connection.socket()
      await socket.sendMessage(jid, content, options).catch((error: unknown) => {
        throw unlessWritten(toBaileysPortError(error, `${verb} in chat ${jid}`))
      })
      return await connection.takenAt(messageId, clock)
    })
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

/** A connection may close after the message was written. A retry costs nothing: it has the same id, or changes nothing. */
function unlessWritten(error: PortError): PortError {
  return error.type === 'unreachable' ? new PortError('ambiguous', error.message, { cause: error.cause }) : error
}

/** The same id for each retry of a post, because receivers ignore a known id. */
function messageIdOf(jid: string, key: string): string {
  return ownID(createHash('sha256').update(`${jid}\n${key}`).digest())
}

/** In the form of Baileys' own ids: `generateMessageIDV2`. */
function ownID(bytes: Buffer): string {
  return `3EB0${bytes.toString('hex').toUpperCase().slice(0, 18)}`
}
