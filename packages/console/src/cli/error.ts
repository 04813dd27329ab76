/**
 * The kind of error:
 * - `usage`: an invalid argument or option.
 * - `missing`: a package that only this command needs, or a session that the server doesn't know.
 * - `unreadable`: a file can't be read, or is not a recording.
 * - `unwritable`: writing to a file or to standard output failed.
 */
export type ConsoleErrorType = 'usage' | 'missing' | 'unreadable' | 'unwritable'

/** The package's only error. The message contains the failure, the value and the cure. */
export class ConsoleError extends Error {
  override readonly name = 'ConsoleError'
  readonly type: ConsoleErrorType

  constructor(type: ConsoleErrorType, message: string, options?: ErrorOptions) {
    super(message, options)
    this.type = type
  }
}
