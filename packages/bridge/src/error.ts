import { SafeError } from '@reply/sink/channel'
import { withoutSecrets } from '@reply/sink/internal'

/**
 * What went wrong:
 * - `config`: the config can't be used; the message names the path, the value and the cure.
 * - `channel`: a channel could not be loaded or started.
 * - `state`: the state is not usable, or a row of it.
 * - `delivery`: an answer may be missing in its chat.
 * - `taken-over`: another process works with the state now.
 * - `inbound`: something that a person did could not be handled.
 */
export type BridgeErrorType = 'config' | 'channel' | 'state' | 'delivery' | 'taken-over' | 'inbound'

/** The package's own error. The message says what failed and the cure, and never contains a secret. */
export class BridgeError extends SafeError {
  /** What went wrong: decide by it, not by the message. */
  readonly type: BridgeErrorType

  constructor(type: BridgeErrorType, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'BridgeError'
    this.type = type
  }
}

/** Whether another process took over, and says itself what becomes of everything. */
export function isTakenOver(error: unknown): boolean {
  return error instanceof BridgeError && error.type === 'taken-over'
}

/** What failed, in words: of an error its message. Without secrets. */
export function messageOf(error: unknown): string {
  return withoutSecrets(error instanceof Error ? error.message : String(error))
}
