import type { Clock } from '@reply/core'
import { callPlatform } from '@reply/sink/channel'
import type { TelegramInboundApi } from './api.ts'
import { TelegramError } from './error.ts'
import { toPortError } from './failure.ts'

export interface UsernameOptions {
  readonly api: TelegramInboundApi
  readonly onError: (error: TelegramError) => void
  readonly clock: Clock
}

/**
 * Whether a command that names a bot is for this one. Asks Telegram for the name once. While that fails, every command
 * counts as this bot's.
 */
export function createUsername({ api, onError, clock }: UsernameOptions): (named: string) => Promise<boolean> {
  let own: Promise<string | undefined> | undefined
  return async (named) => {
    own ??= fetched()
    const name = await own
    if (name === undefined) own = undefined
    return name === undefined || name.toLowerCase() === named.toLowerCase()
  }

  async function fetched(): Promise<string | undefined> {
    try {
      const call = { what: 'getMe', timeoutMs: undefined, clock, toPortError }
      const { username } = await callPlatform((signal) => api.getMe(signal), call)
      return username
    } catch (error) {
      const { message, cause } = toPortError(error, 'getMe')
      const doubt = 'so a command for another bot is passed on.'
      onError(new TelegramError('updates', `The bot's name is unknown, ${doubt} ${message}`, { cause }))
      return undefined
    }
  }
}
