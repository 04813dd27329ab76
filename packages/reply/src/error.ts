/**
 * What went wrong:
 * - `malformed`: a frame or a known event that has not the shape it must have; it was skipped.
 * - `too-large`: a frame, or what was held back for later, passed its bound; it was dropped.
 * - `observer`: an observer threw or rejected.
 * - `unreachable`: no server answered.
 * - `unauthorized`: the server wants other credentials.
 * - `refused`: the server answered, and said no.
 * - `not-opencode`: something answered, but no OpenCode server.
 * - `gone`: the server knows no such session or ask.
 * - `already-resolved`: the ask had been answered, rejected or withdrawn before.
 * - `not-stopped`: an abort could not be seen to take effect; the run may go on.
 * - `invalid`: the caller's own input.
 * - `closed`: the connection was closed by its owner.
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
  | 'invalid'
  | 'closed'

/** The package's one error. The message says what failed, with the value, and the cure; it never holds a credential. */
export class ReplyError extends Error {
  readonly type: ReplyErrorType

  constructor(type: ReplyErrorType, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.name = 'ReplyError'
    this.type = type
  }
}

/** Where failures go that stop nothing: bad frames, throwing observers, dropped events. Must not throw. */
export type OnError = (error: ReplyError) => void
