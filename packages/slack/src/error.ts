import { ChannelError } from '@reply/sink/channel'
import type { ChannelErrorType } from '@reply/sink/internal'

/**
 * Besides the types of all channels:
 * - `client`: the client retries calls by itself, so a message may be posted twice.
 * - `unauthorized`: the app's token is wrong or revoked.
 * - `updates`: connecting the socket failed.
 */
export type SlackErrorType = ChannelErrorType | 'client' | 'unauthorized' | 'updates'

/** What a channel reports to `onError`; `invalid` is thrown instead. Never contains the token. */
export class SlackError extends ChannelError<SlackErrorType> {
  override readonly name = 'SlackError'
}
