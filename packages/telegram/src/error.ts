import { ChannelError } from '@reply/sink/channel'
import type { ChannelErrorType } from '@reply/sink/internal'

/**
 * Besides the types of all channels:
 * - `conflict`: another process or a webhook takes this bot's updates.
 * - `unauthorized`: the token is wrong or revoked.
 * - `updates`: fetching updates failed; the channel retries.
 */
export type TelegramErrorType = ChannelErrorType | 'conflict' | 'unauthorized' | 'updates'

/** What a channel reports to `onError`; `invalid` is thrown instead. Never contains the token. */
export class TelegramError extends ChannelError<TelegramErrorType> {
  override readonly name = 'TelegramError'
}

/** The error for an update that can't be read. */
export function unreadableUpdate(id: number | undefined): TelegramError {
  return new TelegramError('malformed', `Skipped update ${id ?? 'without an id'}, which can't be read.`)
}
