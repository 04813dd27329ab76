import { systemClock } from '@reply/core'
import { type BridgeChannel, type ChannelHost, secretSource, sinkFields } from '@reply/sink/channel'
import { loadClient } from '@reply/sink/internal'
import type { Api } from 'grammy'
import * as z from 'zod'
import { apiRootOf, fetchBot, telegramConnection } from './connection.ts'

/** A bot in a bridge's config. */
export const telegramConfig = z
  .strictObject({
    type: z.literal('telegram').describe('A Telegram bot.'),
    token: secretSource.describe("The bot's token, from @BotFather."),
    apiRoot: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe('The address of the Bot API server. Default: https://api.telegram.org.'),
    updates: z
      .enum(['polling', 'webhook'])
      .optional()
      .describe('Where updates come from: polling, or requests to a webhook that you set. Default: polling.'),
    secretToken: secretSource
      .optional()
      .describe('With updates "webhook": the secret_token given to setWebhook, 1 to 256 of A-Z a-z 0-9 _ -.'),
    ...sinkFields,
  })
  .refine(({ updates, secretToken }) => updates !== 'webhook' || secretToken !== undefined, {
    path: ['secretToken'],
    message: 'A webhook needs a secretToken. Without one, anyone could post to it.',
  })

/** The config of a Telegram bot. */
export type TelegramConfig = z.infer<typeof telegramConfig>

/** Telegram as a channel of a bridge. Needs the package `grammy`. */
export const bridgeChannel: BridgeChannel<TelegramConfig> = {
  type: 'telegram',
  schema: telegramConfig,
  check: async (config, host) => {
    const api = await createApi(config, host)
    return { account: `@${(await fetchBot(api, systemClock)).username}` }
  },
  create: async (config, host) => {
    const { updates = 'polling', secretToken, policy, texts } = config
    const api = await createApi(config, host)
    const secret = secretToken && { secretToken: host.secret(secretToken) }
    return telegramConnection({ api, updates, policy, texts, ...secret }, host)
  },
}

/** Loads grammY and creates a client. Rejects if grammY is not installed. Makes no call. */
async function createApi({ token, apiRoot }: TelegramConfig, host: Pick<ChannelHost, 'secret'>): Promise<Api> {
  const { Api } = await loadClient('grammy', () => import('grammy'))
  return new Api(host.secret(token), { apiRoot: apiRootOf(apiRoot) })
}
