/**
 * - `invalid`: unusable options.
 * - `malformed`: an interaction or message that can't be read; it was passed over.
 * - `inbound`: the host's own code failed at it; it is not given again.
 * - `answer`: sending an answer to a person failed.
 */
export type DiscordErrorType = 'invalid' | 'malformed' | 'inbound' | 'answer'

/** What a channel reports: to `onError`, but for `invalid`, which is thrown where the mistake was made. It carries no token. */
export class DiscordError extends Error {
  override readonly name = 'DiscordError'
  readonly type: DiscordErrorType

  constructor(type: DiscordErrorType, message: string, options?: ErrorOptions) {
    super(message, options)
    this.type = type
  }
}
