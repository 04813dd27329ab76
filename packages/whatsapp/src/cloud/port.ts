import type { Clock } from '@reply/core'
import type { MessageRef } from '@reply/sink'
import {
  type Attachment,
  type Bubble,
  type Button,
  type ChannelPort,
  callPlatform,
  type EditOptions,
  type LookedUp,
  type LookUpOptions,
  PortError,
  type PostOptions,
} from '@reply/sink/channel'
import { clip, lookUpByProbe, requireLength, systemClock, wallTime } from '@reply/sink/internal'
import { CloudError, toCloudPortError, windowCode } from '../error.ts'
import {
  buttonsBodyLength,
  captionLength,
  cloudLimits,
  listBodyLength,
  listRows,
  replyButtons,
  textLength,
} from '../limits.ts'
import { asWritten } from '../render.ts'
import type { CloudClient, CloudMessage } from './api.ts'
import { reportsOf } from './api.ts'

/** Options of `createCloudPort`. */
export interface CloudPortOptions {
  /** The client of the number to write from. */
  readonly client: CloudClient
  /** The person to write to, the chat id of an inbound: a number, or a business-scoped user id. */
  readonly to: string
  /** The prompt's `wamid`: typing marks it as read and shows the indicator. Default: neither is shown. */
  readonly replyTo?: string | undefined
  /** Label of the button that opens a list, at most 20 UTF-16 units. Default "Answer …". */
  readonly listLabel?: string | undefined
  /** Call timeout in ms. After it, the call may or may not have taken effect. Default 30,000. */
  readonly timeoutMs?: number | undefined
  /** The source of all times and timers. Default: the computer's clock. */
  readonly clock?: Clock | undefined
}

/** The prompt to mark as read, and what aborts the call. */
interface Typing {
  readonly messageId: string
  readonly signal: AbortSignal
}

/**
 * Platform adapter for one person's chat on the Cloud API. It never repeats a call that may have taken effect: the sink
 * decides that.
 */
export function createCloudPort(options: CloudPortOptions): ChannelPort {
  const { client, to, replyTo, listLabel = 'Answer …', timeoutMs, clock = systemClock } = options
  const reports = reportsOf(client)
  const can = { post, upload, react, ...(client.ping && { lookUp }) }
  const port: ChannelPort = { limits: cloudLimits, ...can, reports: reports.of(to) }
  return replyTo === undefined
    ? port
    : { ...port, typing: (on, options) => typing(on, { ...options, messageId: replyTo }) }

  async function post(bubble: Bubble, posting: PostOptions): Promise<MessageRef> {
    const body = bubble.isPlain ? asWritten(bubble.text) : bubble.text
    requireLength(body, textLength)
    const text: CloudMessage = { type: 'text', text: { body, preview_url: false } }
    const interactive = interactiveOf(body, bubble.buttons.flat(), { listLabel })
    return await send('post', interactive ? { type: 'interactive', interactive } : text, posting)
  }

  /** A failed media upload has posted nothing, so it can safely be retried. */
  async function upload({ name, text, caption }: Attachment, posting: PostOptions): Promise<MessageRef> {
    // The only text media type that it accepts; the file name shows the format.
    const file = { name, mediaType: 'text/plain', text }
    const id = await call('upload', posting, (signal) => client.media(file, signal)).catch((error: PortError) => {
      if (error.type !== 'ambiguous') throw error
      throw new PortError('unreachable', error.message, { cause: error.cause })
    })
    const document = { id, filename: name, caption: clip(asWritten(caption), captionLength) }
    return await send('upload', { type: 'document', document }, posting)
  }

  /**
   * The Cloud API can't say whether a message was posted, but its webhooks name the key of each message that was. If none
   * does in time after the API answers again, while those of others came, the message was not.
   */
  async function lookUp(options: LookUpOptions): Promise<LookedUp> {
    const found = await lookUpByProbe(call('look-up', options, async (signal) => await client.ping?.(signal)))
    const ref = await reports.find(options.key, clock, options.signal)
    if (ref === 'unknown') return found
    return ref === 'silent' ? { type: 'absent' } : { type: 'there', ref }
  }

  async function react(ref: MessageRef, sign: 'seen' | 'done' | undefined, reacting: EditOptions): Promise<void> {
    const emoji = sign === undefined ? '' : sign === 'seen' ? '👀' : '✅'
    await call('react', reacting, (signal) =>
      client.messages({ ...recipientOf(to), type: 'reaction', reaction: { message_id: ref.id, emoji } }, signal),
    )
  }

  /** WhatsApp ends the indicator by itself, and with each message. */
  async function typing(on: boolean, { messageId, signal: aborted }: Typing): Promise<void> {
    if (!on) return
    const shown = { status: 'read', message_id: messageId, typing_indicator: { type: 'text' } }
    await call('typing', { signal: aborted }, (signal) => client.messages(shown, signal))
  }

  async function send(verb: string, message: CloudMessage, posting: PostOptions): Promise<MessageRef> {
    const context = posting.replyTo && { context: { message_id: posting.replyTo.id } }
    const whole = { ...recipientOf(to), ...context, ...message, biz_opaque_callback_data: posting.key }
    const sentAt = wallTime(clock)
    const { id, at } = await call(verb, posting, (signal) => client.messages(whole, signal)).catch((error: unknown) => {
      throw heldBack(error, sentAt)
    })
    if (id !== undefined) return { id, postedAt: at }
    throw toCloudPortError(new CloudError('The response contains no message id.', { status: 200 }), `${verb} to ${to}`)
  }

  /** Where webhooks come, one says when the person writes again. */
  function heldBack(error: unknown, sentAt: number): unknown {
    const isWindow = error instanceof PortError && error.cause instanceof CloudError && error.cause.code === windowCode
    if (!isWindow || !reports.isListening()) return error
    // Webhooks give whole seconds. If the person wrote in the same one, the next try shows what holds.
    reports.close(to, Math.floor(sentAt / 1000) * 1000)
    return new PortError('unreachable', error.message, { cause: error.cause })
  }

  async function call<T>(
    verb: string,
    { signal }: Pick<EditOptions, 'signal'>,
    make: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const toPortError = toCloudPortError
    return await callPlatform(make, { what: `${verb} to ${to}`, signal, timeoutMs, clock, toPortError })
  }
}

/** Business-scoped user ids have a dot after the country code; numbers have none. */
export function recipientOf(to: string): CloudMessage {
  return { recipient_type: 'individual', ...(to.includes('.') ? { recipient: to } : { to }) }
}

/**
 * A message body with buttons: reply buttons if everything fits, else a list, which allows longer labels. Returns
 * undefined if neither fits.
 */
function interactiveOf(
  body: string,
  buttons: readonly Button[],
  { listLabel }: { readonly listLabel: string },
): CloudMessage | undefined {
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
