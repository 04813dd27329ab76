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
import { asWritten, clipped } from '../render.ts'
import { type CloudClient, CloudError, type CloudMessage } from './api.ts'
import { toCloudPortError } from './failure.ts'
import { interactiveOf } from './interactive.ts'
import { buttonsBodyLength, captionLength, cloudLimits, textLength } from './limits.ts'

/** For a port to one person. */
export interface CloudPortOptions {
  readonly client: CloudClient
  /** Who it is written to, as an inbound names the chat: a number, or a business-scoped user id. */
  readonly to: string
  /** The message that asked, a `wamid`: below it the person sees that it is read and that somebody writes. Default: neither is shown. */
  readonly replyTo?: string | undefined
  /** On the button that opens a list, of 20 UTF-16 units at most. Default "Answer …". */
  readonly listLabel?: string | undefined
  /** Call timeout in ms. After it, the call may or may not have taken effect. Default 30,000. */
  readonly timeoutMs?: number | undefined
  readonly clock?: Clock | undefined
}

/** The Cloud API's hands for one person. Nothing is repeated that may have been done; that is the sink's to decide. */
export function createCloudPort(options: CloudPortOptions): ChannelPort {
  const { client, to, replyTo, listLabel = 'Answer …', timeoutMs = 30_000, clock = systemClock } = options
  const port: ChannelPort = { limits: cloudLimits, post, upload, react }
  return replyTo === undefined ? port : { ...port, typing: (on) => typing(on, replyTo) }

  async function post(bubble: Bubble, posting: PostOptions): Promise<MessageRef> {
    const body = bubble.isPlain ? asWritten(bubble.text) : bubble.text
    if (body.length > textLength)
      throw new PortError('too-long', `${body.length} units are too many; a message takes ${textLength}.`)
    const text: CloudMessage = { type: 'text', text: { body, preview_url: false } }
    const interactive = interactiveOf(body, bubble.buttons.flat(), { listLabel })
    if (!interactive) return await send('post', text, posting)
    try {
      return await send('post', { type: 'interactive', interactive }, posting)
    } catch (error) {
      // Some servers take as little above a list as above buttons. The options are in the words, too.
      if (!(error instanceof PortError) || error.type !== 'too-long' || body.length <= buttonsBodyLength) throw error
    }
    return await send('post', text, posting)
  }

  /** What fails before the message is sent has shown nothing. */
  async function upload({ name, text, caption }: Attachment, posting: PostOptions): Promise<MessageRef> {
    // Of texts it takes none but plain ones; the name says what it is.
    const file = { name, mediaType: 'text/plain', text }
    const id = await call('upload', (signal) => client.media(file, signal)).catch((error: PortError) => {
      if (error.type !== 'ambiguous') throw error
      throw new PortError('unreachable', error.message, { cause: error.cause })
    })
    const document = { id, filename: name, caption: clipped(asWritten(caption), captionLength) }
    return await send('upload', { type: 'document', document }, posting)
  }

  async function react(ref: MessageRef, sign: 'seen' | 'done' | undefined): Promise<void> {
    const emoji = sign === undefined ? '' : sign === 'seen' ? '👀' : '✅'
    await call('react', (signal) =>
      client.messages({ ...recipientOf(to), type: 'reaction', reaction: { message_id: ref.id, emoji } }, signal),
    )
  }

  /** It goes out by itself, and with each message. */
  async function typing(on: boolean, messageId: string): Promise<void> {
    if (!on) return
    const shown = { status: 'read', message_id: messageId, typing_indicator: { type: 'text' } }
    await call('typing', (signal) => client.messages(shown, signal))
  }

  async function send(verb: string, message: CloudMessage, posting: PostOptions): Promise<MessageRef> {
    const context = posting.replyTo && { context: { message_id: posting.replyTo.id } }
    const whole = { ...recipientOf(to), ...context, ...message }
    const { id, at } = await call(verb, (signal) => client.messages(whole, signal))
    if (id !== undefined) return { id, postedAt: at }
    throw toCloudPortError(new CloudError('The answer names no message.', { status: 200 }), `${verb} to ${to}`)
  }

  async function call<T>(verb: string, make: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const abort = new AbortController()
    const stop = clock.after(timeoutMs, () => abort.abort())
    try {
      return await make(abort.signal)
    } catch (error) {
      throw toCloudPortError(error, `${verb} to ${to}`)
    } finally {
      stop()
    }
  }
}

/** Numbers have no dot; business-scoped user ids have, after their country. More is not read out of them. */
export function recipientOf(to: string): CloudMessage {
  return { recipient_type: 'individual', ...(to.includes('.') ? { recipient: to } : { to }) }
}
