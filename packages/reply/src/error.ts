/**
 * What went wrong:
 * - `malformed`: a frame or a known event has an unexpected shape. It was skipped.
 * - `too-large`: a frame, a response or held events exceeded their limit. They were dropped. Or a file is larger than allowed.
 * - `unreadable`: a file of a reply can't or may not be read.
 * - `observer`: an observer threw or rejected.
 * - `unreachable`: no server answered.
 * - `unauthorized`: the server requires other credentials.
 * - `refused`: the server answered with an error.
 * - `not-opencode`: something answered, but it isn't an OpenCode server.
 * - `gone`: the server doesn't know the session or ask.
 * - `already-resolved`: the ask was answered, rejected or withdrawn before.
 * - `not-stopped`: an abort was not seen to take effect. The run may continue.
 * - `unsupported`: the server can't do what was asked.
 * - `unguarded`: the prompt requires an agent that asks before it acts, and this agent doesn't.
 * - `invalid`: the caller's input is invalid.
 * - `no-output`: the run ended without a value that fits the schema that was asked for.
 * - `closed`: the client was closed.
 */
export type ReplyErrorType =
  | 'malformed'
  | 'too-large'
  | 'unreadable'
  | 'observer'
  | 'unreachable'
  | 'unauthorized'
  | 'refused'
  | 'not-opencode'
  | 'gone'
  | 'already-resolved'
  | 'not-stopped'
  | 'unsupported'
  | 'unguarded'
  | 'invalid'
  | 'no-output'
  | 'closed'

/**
 * The only error class of this package. The message names the failure, the value and the fix. It never contains a
 * credential.
 */
export class ReplyError extends Error {
  /** The kind of failure. Check this, not the message. */
  readonly type: ReplyErrorType

  constructor(type: ReplyErrorType, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.name = 'ReplyError'
    this.type = type
  }
}

/** Receives errors that stop nothing, for example bad frames, throwing observers and dropped events. Must not throw. */
export type OnError = (error: ReplyError) => void

/**
 * Wraps a host's `onError` and ignores errors that it throws, also later if it is asynchronous: a failing error handler must not
 * stop anything else.
 */
export function safeOnError<E>(onError: ((error: E) => void) | undefined): (error: E) => void {
  return (error) => {
    try {
      const told: unknown = onError?.(error)
      if (told instanceof Promise) told.catch(() => {})
    } catch {
      // There is nowhere left to report it.
    }
  }
}

/** Whether the error says that the server doesn't know the session, message or ask. */
export function isGone(error: unknown): boolean {
  return error instanceof ReplyError && error.type === 'gone'
}

/** For `catch`: returns undefined for something that was deleted in the meantime, and rethrows any other error. */
export function undefinedIfGone(error: unknown): undefined {
  if (!isGone(error)) throw error
}
