import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { launchOpencode, type ScriptedModel, type Scripts, startModel } from '@reply/testing'
import { demoFiles } from '@reply/testing/internal'
import type { Bridge } from '../../src/bridge.ts'
import { createBridge } from '../../src/bridge.ts'
import { parseConfig } from '../../src/config/parse.ts'
import { serveBridge } from '../../src/serve-bridge.ts'
import { createMemoryStore } from '../../src/store/memory.ts'
import type { Chat, ChatOptions } from './chats/chat.ts'
import { slackChat } from './chats/slack.ts'
import { telegramChat } from './chats/telegram.ts'
import { listen, servePage } from './page-server.ts'
import { people } from './people.ts'
import { scripts as demoScripts, permissions, scriptFor, suggestions } from './scripts.ts'
import type { ChatView } from './view.ts'

/** Options of `startBridgeDemo`. */
export interface DemoOptions {
  /** Of the page. Default: any free one. */
  readonly port?: number
  /** Pause between two chunks of the model, in ms. Default 12, slow enough to read along. */
  readonly chunkDelayMs?: number
  /** Scripts for the model besides the demo's own, by the name in a prompt's `[scenario:name]`. */
  readonly scripts?: Scripts
  /** Default: a fake Telegram and a fake Slack. */
  readonly chats?: readonly ((options: ChatOptions) => Promise<Chat>)[]
  /** The time that the page shows, in ms since the epoch. Default: the computer's clock. */
  readonly now?: () => number
  /** Called with errors of the bridge. Default: they are dropped. */
  readonly onError?: (error: Error) => void
}

/** A running demo. */
export interface Demo {
  /** The page's address. */
  readonly url: string
  /** The model of the OpenCode server. */
  readonly model: ScriptedModel
  /** The version of the OpenCode server. */
  readonly version: string
  /** The bridge's chats with what they show. */
  readonly chats: readonly Chat[]
  /** Returns a chat as the page shows it now. */
  view(chat: Chat): ChatView
  /**
   * Calls the listener after each change of a chat and of its runs, except for what fades by itself. Returns a function that
   * undoes it.
   */
  observe(listener: () => void): () => void
  /** Stops everything and removes its files. */
  close(): Promise<void>
}

/**
 * Starts a real OpenCode server with a scripted model, fake platforms with two people, a bridge between them, and a page
 * that shows the chats. Its state is in memory. If something can't start, what started before it is closed.
 */
export async function startBridgeDemo(options: DemoOptions = {}): Promise<Demo> {
  const closers: (() => Promise<unknown>)[] = []
  const close = async (): Promise<void> => {
    for (const one of closers.splice(0).reverse()) await one()
  }
  try {
    return { ...(await start(options, (closer) => closers.push(closer))), close }
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * Starts all parts, and passes `onClose` a function for each that stops it. Rejects if one can't start, and stops none then.
 */
async function start(
  options: DemoOptions,
  onClose: (close: () => Promise<unknown>) => void,
): Promise<Omit<Demo, 'close'>> {
  const { port = 0, chunkDelayMs = 12, now = Date.now, onError = () => {}, scripts = {} } = options
  const kinds = options.chats ?? [telegramChat, slackChat]
  const model = await startModel({
    ...{ scripts: { ...demoScripts, ...scripts }, fallback: scriptFor, chunkDelayMs, chunk: 4 },
  })
  onClose(model.close)
  const server = await launchOpencode({ model, files: demoFiles, config: { permission: permissions } })
  onClose(server.stop)
  const chats: readonly Chat[] = await Promise.all(
    kinds.map(async (kind) => {
      const chat = await kind({ now })
      onClose(chat.close)
      return chat
    }),
  )
  const listeners = new Set<() => void>()
  const notify = (): void => {
    for (const listener of listeners) listener()
  }
  const running = new Map<string, string>()
  const pagesPort = await freePort()
  const bridge = createBridge({
    config: parseConfig({
      // Ben's prompts run by the server's own rules, so that Ann can allow a command.
      servers: { shop: { url: server.url, directory: server.directory, trustPrompt: true } },
      channels: Object.fromEntries(chats.map(({ name, channel }) => [name, channel])),
      people: Object.fromEntries(
        people.map((person) => [
          person.id,
          { ids: chats.map((chat) => `${chat.name}:${chat.accountOf(person)}`), may: person.may },
        ]),
      ),
      router: { messagesPerMinute: 120 },
      web: { publicUrl: `http://127.0.0.1:${pagesPort}`, secret: { env: pagesSecretName } },
    }),
    store: createMemoryStore(),
    secret: (source) => {
      const name = 'env' in source ? source.env : ''
      return name === pagesSecretName ? pagesSecret : (chats.map(({ secrets }) => secrets[name]).find(Boolean) ?? '')
    },
    load: async (type) => await chatOf(type).load(),
    onError,
    observers: [
      (event) => {
        if (event.type !== 'run') return
        if (event.phase === 'ended') running.delete(event.executionID)
        else running.set(event.executionID, event.channel)
        notify()
      },
    ],
  })
  await bridge.start()
  onClose(() => bridge.stop())
  const pages = await serveBridge({ bridge, port: pagesPort, serves: 'pages' })
  onClose(pages.close)
  await Promise.all(chats.map((chat) => chat.connected(listenerOf(bridge, chat))))
  for (const chat of chats) chat.observe(notify)
  const page = await servePage({ port, chats, view, observe, suggestions })
  onClose(page.close)
  return { url: page.url, model, version: server.version, chats, view, observe }

  /** Returns a chat by its name. Throws if the demo does not have it. */
  function chatOf(name: string): Chat {
    const chat = chats.find((one) => one.name === name)
    if (!chat) throw new Error(`The demo has no chat ${name}.`)
    return chat
  }

  /** Returns a chat as the page shows it. It is working while one of its runs has not ended. */
  function view(chat: Chat): ChatView {
    const isWorking = [...running.values()].includes(chat.name)
    const shown = chat.members.map(({ id, name, may }) => ({ id, name, may: may.join(', ') }))
    return { ...chat.look(), name: chat.name, people: shown, isWorking }
  }

  /** Adds a listener for changes. Returns a function that removes it. */
  function observe(listener: () => void): () => void {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
}

/** Signs the links to the pages of runs, as long as this demo runs. */
const pagesSecret = randomBytes(32).toString('base64url')
const pagesSecretName = 'PAGES_SECRET'

/** Resolves with a port that is free now. The links to the pages have it before they are served. */
async function freePort(): Promise<number> {
  const server = createServer()
  const port = await listen(server, 0)
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Returns the bridge's listener for the webhook of a chat. Undefined for a channel without webhooks. */
function listenerOf(bridge: Bridge, { name }: Chat): ReturnType<Bridge['listener']> | undefined {
  return bridge.webhooks().includes(name) ? bridge.listener(name) : undefined
}
