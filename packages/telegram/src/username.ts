import type { Clock } from '@reply/core'
import { callPlatform } from '@reply/sink/channel'
import type { TelegramInboundApi } from './api.ts'
import { TelegramError } from './error.ts'
import { toPortError } from './failure.ts'

export interface UsernameOptions {
  readonly api: TelegramInboundApi
  readonly onError: (error: TelegramError) => void
  readonly timeoutMs?: number | undefined
  readonly clock: Clock
}

/**
 * The bot's name, without its `@`. Asks Telegram for it once. Resolves with undefined while that fails.
 */
export function createUsername({ api, onError, timeoutMs, clock }: UsernameOptions): () => Promise<string | undefined> {
  let own: Promise<string | undefined> | undefined
  return async () => {
    own ??= fetched()
    const name = await own
    if (name === undefined) own = undefined
    return name
  }

  async function fetched(): Promise<string | undefined> {
    try {
      const call = { what: 'getMe', timeoutMs, clock, toPortError }
      const { username } = await callPlatform((signal) => api.getMe(signal), call)
      return username
    } catch (error) {
      const { message, cause } = toPortError(error, 'getMe')
      const doubt = 'so a command for another bot is passed on, and a mention is not noticed.'
      onError(new TelegramError('updates', `The bot's name is unknown, ${doubt} ${message}`, { cause }))
      return undefined
    }
  }
}
