/**
 * - `invalid`: unusable options.
 * - `client`: the client retries calls by itself, so a message may be posted twice.
 * - `unauthorized`: the app's token is wrong or revoked.
 * - `updates`: connecting the socket failed.
 * - `malformed`: an unreadable event was skipped.
 * - `inbound`: the host's `onInbound` failed; the event is not passed on again.
 * - `answer`: sending an answer to a person failed.
 */
export type SlackErrorType = 'invalid' | 'client' | 'unauthorized' | 'updates' | 'malformed' | 'inbound' | 'answer'

/** What a channel reports to `onError`; `invalid` is thrown instead. Never contains the token. */
export class SlackError extends Error {
  override readonly name = 'SlackError'
  /** What went wrong: decide by it, not by the message. */
  readonly type: SlackErrorType

  constructor(type: SlackErrorType, message: string, options?: ErrorOptions) {
    super(message, options)
    this.type = type
  }
}
