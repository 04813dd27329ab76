/**
 * What went wrong:
 * - `malformed`: a frame or a known event has an unexpected shape; it was skipped.
 * - `too-large`: a frame, a response or held events exceeded their limit; they were dropped.
 * - `observer`: an observer threw or rejected.
 * - `unreachable`: no server answered.
 * - `unauthorized`: the server requires other credentials.
 * - `refused`: the server answered with an error.
 * - `not-opencode`: something answered, but it isn't an OpenCode server.
 * - `gone`: the server doesn't know the session or ask.
 * - `already-resolved`: the ask was answered, rejected or withdrawn before.
 * - `not-stopped`: an abort was not seen to take effect; the run may continue.
 * - `unsupported`: the server can't do what was asked.
 * - `unguarded`: the prompt may only run where the agent asks before it acts, and this agent doesn't.
 * - `invalid`: the caller's input is invalid.
 * - `no-output`: the run ended without a value that fits the schema that was asked for.
 * - `closed`: the owner closed the connection.
 */
export type ReplyErrorType =
  | 'malformed'
  | 'too-large'
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
 * The package's only error class. The message says what failed, with the value, and the cure; it never contains a
 * credential.
 */
export class ReplyError extends Error {
  /** What went wrong: decide by it, not by the message. */
  readonly type: ReplyErrorType

  constructor(type: ReplyErrorType, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.name = 'ReplyError'
    this.type = type
  }
}

/** Receives failures that stop nothing: bad frames, throwing observers, dropped events. Must not throw. */
export type OnError = (error: ReplyError) => void

/** Wraps a host's `onError`. What it throws itself is dropped: a failing error handler must not end anything else. */
export function safeOnError<E>(onError: ((error: E) => void) | undefined): (error: E) => void {
  return (error) => {
    try {
      onError?.(error)
    } catch {
      // There is nowhere left to report it.
    }
  }
}
