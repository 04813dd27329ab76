import { createHash } from 'node:crypto'
import type { Clock } from '@reply/core'
import {
  type Attachment,
  type Bubble,
  type ChannelPort,
  type MessageRef,
  PortError,
  type PostOptions,
  systemClock,
} from '@reply/sink'
import { asWritten } from '../render.ts'
import type { BaileysContent, BaileysQuoted, BaileysSource } from './api.ts'
import { callSocket } from './call.ts'
import { toTime } from './inbound.ts'
import { baileysLimits, editWindowMs, textLength } from './limits.ts'
import { keyOf, lineOf, quotableIn } from './line.ts'

/** For a port to one chat. */
export interface BaileysPortOptions {
  /** The socket, or what gives the one of the moment. */
  readonly socket: BaileysSource
  /** Who or which group it is written to, as an inbound names the chat. */
  readonly jid: string
  /** The message that asked is marked as read when it is begun to be answered. Default: none is. */
  readonly replyTo?: string | undefined
  /** So long a call may take, in ms. Nobody knows then whether it was done. Default 60,000. */
  readonly timeoutMs?: number | undefined
  readonly clock?: Clock | undefined
}

/** A linked device's hands for one chat. Every call is made once; whoever repeats is the sink. */
export function createBaileysPort(options: BaileysPortOptions): ChannelPort {
  const { socket: source, jid, replyTo, timeoutMs = 60_000, clock = systemClock } = options
  const line = lineOf(source)
  let isRead = replyTo === undefined
  return { limits: baileysLimits, post, edit, remove, typing, upload, react }

  async function post(bubble: Bubble, posting: PostOptions): Promise<MessageRef> {
    const text = textOf(bubble)
    return await send('post', { text, linkPreview: null }, { ...posting, shown: text })
  }

  async function edit(ref: MessageRef, bubble: Bubble): Promise<void> {
    const text = textOf(bubble)
    refuseLate(ref)
    const key = ownKey(ref)
    await call('edit', () => line.socket().sendMessage(jid, { text, linkPreview: null, edit: key }))
    line.remember(ref.id, { key, message: { conversation: text } }, clock.now())
  }

  async function remove(ref: MessageRef): Promise<void> {
    if (line.isGone(ref.id)) return
    await call('remove', () => line.socket().sendMessage(jid, { delete: ownKey(ref) }))
  }

  async function typing(on: boolean): Promise<void> {
    await call('typing', async () => {
      const socket = line.socket()
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

  async function react(ref: MessageRef, sign: 'seen' | 'done' | undefined): Promise<void> {
    const text = sign === undefined ? '' : sign === 'seen' ? '👀' : '✅'
    await call('react', () => line.socket().sendMessage(jid, { react: { text, key: quotedOf(ref.id).key } }))
  }

  async function send(
    verb: string,
    content: BaileysContent,
    { key, replyTo: answered, shown }: PostOptions & { readonly shown: string },
  ): Promise<MessageRef> {
    const messageId = messageIdOf(jid, key)
    const quoted = answered && { quoted: quotableIn(jid, quotedOf(answered.id)) }
    const at = clock.now()
    const sent = await call(verb, () => line.socket().sendMessage(jid, content, { messageId, ...quoted }))
    const ref = { id: messageId }
    line.remember(ref.id, { key: ownKey(ref), message: { conversation: shown } }, at)
    // What is sent carries the computer's time, which is the best there is if WhatsApp's own is not told.
    return { ...ref, postedAt: (await line.takenAt(messageId, clock)) ?? toTime(sent) }
  }

  function quotedOf(ref: string): BaileysQuoted {
    return line.recall(ref)?.message ?? { key: keyOf(ref, jid), message: { conversation: '' } }
  }

  function ownKey({ id }: MessageRef): BaileysQuoted['key'] {
    return { remoteJid: jid, fromMe: true, id }
  }

  /** WhatsApp takes what comes too late, and shows nothing of it. */
  function refuseLate({ id }: MessageRef): void {
    if (line.isGone(id)) throw new PortError('gone', `Message ${id} in chat ${jid} was taken back.`)
    const known = line.recall(id)
    if (known && clock.now() - known.at >= editWindowMs)
      throw new PortError('fixed', `Message ${id} in chat ${jid} is older than ${editWindowMs} ms.`)
  }

  async function call<T>(verb: string, make: () => Promise<T>): Promise<T> {
    return await callSocket(make, { what: `${verb} in chat ${jid}`, timeoutMs, clock })
  }
}

function textOf({ text, isPlain }: Bubble): string {
  const written = isPlain ? asWritten(text) : text
  if (written.length <= textLength) return written
  throw new PortError('too-long', `${written.length} units are too many; a message takes ${textLength}.`)
}

/** The same for each try of one post: who has a message of that id takes no other. In the form of Baileys' own. */
function messageIdOf(jid: string, key: string): string {
  return `3EB0${createHash('sha256').update(`${jid}\n${key}`).digest('hex').toUpperCase().slice(0, 18)}`
}
