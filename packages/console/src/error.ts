/**
 * What went wrong:
 * - `usage`: the command was called with something it can't take.
 * - `missing`: a package that only this command needs, or a session that the server doesn't know.
 * - `unreadable`: a file can't be read, or is no recording.
 * - `unwritable`: what was to be written did not arrive, in a file or on standard output.
 */
export type ConsoleErrorType = 'usage' | 'missing' | 'unreadable' | 'unwritable'

/** The package's one error. The message says what failed, with the value, and the cure. */
export class ConsoleError extends Error {
  override readonly name = 'ConsoleError'
  readonly type: ConsoleErrorType

  constructor(type: ConsoleErrorType, message: string, options?: ErrorOptions) {
    super(message, options)
    this.type = type
  }
}
