import type { MessageRef } from '@reply/sink'
import { ChannelError } from '@reply/sink/channel'
import type { ChannelErrorType } from '@reply/sink/internal'

/**
 * Besides the types of all channels:
 * - `stale`: a message arrived too late and was skipped.
 * - `unauthorized`: the token or the pairing is not valid any more.
 * - `unlinked`: no device is linked yet.
 * - `updates`: the connection failed; the channel connects again.
 * - `delivery`: WhatsApp accepted a message and reported later that it can't be delivered.
 */
export type WhatsAppErrorType = ChannelErrorType | 'stale' | 'unauthorized' | 'unlinked' | 'updates' | 'delivery'

/** Options of `WhatsAppError`. */
export interface WhatsAppErrorOptions extends ErrorOptions {
  /** With `delivery`: the undelivered message. */
  readonly messageRef?: MessageRef | undefined
}

/** What a channel reports to `onError`; `invalid` is thrown instead. Never contains the token. */
export class WhatsAppError extends ChannelError<WhatsAppErrorType> {
  override readonly name = 'WhatsAppError'
  /** With `delivery`: the undelivered message. */
  readonly messageRef: MessageRef | undefined

  constructor(type: WhatsAppErrorType, message: string, options: WhatsAppErrorOptions = {}) {
    super(type, message, options)
    this.messageRef = options.messageRef
  }
}
