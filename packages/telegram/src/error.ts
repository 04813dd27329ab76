/**
 * - `invalid`: unusable options.
 * - `conflict`: another process or a webhook takes this bot's updates.
 * - `unauthorized`: the token is wrong or revoked.
 * - `updates`: fetching updates failed; the channel retries.
 * - `malformed`: an unreadable update was skipped.
 * - `inbound`: the host's `onInbound` failed; the update is not passed on again.
 * - `answer`: sending an answer to a person failed.
 */
export type TelegramErrorType = 'invalid' | 'conflict' | 'unauthorized' | 'updates' | 'malformed' | 'inbound' | 'answer'

/** What a channel reports to `onError`; `invalid` is thrown instead. Never contains the token. */
export class TelegramError extends Error {
  override readonly name = 'TelegramError'
  /** What went wrong: decide by it, not by the message. */
  readonly type: TelegramErrorType

  constructor(type: TelegramErrorType, message: string, options?: ErrorOptions) {
    super(message, options)
    this.type = type
  }
}
