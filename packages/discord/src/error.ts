import { ChannelError } from '@reply/sink/channel'
import type { ChannelErrorType } from '@reply/sink/internal'

/**
 * Besides the types of all channels:
 * - `unauthorized`: the token is wrong or revoked, or the bot lacks an intent.
 * - `updates`: the gateway failed; the channel connects again.
 */
export type DiscordErrorType = ChannelErrorType | 'unauthorized' | 'updates'

/** What a channel reports to `onError`; `invalid` is thrown instead. Never contains the token. */
export class DiscordError extends ChannelError<DiscordErrorType> {
  override readonly name = 'DiscordError'
}
