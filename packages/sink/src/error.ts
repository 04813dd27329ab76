import { SafeError } from './port/secrets.ts'

/**
 * The kind of error:
 * - `invalid`: invalid options.
 * - `store`: the ledger's store failed.
 * - `port`: a call to the platform failed. The cause is the port's own error.
 * - `given-up`: no message of a settled reply could be posted or edited for `Policy.giveUpMs`. See `Delivery.undelivered`.
 * - `chat-closed`: the chat accepts no messages until a person writes there. The sink waits for that.
 * - `may-answer`: your `mayAnswer` threw or rejected, which counts as no.
 * - `taken-over`: another process shows the replies. A `LedgerStore` rejects with it, and the sink reports it in its delivery.
 */
export type SinkErrorType = 'invalid' | 'store' | 'port' | 'given-up' | 'chat-closed' | 'may-answer' | 'taken-over'

/** A question or a permission request that a platform refused to post. */
export interface RefusedAsk {
  readonly requestID: string
  /** Whether the chat is gone, or takes no message of the bot at all. Otherwise it may show the next request. */
  readonly isOfChat: boolean
}

/**
 * An error of the sink. `onError` gets all types except two: `invalid` is thrown by the call with the invalid options, and
 * `taken-over` is part of the delivery.
 */
export class SinkError extends SafeError {
  override readonly name = 'SinkError'
  /** What went wrong. Use it in code instead of the message. */
  readonly type: SinkErrorType
  /** Set if the platform refused to post a question or a permission request in the chat, and will refuse it again. */
  readonly refusedAsk: RefusedAsk | undefined

  constructor(
    type: SinkErrorType,
    message: string,
    options?: ErrorOptions & { readonly refusedAsk?: RefusedAsk | undefined },
  ) {
    super(message, options)
    this.type = type
    this.refusedAsk = options?.refusedAsk
  }
}

/** Whether the error means that another process shows the replies, so this one has to stop. */
export function isTakenOver(error: unknown): boolean {
  return error instanceof SinkError && error.type === 'taken-over'
}

/**
 * The errors that every channel may report:
 * - `invalid`: invalid options. Thrown by the call with them, never reported.
 * - `malformed`: an event could not be read and was skipped.
 * - `inbound`: your `onInbound` failed. The event is not passed on again.
 * - `answer`: sending an answer to a person failed, or it would have come too late.
 * - `store`: the ids of inbounds could not be read or written, so repeats may be handled again after a restart.
 */
export type ChannelErrorType = 'invalid' | 'malformed' | 'inbound' | 'answer' | 'store'

/** The base of each channel's errors. Its message and cause never contain a secret. */
export class ChannelError<Type extends string = ChannelErrorType> extends SafeError {
  /** What went wrong. Use it in code instead of the message. */
  readonly type: Type

  constructor(type: Type, message: string, options?: ErrorOptions) {
    super(message, options)
    this.type = type
  }
}
