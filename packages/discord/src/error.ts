import { ChannelError, type ChannelErrorType } from '@reply/sink/channel'

/** The types of all channels. */
export type DiscordErrorType = ChannelErrorType

/** What a channel reports to `onError`; `invalid` is thrown instead. Never contains the token. */
export class DiscordError extends ChannelError<DiscordErrorType> {
  override readonly name = 'DiscordError'
}
