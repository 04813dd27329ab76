import { createHash, randomBytes } from 'node:crypto'
import { type Clock, systemClock } from '@reply/core'
import type { MessageRef } from '@reply/sink'
import {
  type Attachment,
  type Bubble,
  type ChannelPort,
  callPlatform,
  type EditOptions,
  imageSize,
  PortError,
  type PostOptions,
  uploadTimeoutMs,
} from '@reply/sink/channel'
import { requireFileSize, requireLength } from '@reply/sink/internal'
import { toBaileysPortError } from '../error.ts'
import { baileysLimits, editWindowMs, fileLimits, pictureLimits, textLength } from '../limits.ts'
import { escapeWhatsApp } from '../render.ts'
import { sharedAccountState } from './account-state.ts'
import {
  type BaileysContent,
  type BaileysQuoted,
  type BaileysSendOptions,
  type BaileysSource,
  keyOfRefId,
  quotableIn,
} from './api.ts'

/** Options of `createBaileysPort`. */
export interface BaileysPortOptions {
  /** The socket, or a function that returns the current one. */
  readonly socket: BaileysSource
  /** The person or group to write to: the chat id of an inbound. */
  readonly jid: string
  /** The prompt's ref. It is marked as read with the first typing notice. Default: no message is marked. */
  readonly replyTo?: string | undefined
  /** Call timeout in ms. After it, the call may or may not have taken effect. Default 30,000. */
  readonly timeoutMs?: number | undefined
  /** The source of all times and timers. Default: the computer's clock. */
  readonly clock?: Clock | undefined
}

/** The signal that ends a call before its deadline, and how many bytes of a file it sends. */
interface CallLimits extends Pick<EditOptions, 'signal'> {
  /** Default 0. */
  readonly byteCount?: number | undefined
}

/** Creates the platform adapter for one chat of a linked device. It never retries a call: the sink does. */
export function createBaileysPort(options: BaileysPortOptions): ChannelPort {
  const { socket: source, jid, replyTo, timeoutMs, clock = systemClock } = options
  const state = sharedAccountState(source)
  let isMarkedRead = replyTo === undefined
  return { limits: baileysLimits, post, edit, remove, typing, upload, react }

  /** Posts a message, and resolves once WhatsApp has it. */
  async function post(bubble: Bubble, posting: PostOptions): Promise<MessageRef> {
    const text = textOf(bubble)
    return await send('post', { text, linkPreview: null, ...mentionsField(bubble) }, { ...posting, shown: text })
  }

  /**
   * Edits a message, and remembers its new text. Rejects with `gone` or `fixed` without a call if the message was deleted or
   * is too old.
   */
  async function edit(ref: MessageRef, bubble: Bubble, editing: EditOptions): Promise<void> {
    const text = textOf(bubble)
    requireEditable(ref)
    const key = ownKey(ref)
    await deliver('edit', { text, linkPreview: null, edit: key, ...mentionsField(bubble) }, editing, {
      messageId: toMessageId(randomBytes(9)),
    })
    state.rememberMessage(ref.id, { key, message: { conversation: text } }, clock.now())
  }

  /** Deletes a message for everyone. Makes no call if it was deleted already. */
  async function remove(ref: MessageRef, removing: EditOptions): Promise<void> {
    if (state.isDeleted(jid, ref.id)) return
    await deliver('remove', { delete: ownKey(ref) }, removing, { messageId: toMessageId(randomBytes(9)) })
  }

  /** Shows or hides the typing notice. The first call also marks the prompt as read. */
  async function typing(on: boolean, options: EditOptions): Promise<void> {
    await call('typing', options, async () => {
      const socket = state.requireSocket()
      if (!isMarkedRead && replyTo !== undefined) {
        isMarkedRead = true
        await socket.readMessages([messageToQuote(replyTo).key])
      }
      await socket.sendPresenceUpdate(on ? 'composing' : 'paused', jid)
    })
  }

  /** Posts a file, and resolves once WhatsApp has it. */
  async function upload(attachment: Attachment, posting: PostOptions): Promise<MessageRef> {
    requireFileSize(attachment, fileLimits)
    const { name, bytes } = attachment
    const caption = escapeWhatsApp(attachment.caption)
    const picture = pictureOf(attachment)
    const content = picture
      ? { image: Buffer.from(bytes), caption, ...picture }
      : { document: Buffer.from(bytes), fileName: name, mimetype: attachment.mime, caption }
    return await send('upload', content, { ...posting, shown: attachment.caption, byteCount: bytes.length })
  }

  /** Sets the reaction. Without a sign, removes it. */
  async function react(ref: MessageRef, sign: 'seen' | 'done' | undefined, reacting: EditOptions): Promise<void> {
    const text = sign === undefined ? '' : sign === 'seen' ? '👀' : '✅'
    await call('react', reacting, () =>
      state.requireSocket().sendMessage(jid, { react: { text, key: messageToQuote(ref.id).key } }),
    )
  }

  /** Sends a new message under an id derived from the post's key. Remembers it with `shown`, the text that quotes show. */
  async function send(
    verb: string,
    content: BaileysContent,
    {
      key,
      replyTo: repliedTo,
      shown,
      signal,
      byteCount,
    }: PostOptions & {
      readonly shown: string
      readonly byteCount?: number | undefined
    },
  ): Promise<MessageRef> {
    const messageId = messageIdFor(jid, key)
    const quoted = repliedTo && { quoted: quotableIn(jid, messageToQuote(repliedTo.id)) }
    // The edit window may begin with the first try, so a retry keeps that time.
    state.rememberMessage(messageId, { key: ownKey({ id: messageId }), message: { conversation: shown } }, clock.now())
    return { id: messageId, postedAt: await deliver(verb, content, { signal, byteCount }, { messageId, ...quoted }) }
  }

  /**
   * Sends, and resolves with the time at which WhatsApp acknowledged it. Rejects if that doesn't happen. Baileys' own call
   * resolves as soon as the bytes are written, before WhatsApp has them.
   */
  async function deliver(
    verb: string,
    content: BaileysContent,
    calling: CallLimits,
    options: BaileysSendOptions & { readonly messageId: string },
  ): Promise<number | undefined> {
    const { messageId } = options
    state.forgetAck(messageId)
    return await call(verb, calling, async () => {
      const socket = state.requireSocket()
      await socket.sendMessage(jid, content, options).catch((error: unknown) => {
        throw asAmbiguous(toBaileysPortError(error, `${verb} in chat ${jid}`))
      })
      return await state.waitForAck(messageId, clock)
    })
  }

  /** Returns the message to quote. For one that is no longer remembered, returns its key with an empty text. */
  function messageToQuote(ref: string): BaileysQuoted {
    return state.recallMessage(ref)?.message ?? { key: keyOfRefId(ref, jid), message: { conversation: '' } }
  }

  /** Returns the key of one of the account's own messages in this chat. */
  function ownKey({ id }: MessageRef): BaileysQuoted['key'] {
    return { remoteJid: jid, fromMe: true, id }
  }

  /**
   * Throws `gone` for a deleted message, and `fixed` for one that is too old. WhatsApp accepts edits that are too late, but
   * doesn't show them.
   */
  function requireEditable({ id }: MessageRef): void {
    if (state.isDeleted(jid, id)) throw new PortError('gone', `Message ${id} in chat ${jid} was deleted.`)
    const remembered = state.recallMessage(id)
    if (remembered && clock.now() - remembered.at >= editWindowMs)
      throw new PortError('fixed', `Message ${id} in chat ${jid} is older than ${editWindowMs} ms.`)
  }

  /**
   * Makes a call. Rejects with a `PortError`. A socket can't abort a call, so a timeout or an abort only stops waiting for
   * it.
   */
  async function call<T>(verb: string, { signal, byteCount }: CallLimits, make: () => Promise<T>): Promise<T> {
    return await callPlatform(make, {
      what: `${verb} in chat ${jid}`,
      signal,
      timeoutMs: uploadTimeoutMs(byteCount ?? 0, timeoutMs),
      clock,
      toPortError: toBaileysPortError,
    })
  }
}

/**
 * Returns the type and the size of a picture that the apps show, by its bytes. Without a size they show a square, and Baileys finds it
 * only with an optional package. Undefined for any other file.
 */
function pictureOf({ bytes }: Attachment): { mimetype: string; width: number; height: number } | undefined {
  const { mime, width, height } = imageSize(bytes) ?? {}
  if (mime === undefined || width === undefined || height === undefined) return undefined
  const isShown = pictureLimits.types.has(mime) && bytes.length <= pictureLimits.maxBytes
  return isShown ? { mimetype: mime, width, height } : undefined
}

/**
 * Returns the text to send, with its mentions on the first line. A mention is an @ and the first part of the person's id,
 * which also goes into `mentions`. Throws `too-long`.
 */
function textOf({ text, isPlain, mentions = [] }: Bubble): string {
  const people = mentions.map(({ id }) => `@${id.split('@')[0]}`)
  const written = [people.join(' '), isPlain ? escapeWhatsApp(text) : text].filter((line) => line !== '').join('\n')
  requireLength(written, textLength)
  return written
}

/** Returns the field with the ids of the mentioned people. Empty without mentions. */
function mentionsField({ mentions = [] }: Bubble): { mentions?: string[] } {
  return mentions.length === 0 ? {} : { mentions: mentions.map(({ id }) => id) }
}

/**
 * Returns `unreachable` as ambiguous, because the connection may have closed after the message was written. A retry is
 * harmless: it has the same id, or changes nothing.
 */
function asAmbiguous(error: PortError): PortError {
  return error.type === 'unreachable' ? new PortError('ambiguous', error.message, { cause: error.cause }) : error
}

/** Returns the message's id, the same for each retry of a post, because receivers ignore a known id. */
function messageIdFor(jid: string, key: string): string {
  return toMessageId(createHash('sha256').update(`${jid}\n${key}`).digest())
}

/** Returns an id in the form of Baileys' own: `generateMessageIDV2`. */
function toMessageId(bytes: Buffer): string {
  return `3EB0${bytes.toString('hex').toUpperCase().slice(0, 18)}`
}
