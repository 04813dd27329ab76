import type { Clock } from '@reply/core'
import type { Chat, InboundFile, MessageRef } from '@reply/sink'
import {
  type BridgeConnection,
  type ChannelHost,
  callPlatform,
  createListening,
  createNotes,
  downloadFile,
  PortError,
  pacerOf,
  sinkOptionsOf,
} from '@reply/sink/channel'
import { type SinkFields, tooLargeError } from '@reply/sink/internal'
import { botOf, type TelegramBridgeApi, type TelegramMove } from './api.ts'
import { type TelegramChannel, type TelegramChannelOptions, telegramChannel } from './channel.ts'
import { isTokenRejection, rejectedTokenError, responseOf, TelegramError, toPortError } from './error.ts'
import { telegramLimits } from './limits.ts'
import { createTelegramPort, renderFor } from './port.ts'

/** Your own bot, and how its replies are shown. */
export interface TelegramConnectionOptions extends SinkFields, Pick<TelegramChannelOptions, 'updates' | 'secretToken'> {
  /** grammY's: `bot.api`, or `new Api(token)`. */
  readonly api: TelegramBridgeApi
}

/** A bot that a bridge can use. */
export interface TelegramConnection extends BridgeConnection, Pick<TelegramChannel, 'handleUpdate'> {}

const publicRoot = 'https://api.telegram.org'

/** Connects your own bot to a bridge: pass it in the bridge's `connections`. Makes no call before `start`. */
export function telegramConnection(
  { api, updates, secretToken, ...fields }: TelegramConnectionOptions,
  host: ChannelHost,
): TelegramConnection {
  const { clock, onInbound, onError, onInboundStatus } = host
  /** For sinks and notes, whose calls don't wait for the host. */
  const onMoved = (move: TelegramMove): void => void host.onMoved?.(move).catch(onError)
  const channel = telegramChannel({
    api,
    updates,
    secretToken,
    onInbound,
    onError,
    onInboundStatus,
    clock,
    onlyFiles: true,
    onMoved: async (move) => await host.onMoved?.(move),
  })
  const notes = createNotes({
    client: botOf(api),
    clock,
    writerOf: ({ id, thread }) => {
      const threadId = thread === undefined ? undefined : Number(thread)
      return { port: createTelegramPort({ api, chatId: id, threadId, clock, onMoved }), render: renderFor(api) }
    },
  })
  /** The bot's own name. Undefined until it is known. */
  let username: string | undefined
  const listening = createListening({
    check: async () => {
      const bot = await fetchBot(api, clock).catch((error: unknown) => {
        if (error instanceof TelegramError) throw error
      })
      username = bot?.username ?? username
    },
    begin: channel.start,
    end: channel.stop,
  })
  return {
    ...notes,
    ...listening,
    // The same for all kinds of chats.
    budgets: pacerOf(botOf(api), clock).sharedBudgets(telegramLimits('private', true)),
    // Telegram ends the older of two polls. https://github.com/tdlib/telegram-bot-api: `Client::abort_long_poll`
    listens: updates === 'polling' ? 'one' : 'anywhere',
    posts: 'anywhere',
    sinkFor: (at, options) => channel.sinkFor(at, { ...sinkOptionsOf(fields, host, options), onMoved }),
    linkTo: (chat, message) => linkTo(chat, message, username),
    download: async (file, { maxBytes, signal }) => {
      const what = `file ${file.name}`
      if ((file.size ?? 0) > maxBytes) throw tooLargeError(what, maxBytes, file.size)
      const path = await downloadPathOf(api, file, clock)
      const url = `${apiRootOf(api.options?.apiRoot)}/file/bot${api.token}/${path}`
      return await downloadFile({ url, maxBytes, signal, what, platform: 'Telegram', clock })
    },
    setCommands: async (commands) => {
      const menu = commands.map(({ name, description }) => ({ command: name, description: description.slice(0, 256) }))
      await callPlatform(() => api.setMyCommands(menu), { what: 'setMyCommands', clock, toPortError })
    },
    handleUpdate: channel.handleUpdate,
    ...(updates === 'webhook' && { webhook: { refuse: channel.refuse, take: channel.webhook } }),
  }
}

/**
 * Resolves with the bot's own account. Rejects with a `TelegramError` if Telegram refuses its token, or else a `PortError`.
 */
export async function fetchBot(
  api: Pick<TelegramBridgeApi, 'getMe'>,
  clock: Clock,
): Promise<{ readonly username?: string | undefined }> {
  try {
    return await callPlatform(() => api.getMe(), { what: 'getMe', clock, toPortError })
  } catch (error) {
    const code = error instanceof PortError ? responseOf(error.cause)?.code : undefined
    if (code === undefined || !isTokenRejection(code)) throw error
    throw rejectedTokenError(code)
  }
}

/**
 * Returns a file's path on the server. Throws `too-long` above 20 MB, the most that bots can download, and `refused` for a
 * path on the server's disk. https://core.telegram.org/bots/api#getfile
 */
async function downloadPathOf(api: TelegramBridgeApi, { ref, name }: InboundFile, clock: Clock): Promise<string> {
  try {
    const { file_path } = await callPlatform(() => api.getFile(ref), { what: `file ${name}`, clock, toPortError })
    // A server started with --local returns a path on its own disk.
    if (file_path !== undefined && !file_path.startsWith('/')) return file_path
  } catch (error) {
    if (!(error instanceof PortError) || !/file is too big/i.test(error.message)) throw error
    throw new PortError(
      'too-long',
      `file ${name}: it has more than 20 MB, the most that bots can download from Telegram.`,
    )
  }
  throw new PortError(
    'refused',
    `file ${name}: the Bot API server gives no path below its address. Run it without --local.`,
  )
}

/** Returns the Bot API's address, without trailing slashes. Default: Telegram's own. */
export function apiRootOf(apiRoot: string = publicRoot): string {
  return apiRoot.replace(/\/+$/, '')
}

/**
 * Returns the link that opens a message of a supergroup for its members, or a private chat with the bot. Undefined for other
 * chats, which have none, for a supergroup without a message, and as long as the bot's name isn't known. A supergroup's number is that of MTProto, without the bot
 * API's mark: https://core.telegram.org/api/links#message-links and https://core.telegram.org/api/bots/ids
 */
function linkTo(
  { id, thread, kind }: Chat,
  message: MessageRef | undefined,
  username: string | undefined,
): string | undefined {
  // Messages of a private chat have no links. https://core.telegram.org/api/links#public-username-links
  // The id of a person is positive, also of a chat that a config names. https://core.telegram.org/api/bots/ids
  if (kind === 'private' || /^\d+$/.test(id)) return username && `https://t.me/${username}`
  const [, number] = /^-100(\d+)$/.exec(id) ?? []
  if (number === undefined || !message) return undefined
  return `https://t.me/c/${[number, ...(thread === undefined ? [] : [thread]), message.id].join('/')}`
}
