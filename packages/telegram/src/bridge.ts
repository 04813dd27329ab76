import type { BridgeChannel, ChannelHost } from '@reply/sink/channel'
import { loadClient, systemClock } from '@reply/sink/internal'
import type { Api } from 'grammy'
import { type TelegramConfig, telegramConfig } from './config.ts'
import { me, rootOf, telegramConnection } from './connection.ts'

/** Telegram as a channel of a bridge. Needs the package `grammy`. */
export const bridgeChannel: BridgeChannel<TelegramConfig> = {
  type: 'telegram',
  schema: telegramConfig,
  check: async (config, host) => {
    const api = await connect(config, host)
    return { account: `@${(await me(api, systemClock)).username}` }
  },
  create: async (config, host) => {
    const { updates = 'polling', secretToken, policy, words } = config
    const api = await connect(config, host)
    const secret = secretToken && { secretToken: host.secret(secretToken) }
    return telegramConnection({ api, updates, policy, words, ...secret }, host)
  },
}

async function connect({ token, apiRoot }: TelegramConfig, host: Pick<ChannelHost, 'secret'>): Promise<Api> {
  const { Api } = await loadClient('grammy', () => import('grammy'))
  return new Api(host.secret(token), { apiRoot: rootOf(apiRoot) })
}
