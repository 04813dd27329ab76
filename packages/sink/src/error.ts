/**
 * - `invalid`: options that can't be.
 * - `store`: the ledger's store failed.
 * - `port`: a call to the platform failed; the cause is the port's own error.
 */
export type SinkErrorType = 'invalid' | 'store' | 'port'

/** What the sink reports: to `onError`, but for `invalid`, which is thrown where the mistake was made. */
export class SinkError extends Error {
  override readonly name = 'SinkError'
  readonly type: SinkErrorType

  constructor(type: SinkErrorType, message: string, options?: ErrorOptions) {
    super(message, options)
    this.type = type
  }
}
