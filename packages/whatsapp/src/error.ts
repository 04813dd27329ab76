import type { MessageRef } from '@reply/sink'

/**
 * - `invalid`: unusable options.
 * - `malformed`: an unreadable webhook or event was skipped.
 * - `inbound`: the host's `onInbound` failed; the event is not passed on again.
 * - `answer`: sending an answer to a person failed.
 * - `stale`: a message arrived too late and was skipped.
 * - `delivery`: WhatsApp accepted a message and reported later that it can't be delivered.
 */
export type WhatsAppErrorType = 'invalid' | 'malformed' | 'inbound' | 'answer' | 'stale' | 'delivery'

/** Options of `WhatsAppError`. */
export interface WhatsAppErrorOptions extends ErrorOptions {
  /** With `delivery`: the undelivered message. */
  readonly messageRef?: MessageRef | undefined
}

/** What a channel reports to `onError`; `invalid` is thrown instead. Never contains the token. */
export class WhatsAppError extends Error {
  override readonly name = 'WhatsAppError'
  /** What went wrong: decide by it, not by the message. */
  readonly type: WhatsAppErrorType
  /** With `delivery`: the undelivered message. */
  readonly messageRef: MessageRef | undefined

  constructor(type: WhatsAppErrorType, message: string, options: WhatsAppErrorOptions = {}) {
    super(message, options)
    this.type = type
    this.messageRef = options.messageRef
  }
}
