import { SafeError } from './secrets.ts'

/**
 * Why a call failed:
 * - `rate-limited`: nothing was done. Retry after `retryAfterMs`, in the named scope.
 * - `refused`: nothing was done, and a retry will not help, for example because the bot lacks a permission.
 * - `unreachable`: nothing was done. The same call may work later.
 * - `gone`: the message, or for a post the chat, no longer exists.
 * - `fixed`: the message exists but can no longer be edited.
 * - `too-long`: nothing was done. Shorter pieces may work.
 * - `unparsable`: nothing was done. The text without markup may work.
 * - `ambiguous`: it is unknown whether it was done.
 */
export type PortErrorType =
  | 'rate-limited'
  | 'refused'
  | 'unreachable'
  | 'gone'
  | 'fixed'
  | 'too-long'
  | 'unparsable'
  | 'ambiguous'

/** The wait after a rate limit without a time, in ms. */
const defaultWaitMs = 1000

/**
 * What a rate limit applies to. `unknown`: the platform doesn't say. The chat waits, and all chats of the client do once
 * a second one is limited at the same time.
 */
export type LimitScope = 'chat' | 'client' | 'unknown'

/** How long to wait after a failure, and which calls. */
export interface PortErrorOptions extends ErrorOptions {
  /** With `rate-limited`: how long to wait, in ms. Default, also for 0: 1,000. */
  readonly retryAfterMs?: number | undefined
  /** Which calls have to wait until then. Default `chat`. */
  readonly scope?: LimitScope | undefined
  /**
   * With `refused`: whether the chat takes no message of the bot at all, for example because it was removed there or blocked. Default
   * false: it is about this call, or about all chats, as with a wrong token.
   */
  readonly isOfChat?: boolean | undefined
}

/** A failed port call. Its message never contains a token. */
export class PortError extends SafeError {
  override readonly name = 'PortError'
  /** Decides how the sink handles the failure. */
  readonly type: PortErrorType
  /** When to try again, in ms from now. Always set for `rate-limited`. */
  readonly retryAfterMs: number | undefined
  /** Which calls have to wait until then. */
  readonly scope: LimitScope
  /** With `refused`: whether the chat takes no message of the bot at all. */
  readonly isOfChat: boolean

  constructor(type: PortErrorType, message: string, options: PortErrorOptions = {}) {
    super(message, options)
    this.type = type
    this.retryAfterMs = type === 'rate-limited' ? options.retryAfterMs || defaultWaitMs : undefined
    this.scope = options.scope ?? 'chat'
    this.isOfChat = options.isOfChat === true
  }
}

/**
 * A file that can't be posted. Its message is a sentence that the chat may show. `too-long` if it has too many bytes, otherwise
 * `refused`.
 */
export class FileRefusal extends PortError {
  constructor(type: 'refused' | 'too-long', message: string, options: ErrorOptions = {}) {
    super(type, message, options)
  }
}

/** Waits for the removal of a message, and succeeds if it is already gone. */
export async function ignoreGone(removal: Promise<unknown>): Promise<void> {
  try {
    await removal
  } catch (error) {
    if (!(error instanceof PortError) || error.type !== 'gone') throw error
  }
}
