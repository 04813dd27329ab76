import type { Clock } from '@reply/core'
import {
  type BridgeChannel,
  type BridgeConnection,
  type ChannelHost,
  callPlatform,
  createNotes,
  downloadFile,
  type InboundFile,
  loadClient,
  PortError,
  sinkOptionsOf,
  systemClock,
  tooLong,
} from '@reply/sink/channel'
import type { Api } from 'grammy'
import { botOf } from './bot.ts'
import { telegramChannel } from './channel.ts'
import { type TelegramConfig, telegramConfig } from './config.ts'
import { TelegramError } from './error.ts'
import { isRejected, responseOf, toPortError } from './failure.ts'
import { createTelegramPort, renderFor } from './port.ts'

const publicRoot = 'https://api.telegram.org'

/** Telegram as a channel of a bridge. Needs the package `grammy`. */
export const bridgeChannel: BridgeChannel<TelegramConfig> = {
  type: 'telegram',
  schema: telegramConfig,
  check: async (config, host) => {
    const api = await connect(config, host)
    return { account: `@${(await me(api, systemClock)).username}` }
  },
  create: async (config, host) => connectionOf(config, host, await connect(config, host)),
}

async function connect({ token, apiRoot }: TelegramConfig, host: Pick<ChannelHost, 'secret'>): Promise<Api> {
  const { Api } = await loadClient('grammy', () => import('grammy'))
  return new Api(host.secret(token), { apiRoot: rootOf(apiRoot) })
}

function connectionOf(config: TelegramConfig, host: ChannelHost, api: Api): BridgeConnection {
  const { clock, onInbound, onError } = host
  const { updates = 'polling', secretToken } = config
  const channel = telegramChannel({
    ...{ api, updates, onInbound, onError, clock, onlyFiles: true },
    ...(secretToken && { secretToken: host.secret(secretToken) }),
  })
  const notes = createNotes({
    client: botOf(api),
    clock,
    writerOf: ({ id, thread }) => {
      const threadId = thread === undefined ? undefined : Number(thread)
      return { port: createTelegramPort({ api, chatId: id, threadId, clock }), render: renderFor(api) }
    },
  })
  return {
    ...notes,
    start: async () => {
      // Polling reports all other failures, and tries again.
      await me(api, clock).catch((error: unknown) => {
        if (error instanceof TelegramError) throw error
      })
      channel.start()
    },
    stop: channel.stop,
    sinkFor: (at, options) => channel.sinkFor(at, sinkOptionsOf(config, host, options)),
    download: async (file, { maxBytes, signal }) => {
      const what = `file ${file.name}`
      if ((file.size ?? 0) > maxBytes) throw tooLong(what, maxBytes)
      const path = await pathOf(api, file, clock)
      const url = `${rootOf(config.apiRoot)}/file/bot${api.token}/${path}`
      return await downloadFile({ url, maxBytes, signal, what, platform: 'Telegram', clock })
    },
    setCommands: async (commands) => {
      const menu = commands.map(({ name, description }) => ({ command: name, description: description.slice(0, 256) }))
      await callPlatform(() => api.setMyCommands(menu), { what: 'setMyCommands', clock, toPortError })
    },
    ...(updates === 'webhook' && { webhook: channel.webhook }),
  }
}

async function me(api: Api, clock: Clock): Promise<{ readonly username: string }> {
  try {
    return await callPlatform(() => api.getMe(), { what: 'getMe', clock, toPortError })
  } catch (error) {
    const code = error instanceof PortError ? responseOf(error.cause)?.code : undefined
    if (!isRejected(code)) throw error
    const words = `Telegram rejected the bot's token (${code}). Use the one that @BotFather shows now.`
    throw new TelegramError('unauthorized', words)
  }
}

/** "For the moment, bots can download files of up to 20MB in size." https://core.telegram.org/bots/api#getfile */
async function pathOf(api: Api, { ref, name }: InboundFile, clock: Clock): Promise<string> {
  try {
    const { file_path } = await callPlatform(() => api.getFile(ref), { what: `file ${name}`, clock, toPortError })
    // A server that runs with --local names a file on its own disk.
    if (file_path !== undefined && !file_path.startsWith('/')) return file_path
  } catch (error) {
    if (!(error instanceof PortError) || !/file is too big/i.test(error.message)) throw error
    throw new PortError('too-long', `file ${name}: Telegram lets bots download at most 20 MB, and it has more.`)
  }
  throw new PortError(
    'refused',
    `file ${name}: the Bot API server gives no path below its address. Run it without --local.`,
  )
}

function rootOf(apiRoot: string = publicRoot): string {
  return apiRoot.replace(/\/+$/, '')
}
