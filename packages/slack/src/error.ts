/**
 * - `invalid`: options that can't be.
 * - `client`: the client repeats calls by itself, so that a message may come twice.
 * - `unauthorized`: the app's token is not valid (any more).
 * - `updates`: the socket could not be connected.
 * - `malformed`: something that can't be read; it was passed over.
 * - `inbound`: the host's own code failed at what somebody did; it is not given again.
 * - `answer`: a person could not be answered.
 */
export type SlackErrorType = 'invalid' | 'client' | 'unauthorized' | 'updates' | 'malformed' | 'inbound' | 'answer'

/** What a channel reports: to `onError`, but for `invalid`, which is thrown where the mistake was made. It carries no token. */
export class SlackError extends Error {
  override readonly name = 'SlackError'
  readonly type: SlackErrorType

  constructor(type: SlackErrorType, message: string, options?: ErrorOptions) {
    super(message, options)
    this.type = type
  }
}
