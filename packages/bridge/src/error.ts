import { SafeError } from '@reply/sink/channel'
import { withoutSecrets } from '@reply/sink/internal'

/**
 * What went wrong:
 * - `config`: the config can't be used. The message names the path, the value and the fix.
 * - `channel`: a channel could not be loaded or started.
 * - `state`: the state, or a row of it, can't be used.
 * - `delivery`: an answer may be missing in its chat.
 * - `taken-over`: another process uses the state now.
 * - `inbound`: a message or press could not be handled.
 */
export type BridgeErrorType = 'config' | 'channel' | 'state' | 'delivery' | 'taken-over' | 'inbound'

/** The error of this package. Its message names the failure and the fix, and never contains a secret. */
export class BridgeError extends SafeError {
  /** What went wrong. Check this, not the message. */
  readonly type: BridgeErrorType

  constructor(type: BridgeErrorType, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'BridgeError'
    this.type = type
  }
}

/** Whether an error says that another process took over. That process then handles and reports everything. */
export function isTakenOver(error: unknown): boolean {
  return error instanceof BridgeError && error.type === 'taken-over'
}

/**
 * Whether an error, or one that caused it, says that this process ended its work meanwhile: the work was aborted or taken over, or
 * the store or a client is closed. Not for a failing store, also if the process ended its work because of that.
 */
export function isOfEnd(error: unknown): boolean {
  const type = errorTypeOf(error)
  if (!(error instanceof Error) || type === 'store') return false
  return error.name === 'AbortError' || type === 'taken-over' || type === 'closed' || isOfEnd(error.cause)
}

/** Returns the message of an error, or anything else that was thrown as text. Without secrets. */
export function messageOf(error: unknown): string {
  return withoutSecrets(error instanceof Error ? error.message : String(error))
}

/** Returns the `type` of an error, such as `unreachable` of a `ReplyError`. Undefined if it has none, or is not an `Error`. */
export function errorTypeOf(error: unknown): unknown {
  return error instanceof Error && 'type' in error ? error.type : undefined
}

/** Returns what was thrown, as an `Error`. An `Error` is returned as it is. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}
