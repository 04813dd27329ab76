import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, connect, systemClock } from '@reply/core'
import { bridgeChannel } from '@reply/telegram/bridge'
import {
  launchOpencode,
  type OpencodeConfig,
  type OpencodeServer,
  type ScriptedModel,
  type Scripts,
  startModel,
} from '@reply/testing'
import { isOpenCode2 } from '@reply/testing/internal'
import { type FakeTelegram, startTelegram, type TelegramMessage } from '@reply/testing/telegram'
import type { Bridge, Connect } from '../src/bridge.ts'
import { createBridge } from '../src/bridge.ts'
import { parseConfig } from '../src/config/parse.ts'
import type { BridgeConfig } from '../src/config/schema.ts'
import { sqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../src/store/store.ts'

/** A real server with a scripted model, a fake Telegram, and a bridge between them that can be restarted. */
export interface BridgeStage {
  readonly telegram: FakeTelegram
  readonly server: OpencodeServer
  readonly model: ScriptedModel
  /** The folder of the state. */
  readonly folder: string
  /** The running bridge. Throws if there is none. */
  bridge(): Bridge
  /** What the bridge and its parts reported. */
  readonly errors: Error[]
  /** Starts another bridge on the same state. `aheadMs`: its clock shows that much more. */
  start(options?: StartOptions): Promise<void>
  stop(): Promise<void>
  /** The bot's messages in a chat, in their order. */
  said(chatId: number): readonly string[]
  /** Waits until the chat's screen meets the condition. */
  seen<T>(chatId: number, find: (screen: readonly TelegramMessage[]) => T | undefined | false): Promise<T>
  /** Waits for a message of the bot with those words. The newest of several. */
  answered(chatId: number, words: string): Promise<TelegramMessage>
  /** Asks the chat which session it works with. */
  sessionOf(chatId: number): Promise<string>
  /** Allows what the first request of the chat asks for. Presses again until it counts: not before the post was confirmed. */
  allow(chatId: number, by?: Parameters<FakeTelegram['press']>[3]): Promise<void>
  /** Asks for the status until it begins with this sign. Tool lines come and go meanwhile. */
  statusIs(chatId: number, sign: '✅' | '❌' | '⏹️' | '⏳'): Promise<void>
  /** Waits until a session of the server has those words. */
  stored(words: string): Promise<void>
  /** Whether no session of the server is at work. */
  isAtRest(): Promise<boolean>
  close(): Promise<void>
}

export interface StageOptions {
  readonly scripts: Scripts
  readonly people?: object
  readonly router?: object
  readonly version?: string
  /** The server's own rules. Default: it asks for `touch` alone. */
  readonly permission?: OpencodeConfig['permission']
  /** Added to the channel's entry in the config. */
  readonly channel?: object
  /** Added to the server's environment. */
  readonly env?: Readonly<Record<string, string>>
  readonly chats?: Parameters<typeof startTelegram>[0]['chats']
  /** More settings of the server, with the address of the scripted model. */
  readonly extra?: (modelUrl: string) => object
  /** The server's slash commands. */
  readonly commands?: NonNullable<OpencodeConfig['command']>
}

export interface StartOptions {
  readonly aheadMs?: number
  readonly router?: object
  readonly people?: object
  /** Added to the server's entry in the config. */
  readonly server?: object
  /** Default: voice notes are not set up. */
  readonly transcribe?: object
  /** The config of the pages of runs. Default: none. */
  readonly web?: object
  /** What the config calls the server. Default `home`. */
  readonly serverName?: string
  /** What no agent may reach. */
  readonly ownPaths?: readonly string[]
  /** Connects the channel by a client of the program's own. */
  readonly connect?: Connect
  /** Changes the store. */
  readonly storeOf?: (store: Store) => Store
  /** Changes the connection to the server. */
  readonly connectTo?: (opencode: Client) => Client
  /** Makes the requests to the server. */
  readonly fetch?: typeof fetch
}

const token = '42:secret'
const webSecret = 'a secret of more than thirty-two bytes'
/** How long a chat is watched for what it is to show, in ms. Only what hangs meets it, shortly before the limit of a test. */
const hangMs = 100_000

/** Ann may do all, Bob may prompt. */
const everyone = {
  ann: { ids: ['tg:1', 'tg:1000'], may: ['prompt', 'approve', 'admin'] },
  bob: { ids: ['tg:2'], may: ['prompt'] },
}

/**
 * Ann has all those private chats, each for a test of its own, and is with Bob and Cat in the groups. Bob and Cat may
 * prompt, and Cat may do `catMay` besides.
 */
export function crowdIn(
  chats: readonly number[],
  groups: readonly number[],
  catMay: readonly string[] = [],
): Required<Pick<StageOptions, 'people' | 'chats'>> {
  return {
    people: {
      ann: { ids: ['tg:1', 'tg:1000', ...chats.map((id) => `tg:${id}`)], may: ['prompt', 'approve', 'admin'] },
      bob: { ids: ['tg:2'], may: ['prompt'] },
      cat: { ids: ['tg:3'], may: ['prompt', ...catMay] },
    },
    chats: [
      ...chats.map((id) => ({ id, type: 'private', title: 'Ann' }) as const),
      ...groups.map((id) => ({ id, type: 'supergroup', title: 'Shop' }) as const),
    ],
  }
}

export async function startStage(options: StageOptions): Promise<BridgeStage> {
  const { scripts, people = everyone, router = {}, version, channel = {}, env, chats, commands, extra } = options
  const { permission = { bash: { '*': 'allow', 'touch *': 'ask' } } } = options
  const isV2 = isOpenCode2(version ?? '')
  const model = await startModel({ scripts, generation: isV2 ? 2 : 1 })
  const server = await launchOpencode({
    model,
    ...(version !== undefined && { version }),
    // Servers of OpenCode 2 always have one.
    ...(isV2 && { password: token }),
    ...(env && { env }),
    config: {
      permission,
      extra: { ...(!isV2 && { snapshot: false }), ...extra?.(model.url) },
      ...(commands && { command: commands }),
    },
  })
  const telegram = await startTelegram({ token, ...(chats && { chats }) })
  const home = mkdtempSync(join(tmpdir(), 'reply-bridge-'))
  const folder = join(home, 'state')
  const errors: Error[] = []
  const configWith = ({
    router: rules = router,
    people: who = people,
    server: more,
    transcribe,
    web,
    serverName = 'home',
  }: StartOptions): BridgeConfig =>
    parseConfig({
      servers: {
        [serverName]: {
          url: server.url,
          directory: server.directory,
          ...(isV2 && { password: { env: 'PASSWORD' } }),
          ...more,
        },
      },
      channels: {
        tg: { type: 'telegram', token: { env: 'TOKEN' }, apiRoot: telegram.url, updates: 'polling', ...channel },
      },
      people: who,
      router: rules,
      ...(transcribe && { transcribe }),
      ...(web && { web }),
    })
  let bridge: Bridge | undefined
  return {
    ...{ telegram, server, model, folder, errors, start, stop, said, seen, answered, sessionOf, allow },
    ...{ statusIs, stored, isAtRest, close },
    bridge: () => {
      if (!bridge) throw new Error('No bridge runs.')
      return bridge
    },
  }

  async function start(given: StartOptions = {}): Promise<void> {
    const { aheadMs = 0, connect: own, fetch: request, storeOf = (store) => store } = given
    const { connectTo = request && ((opencode: Client) => opencode) } = given
    const config = configWith(given)
    const now = (): number => systemClock.now() + aheadMs
    const clock = { ...systemClock, now, wall: now }
    const onError = (error: Error): void => void errors.push(error)
    /** Connects as the bridge does, which waits for its server for longer than other clients do. */
    const connectToServer = (): Client => {
      const { timeoutMs: connectTimeoutMs } = config.router
      return connect({
        ...{ url: server.url, directory: server.directory, follow: 'own', connectTimeoutMs, clock, onError },
        ...(isV2 && { password: token }),
        ...(request && { fetch: request }),
      })
    }
    bridge = createBridge({
      ...{ config, clock, onError },
      ...(given.ownPaths && { ownPaths: given.ownPaths }),
      store: storeOf(await sqliteStore({ folder, clock })),
      secret: (source) => ('env' in source && source.env === 'WEB' ? webSecret : token),
      load: async () => bridgeChannel,
      ...(own && { connections: { tg: own } }),
      ...(connectTo && { connectTo: () => connectTo(connectToServer()) }),
    })
    await bridge.start()
  }

  async function stop(): Promise<void> {
    await bridge?.stop()
    bridge = undefined
  }

  function said(chatId: number): readonly string[] {
    return telegram.screen(chatId).flatMap(({ from, text }) => (from === 'bot' ? [text] : []))
  }

  function seen<T>(chatId: number, find: (screen: readonly TelegramMessage[]) => T | undefined | false): Promise<T> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        try {
          const found = find(telegram.screen(chatId))
          if (found === undefined || found === false) return
          resolve(found)
        } catch (error) {
          reject(error)
        }
        end()
      }
      const limit = setTimeout(() => {
        end()
        const screen = telegram.screen(chatId).map(({ from, text }) => `${from}: ${text}`)
        reject(new Error(`The chat ${chatId} never showed that. It shows:\n${screen.join('\n')}`))
      }, hangMs)
      const unobserve = telegram.observe(look)
      const end = (): void => {
        clearTimeout(limit)
        unobserve()
      }
      look()
    })
  }

  async function answered(chatId: number, words: string): Promise<TelegramMessage> {
    return await seen(chatId, (screen) => screen.findLast(({ from, text }) => from === 'bot' && text.includes(words)))
  }

  async function sessionOf(chatId: number): Promise<string> {
    telegram.say(chatId, '/current')
    return /ses_\w+/.exec((await answered(chatId, 'Session:')).text)?.[0] ?? ''
  }

  async function allow(chatId: number, by: Parameters<FakeTelegram['press']>[3] = {}): Promise<void> {
    const isRequest = ({ buttons }: TelegramMessage): boolean =>
      buttons.flat().some(({ text }) => text === 'Allow once')
    const { messageId } = await seen(chatId, (screen) => screen.find(isRequest))
    for (;;) {
      const message = telegram.screen(chatId).find((one) => one.messageId === messageId)
      if (message?.buttons.length === 0) return
      if (message) await telegram.press(chatId, messageId, 'Allow once', by).settled
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  async function statusIs(chatId: number, sign: string): Promise<void> {
    for (;;) {
      const asked = telegram.say(chatId, '/status')
      const { text } = await seen(chatId, (screen) =>
        screen.find(
          ({ messageId, from, text: said }) => messageId > asked && from === 'bot' && /^(?:⏳|✅|❌|⏹️) /u.test(said),
        ),
      )
      if (text.startsWith(sign)) return
    }
  }

  async function get(path: string): Promise<ReturnType<typeof JSON.parse>> {
    const address = new URL(path, server.url)
    address.searchParams.set('directory', server.directory)
    return await (await fetch(address)).json()
  }

  async function stored(words: string): Promise<void> {
    for (;;) {
      const sessions: readonly { readonly id: string }[] = await get('/session')
      const all = await Promise.all(sessions.map(async ({ id }) => await get(`/session/${id}/message`)))
      if (JSON.stringify(all).includes(words)) return
    }
  }

  async function isAtRest(): Promise<boolean> {
    const statuses: Readonly<Record<string, { readonly type: string }>> = await get('/session/status')
    return Object.values(statuses).every(({ type }) => type === 'idle')
  }

  async function close(): Promise<void> {
    await stop()
    await telegram.close()
    await server.stop()
    await model.close()
    rmSync(home, { recursive: true, force: true })
  }
}
