import { type Clock, systemClock } from '@reply/core'
import { wallTime } from '@reply/core/internal'
import { byteSize } from '@reply/core/show'
import type { MessageRef } from '@reply/sink'
import {
  type Attachment,
  type Bubble,
  type Button,
  type ChannelPort,
  callPlatform,
  type EditOptions,
  FileRefusal,
  imageSize,
  type LookedUp,
  type LookUpOptions,
  PortError,
  type PostOptions,
  uploadTimeoutMs,
} from '@reply/sink/channel'
import { clip, lookUpByProbe, requireFileSize, requireLength } from '@reply/sink/internal'
import { CloudError, toCloudPortError, windowCode } from '../error.ts'
import {
  buttonsBodyLength,
  captionLength,
  cloudLimits,
  documentTypes,
  fileLimits,
  listBodyLength,
  listRows,
  pictureLimits,
  replyButtons,
  textLength,
} from '../limits.ts'
import { escapeWhatsApp } from '../render.ts'
import type { CloudClient, CloudMessage } from './api.ts'
import { sharedReports } from './reports.ts'

/** Options of `createCloudPort`. */
export interface CloudPortOptions {
  /** The client of the number to write from. */
  readonly client: CloudClient
  /** The person to write to, the chat id of an inbound: a number, or a business-scoped user id. */
  readonly to: string
  /** The prompt's `wamid`. Typing marks it as read and shows the notice. Default: neither is shown. */
  readonly replyTo?: string | undefined
  /** Label of the button that opens a list, at most 20 UTF-16 units. Default "Answer …". */
  readonly listLabel?: string | undefined
  /** Call timeout in ms. After it, the call may or may not have taken effect. Default 30,000. */
  readonly timeoutMs?: number | undefined
  /** The source of all times and timers. Default: the computer's clock. */
  readonly clock?: Clock | undefined
}

/**
 * Creates the platform adapter for one person's chat on the Cloud API. It never repeats a call that may have taken effect:
 * the sink decides that.
 */
export function createCloudPort(options: CloudPortOptions): ChannelPort {
  const { client, to, replyTo, listLabel = 'Answer …', timeoutMs, clock = systemClock } = options
  const reports = sharedReports(client)
  return {
    limits: cloudLimits,
    post,
    upload,
    react,
    ...(client.ping && { lookUp }),
    ...(replyTo !== undefined && { typing: (on, options) => typing(on, replyTo, options) }),
    reports: reports.forChat(to),
  }

  /** Posts a message, with its buttons or a list if they fit. Throws `too-long`. */
  async function post(bubble: Bubble, posting: PostOptions): Promise<MessageRef> {
    const body = bubble.isPlain ? escapeWhatsApp(bubble.text) : bubble.text
    requireLength(body, textLength)
    const text: CloudMessage = { type: 'text', text: { body, preview_url: false } }
    const interactive = interactiveOf(body, bubble.buttons.flat(), listLabel)
    return await send('post', interactive ? { type: 'interactive', interactive } : text, posting)
  }

  /**
   * Uploads a file and posts it. A failed upload has posted nothing, so it can safely be retried: if its result is unknown,
   * rejects with `unreachable`.
   */
  async function upload(attachment: Attachment, posting: PostOptions): Promise<MessageRef> {
    requireFileSize(attachment, fileLimits)
    const { name, bytes } = attachment
    const mediaType = requireMediaType(attachment)
    const uploading = { signal: posting.signal, byteCount: bytes.length }
    const id = await call('upload', uploading, (signal) => client.media({ name, mediaType, bytes }, signal)).catch(
      (error: PortError) => {
        if (error.type !== 'ambiguous') throw error
        throw new PortError('unreachable', error.message, { cause: error.cause })
      },
    )
    const caption = clip(escapeWhatsApp(attachment.caption), captionLength)
    const message = pictureLimits.types.has(mediaType)
      ? { type: 'image', image: { id, caption } }
      : { type: 'document', document: { id, filename: name, caption } }
    return await send('upload', message, posting)
  }

  /**
   * Finds out whether a post is in the chat. The Cloud API has no call for this, but its webhooks name the key of each
   * posted message. The message counts as absent if this process got no answer to it, the API answers again, no status names
   * the key within 10 s, statuses of other messages have arrived, and this process has received the webhooks since before the
   * post.
   */
  async function lookUp(options: LookUpOptions): Promise<LookedUp> {
    const probed = await lookUpByProbe(call('look-up', options, async (signal) => await client.ping?.(signal)))
    const ref = await reports.waitForPost(options.key, options.since, clock, options.signal)
    if (ref === 'unknown') return probed
    return ref === 'silent' ? { type: 'absent' } : { type: 'there', ref }
  }

  /** Sets the reaction. Without a sign, removes it. */
  async function react(ref: MessageRef, sign: 'seen' | 'done' | undefined, reacting: EditOptions): Promise<void> {
    const emoji = sign === undefined ? '' : sign === 'seen' ? '👀' : '✅'
    await call('react', reacting, (signal) =>
      client.messages({ ...recipientOf(to), type: 'reaction', reaction: { message_id: ref.id, emoji } }, signal),
    )
  }

  /**
   * Shows the typing notice, and marks the message as read. Can't hide the notice: WhatsApp does so after 25 s, and with
   * each message.
   */
  async function typing(on: boolean, messageId: string, options: EditOptions): Promise<void> {
    if (!on) return
    const notice = { status: 'read', message_id: messageId, typing_indicator: { type: 'text' } }
    await call('typing', options, (signal) => client.messages(notice, signal))
  }

  /** Posts a message with the post's key, which its statuses repeat, as a reply if `replyTo` is set. */
  async function send(verb: string, message: CloudMessage, posting: PostOptions): Promise<MessageRef> {
    const context = posting.replyTo && { context: { message_id: posting.replyTo.id } }
    const body = { ...recipientOf(to), ...context, ...message, biz_opaque_callback_data: posting.key }
    const sentAt = wallTime(clock)
    const { id, at } = await call(verb, posting, (signal) => client.messages(body, signal)).catch((error: unknown) => {
      const isUnanswered = error instanceof PortError && error.type === 'ambiguous' && !posting.signal.aborted
      if (isUnanswered) reports.recordUnanswered(posting.key)
      throw closeChatIfTooLate(error, sentAt)
    })
    if (id !== undefined) return { id, postedAt: at }
    throw toCloudPortError(new CloudError('The response contains no message id.', { status: 200 }), `${verb} to ${to}`)
  }

  /**
   * Returns the error to throw. If the post failed because of the 24 h and a channel receives webhooks, closes the chat and
   * makes the error retryable: a webhook opens the chat again as soon as the person writes.
   */
  function closeChatIfTooLate(error: unknown, sentAt: number): unknown {
    const isWindow = error instanceof PortError && error.cause instanceof CloudError && error.cause.code === windowCode
    if (!isWindow || !reports.isListening()) return error
    // Webhooks have whole seconds. If the person wrote within the same one, the chat stays open and the next try decides.
    reports.closeChat(to, Math.floor(sentAt / 1000) * 1000)
    return new PortError('unreachable', error.message, { cause: error.cause })
  }

  /** Makes a call. `verb` names it in errors. Rejects with a `PortError`. */
  async function call<T>(
    verb: string,
    { signal, byteCount = 0 }: Pick<EditOptions, 'signal'> & { readonly byteCount?: number },
    make: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const deadlineMs = uploadTimeoutMs(byteCount, timeoutMs)
    const toPortError = toCloudPortError
    return await callPlatform(make, { what: `${verb} to ${to}`, signal, timeoutMs: deadlineMs, clock, toPortError })
  }
}

/**
 * Returns the media type to upload a file as: that of a picture by its bytes, or that of a document. Throws a `FileRefusal` for a
 * file that the API takes as neither.
 */
function requireMediaType({ name, mime, bytes }: Attachment): string {
  const picture = imageSize(bytes)?.mime
  if (picture !== undefined && pictureLimits.types.has(picture)) {
    if (bytes.length <= pictureLimits.maxBytes) return picture
    const sizes = `it has ${byteSize(bytes.length)}, and WhatsApp takes at most ${byteSize(pictureLimits.maxBytes)}`
    throw new FileRefusal('too-long', `The picture ${name} is too large: ${sizes}.`)
  }
  if (documentTypes.has(mime)) return mime
  throw new FileRefusal('refused', `The file ${name} can't be sent: WhatsApp takes no files of the type ${mime}.`)
}

/**
 * Returns the fields that address a person. Business-scoped user ids have a dot after the country code, and numbers have
 * none.
 */
export function recipientOf(to: string): CloudMessage {
  return { recipient_type: 'individual', ...(to.includes('.') ? { recipient: to } : { to }) }
}

/**
 * Returns a message body with buttons: reply buttons if everything fits, else a list, which allows longer labels. Undefined
 * if neither fits, or without buttons.
 */
function interactiveOf(body: string, buttons: readonly Button[], listLabel: string): CloudMessage | undefined {
  if (buttons.length === 0) return undefined
  const titles = new Set(buttons.map(({ label }) => label.trim()))
  const isShort = [...titles].every((title) => title !== '' && title.length <= replyButtons.title)
  if (
    buttons.length <= replyButtons.most &&
    titles.size === buttons.length &&
    isShort &&
    body.length <= buttonsBodyLength
  ) {
    const replies = buttons.map(({ label, data }) => ({ type: 'reply', reply: { id: data, title: label.trim() } }))
    return { type: 'button', body: { text: body }, action: { buttons: replies } }
  }
  if (buttons.length > listRows.most || body.length > listBodyLength) return undefined
  const rows = buttons.map(({ label, data }, index) => {
    const whole = label.trim() || String(index + 1)
    const title = clip(whole, listRows.title)
    return title === whole ? { id: data, title } : { id: data, title, description: clip(whole, listRows.description) }
  })
  const action = { button: clip(listLabel, listRows.button), sections: [{ rows }] }
  return { type: 'list', body: { text: body }, action }
}
