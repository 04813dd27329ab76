/**
 * - `invalid`: options that can't be.
 * - `store`: the ledger's store failed.
 * - `port`: a call to the platform failed; the cause is the port's own error.
 * - `may-answer`: the host's `mayAnswer` threw or rejected, which counts as no.
 */
export type SinkErrorType = 'invalid' | 'store' | 'port' | 'may-answer'

/** What the sink reports: to `onError`, but for `invalid`, which is thrown where the mistake was made. */
export class SinkError extends Error {
  override readonly name = 'SinkError'
  readonly type: SinkErrorType

  constructor(type: SinkErrorType, message: string, options?: ErrorOptions) {
    super(message, options)
    this.type = type
  }
}

/** Tells a host what went wrong. What its own code throws then is lost: it must not stop anybody's messages. */
export function telling<E>(onError: ((error: E) => void) | undefined): (error: E) => void {
  return (error) => {
    try {
      onError?.(error)
    } catch {
      // There is nobody left to tell.
    }
  }
}
