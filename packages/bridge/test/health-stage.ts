import { connect } from '@reply/core'
import type { BridgeConnection } from '@reply/sink/channel'
import { createHandClock, createRecordedServer, type HandClock, readRecording } from '@reply/testing'
import { type Bridge, createBridge } from '../src/bridge.ts'
import { parseConfig } from '../src/config/parse.ts'
import type { BridgeEvent } from '../src/events/event.ts'
import { bridgeMetrics } from '../src/events/metrics.ts'
import { serveBridge } from '../src/serve-bridge.ts'
import type { Store } from '../src/store/store.ts'
import { createMemoryStore, createStoreMemory } from '../src/testing.ts'

const { bytes } = readRecording({ version: '1.18.33', scenario: 'plain' })
const none = async (): Promise<void> => {}
const never = async (): Promise<never> => await new Promise(() => {})

/** Lets everything go on that waits for no clock. */
export const rest = async (): Promise<void> => await new Promise((resolve) => setImmediate(resolve))

/** A bridge with an address for its health. */
export interface HealthyBridge {
  readonly bridge: Bridge
  readonly get: (path: string) => Promise<readonly [number, string]>
  /** Resolves with the value of a metric, as Prometheus reads it. */
  readonly metric: (name: string) => Promise<string | undefined>
  readonly statuses: readonly string[]
  readonly events: readonly BridgeEvent[]
  readonly notices: readonly string[]
}

/** How a bridge of a stage differs. */
export interface HealthyBridgeChanges {
  readonly store?: (store: Store) => Store
  readonly listens?: BridgeConnection['listens']
  readonly posts?: BridgeConnection['posts']
  readonly stop?: BridgeConnection['stop']
  readonly mirrors?: readonly (readonly string[])[]
}

/** Bridges on one state in memory, each with a webhook channel and an address for health. */
export interface HealthStage {
  readonly clock: HandClock
  readonly open: (changes?: HealthyBridgeChanges) => Promise<HealthyBridge>
  readonly close: () => Promise<void>
}

/** Creates a stage without bridges. */
export function createHealthStage({ mostMembers }: { readonly mostMembers?: number } = {}): HealthStage {
  const clock = createHandClock()
  const memory = createStoreMemory()
  const closes: (() => Promise<void>)[] = []
  return {
    clock,
    open,
    close: async () => {
      for (const close of closes) await close()
    },
  }

  async function open({
    store = (one) => one,
    listens = 'anywhere',
    posts = 'anywhere',
    stop = none,
    mirrors,
  }: HealthyBridgeChanges = {}) {
    const metrics = bridgeMetrics()
    const statuses: string[] = []
    const events: BridgeEvent[] = []
    const notices: string[] = []
    const bridge = createBridge({
      config: parseConfig({
        servers: { home: { url: 'http://127.0.0.1:1' } },
        channels: { own: { type: 'telegram', token: { env: 'TOKEN' } } },
        people: {},
        ...(mirrors && { mirrors }),
      }),
      store: store(createMemoryStore({ memory, clock, mostMembers })),
      connections: {
        own: () => ({
          ...{ listens, posts, check: none },
          ...{ start: none, stop, typing: none, edit: none, post: never, download: never },
          sinkFor: () => never() as never,
          budgets: {},
          webhook: { refuse: () => undefined, take: async () => ({ status: 200 }), maxBytes: 1000 },
        }),
      },
      connectTo: () => connect({ url: 'http://recorded', fetch: createRecordedServer({ bytes }).fetch, clock }),
      observers: [
        metrics.observe,
        (event) => void events.push(event),
        (event) => void (event.type === 'member' && statuses.push(event.status)),
      ],
      onNotice: (notice) => void notices.push(notice),
      clock,
    })
    const served = await serveBridge({ bridge, metrics, port: 0 })
    closes.push(
      () => bridge.stop(),
      () => served.close(),
    )
    const get = async (path: string): Promise<readonly [number, string]> => {
      const response = await fetch(`${served.url}${path}`, path.startsWith('/webhooks') ? { method: 'POST' } : {})
      return [response.status, await response.text()]
    }
    const metric = async (name: string): Promise<string | undefined> =>
      new RegExp(`^reply_bridge_${name} (.*)$`, 'm').exec((await get('/metrics'))[1])?.[1]
    return { bridge, get, metric, statuses, events, notices }
  }
}
