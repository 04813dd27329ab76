import { type Client, type Clock, systemClock } from '@reply/core'
import type { Bridge, BridgeOptions } from '../src/bridge.ts'
import { createBridge } from '../src/bridge.ts'
import type { LoadChannel } from '../src/chats/load-channel.ts'
import { parseConfig } from '../src/config/parse.ts'
import type { BridgeConfig } from '../src/config/schema.ts'
import { type ServedBridge, serveBridge } from '../src/serve-bridge.ts'
import type { Store } from '../src/store/store.ts'
import { createMemoryStore, createStoreMemory } from '../src/testing.ts'
import type { Platform } from './platforms.ts'

/** A bridge between one server and some platforms, on a state that a second `start` finds again. */
export interface Chats {
  readonly errors: Error[]
  /** What the bridge said to its operator. */
  readonly notices: string[]
  start(options?: StartChats): Promise<void>
  stop(): Promise<void>
  /** Replaces the people of the running bridge. */
  setPeople(people: BridgeConfig['people']): void
  /** Acts on the page of a run in the running bridge. */
  readonly actOnPage: Bridge['actOnPage']
  /** Requests something of the pages of runs. */
  readonly page: Bridge['page']
  /** Where the bridge takes webhooks, and what it says of itself. */
  readonly url: string
  close(): Promise<void>
}

export interface StartChats extends Pick<BridgeOptions, 'observers'> {
  readonly clock?: Clock
  /** The clock of the store. Default: that of the bridge. */
  readonly storeClock?: Clock
  /** Changes the store. */
  readonly storeOf?: (store: Store) => Store
  readonly router?: object
  readonly routes?: object
  /** Default: none. */
  readonly mirrors?: readonly (readonly string[])[]
  /** Default: voice notes are not set up. */
  readonly transcribe?: object
  /** The config of the pages of runs. Its secret is `WEB_SECRET`. Default, also for an empty one: no pages. */
  readonly web?: object
  /** Added to the server's entry in the config. */
  readonly server?: object
  /** The server's name in the config. Default: home. */
  readonly serverName?: string
  /** Default: Ann may do all, Bob may prompt. */
  readonly people?: object
  /** More channels of the config, by their names, each with the package of its type. */
  readonly more?: Readonly<
    Record<string, { readonly entry: object; readonly channel: Awaited<ReturnType<LoadChannel>> }>
  >
  /** Called when another process went on without the bridge, and when it stops. */
  readonly onEnd?: () => void
}

export async function startChats(options: {
  readonly platforms: readonly Platform[]
  readonly connectTo: () => Client
  readonly router?: object
}): Promise<Chats> {
  const { platforms, connectTo } = options
  const memory = createStoreMemory()
  const errors: Error[] = []
  const notices: string[] = []
  const idsOf = (who: 'ann' | 'bob'): readonly string[] => platforms.map(({ name, ids }) => `${name}:${ids[who]}`)
  const secrets = Object.assign({}, ...platforms.map((one) => one.secrets))
  const channels = new Map(platforms.map(({ name, channel }) => [name as string, channel]))
  let bridge: Bridge | undefined
  let served: ServedBridge | undefined
  const urlOf = (): string => served?.url ?? ''
  return {
    errors,
    notices,
    start,
    stop,
    setPeople: (people) => bridge?.setPeople(people),
    page: async (request) => {
      if (!bridge) throw new Error('No bridge runs.')
      return await bridge.page(request)
    },
    actOnPage: async (...given) => {
      if (!bridge) throw new Error('No bridge runs.')
      return await bridge.actOnPage(...given)
    },
    get url() {
      return urlOf()
    },
    close: async () => {
      await stop()
      await Promise.all(platforms.map(async (platform) => await platform.close()))
    },
  }

  async function start(given: StartChats = {}): Promise<void> {
    const { clock = systemClock, storeOf = (store) => store, router = options.router ?? {} } = given
    const { observers, routes = {}, mirrors = [], transcribe, web, onEnd, more = {} } = given
    const {
      people = {
        ann: { ids: idsOf('ann'), may: ['prompt', 'approve', 'admin'] },
        bob: { ids: idsOf('bob'), may: ['prompt'] },
      },
    } = given
    bridge = createBridge({
      config: parseConfig({
        servers: { [given.serverName ?? 'home']: { url: 'http://127.0.0.1:1', trustPrompt: true, ...given.server } },
        channels: Object.fromEntries([...platforms, ...named(more)].map(({ name, entry }) => [name, entry])),
        people,
        router: { messagesPerMinute: 1000, ...router },
        routes,
        mirrors,
        ...(transcribe && { transcribe }),
        ...(web && Object.keys(web).length > 0 && { web }),
      }),
      ...{ clock, connectTo },
      observers: [...(observers ?? []), (event) => event.type === 'member' && event.status === 'left' && onEnd?.()],
      store: storeOf(createMemoryStore({ memory, clock: given.storeClock ?? clock })),
      secret: (source) =>
        'env' in source ? ({ ...secrets, WEB_SECRET: 'a secret of more than thirty-two bytes' }[source.env] ?? '') : '',
      load: async (type) => {
        const channel = channels.get(type) ?? named(more).find((one) => one.channel.type === type)?.channel
        if (channel) return channel
        throw new Error(`There is no channel ${type} here.`)
      },
      onError: (error) => errors.push(error),
      onNotice: (notice) => notices.push(notice),
    })
    served = await serveBridge({ bridge, port: 0 })
    await bridge.start()
    await Promise.all(platforms.map(async ({ name, ready }) => await ready(`${urlOf()}/webhooks/${name}`)))
  }

  async function stop(): Promise<void> {
    await bridge?.stop()
    await served?.close()
    bridge = undefined
    served = undefined
  }
}

/** Returns the entries of a table with their names. */
function named<One extends object>(all: Readonly<Record<string, One>>): readonly (One & { readonly name: string })[] {
  return Object.entries(all).map(([name, one]) => ({ ...one, name }))
}
