import type { MessageRef } from '@reply/sink'

/**
 * - `invalid`: unusable options.
 * - `malformed`: a webhook's body or an event that can't be read; it was passed over.
 * - `inbound`: the host's own code failed at what a person did; it is not given again.
 * - `answer`: sending an answer to a person failed.
 * - `stale`: what a person wrote came too late; it was passed over.
 * - `delivery`: WhatsApp took a message, and said later that it can't be delivered.
 */
export type WhatsAppErrorType = 'invalid' | 'malformed' | 'inbound' | 'answer' | 'stale' | 'delivery'

/** What an error carries beside its words. */
export interface WhatsAppErrorOptions extends ErrorOptions {
  /** With `delivery`: which message it was. */
  readonly messageRef?: MessageRef | undefined
}

/** What a channel reports: to `onError`, but for `invalid`, which is thrown where the mistake was made. It carries no token. */
export class WhatsAppError extends Error {
  override readonly name = 'WhatsAppError'
  readonly type: WhatsAppErrorType
  readonly messageRef: MessageRef | undefined

  constructor(type: WhatsAppErrorType, message: string, options: WhatsAppErrorOptions = {}) {
    super(message, options)
    this.type = type
    this.messageRef = options.messageRef
  }
}
