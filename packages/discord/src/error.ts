/**
 * - `invalid`: unusable options.
 * - `malformed`: an unreadable interaction or message was skipped.
 * - `inbound`: the host's `onInbound` failed; the event is not passed on again.
 * - `answer`: sending an answer to a person failed.
 */
export type DiscordErrorType = 'invalid' | 'malformed' | 'inbound' | 'answer'

/** What a channel reports to `onError`; `invalid` is thrown instead. Never contains the token. */
export class DiscordError extends Error {
  override readonly name = 'DiscordError'
  /** What went wrong: decide by it, not by the message. */
  readonly type: DiscordErrorType

  constructor(type: DiscordErrorType, message: string, options?: ErrorOptions) {
    super(message, options)
    this.type = type
  }
}
