import type { Server } from 'node:http'
import { type Clock, realClock } from '../clock.ts'
import { TestingError } from '../error.ts'
import type { DiscordChannel } from './channel.ts'
import { createEndpoint } from './endpoint.ts'
import { createFaultPlan, type DiscordFault } from './fault.ts'
import { createGateway, type GatewayMood } from './gateway.ts'
import { type DiscordAllowance, type DiscordBucket, limits } from './limits.ts'
import { channelOr, createPerson, type Person } from './person.ts'
import type { DiscordCallName } from './routes/all.ts'
import { type DiscordMessage, screenOf } from './screen.ts'
import { createRest, type DiscordCall } from './server.ts'
import { createState } from './state.ts'

/** The bot, its channels, and what goes wrong. */
export interface DiscordOptions {
  /** The bot's token. */
  readonly token: string
  /** The clock for budgets, lifetimes and ids. Default: the system's. */
  readonly clock?: Clock
  /** The faults to apply. Default: none. */
  readonly faults?: readonly DiscordFault[]
  /** The existing channels. Default: any id is a text channel. */
  readonly channels?: readonly DiscordChannel[]
  /** Overrides for the allowances of calls. */
  readonly allowances?: Partial<Readonly<Record<DiscordBucket, DiscordAllowance>>>
  /** How long a nonce is remembered, in ms. Default 300,000. */
  readonly nonceMs?: number
  /** How often clients of the gateway have to send a heartbeat, in ms. Default 41,250. */
  readonly heartbeatMs?: number
}

/** Discord's REST API and gateway, and the people that the bot talks to. */
export interface FakeDiscord extends Person {
  /** For `new REST({ api })`, and for a `Client`'s `rest`. */
  readonly url: string
  /** The bot's token, as given. */
  readonly token: string
  /** Every call with the right token so far, in order of arrival, whatever the response. */
  readonly calls: readonly DiscordCall[]
  /** The number of calls of this kind, whatever the response. */
  count(name: DiscordCallName): number
  /** What a person in the channel sees now. */
  screen(channelId: string): readonly DiscordMessage[]
  /** The threads of a channel's messages, with names. */
  threads(channelId: string): readonly { readonly id: string; readonly name: string }[]
  /** How many of the bot's messages made a sound there. Edits and silent messages make none. */
  notifications(channelId: string): number
  /**
   * The mentions that the bot's messages there triggered: `@everyone`, `<@123>`; excludes those that `allowed_mentions`
   * suppressed.
   */
  rung(channelId: string): readonly string[]
  /** The names of the bot's commands. */
  readonly commands: readonly string[]
  /** Whether the typing indicator shows there now. */
  typing(channelId: string): boolean
  /** Calls that count towards a ban: 401, 403, and 429 except shared ones. */
  invalidCalls(): number
  /** Adds a fault; it counts calls from now on. */
  inject(fault: DiscordFault): void
  /** Calls the observer after each change of a channel. Returns a function that stops it. */
  observe(observer: (channelId: string) => void): () => void
  /** How many clients are connected to the gateway. */
  readonly connected: number
  /** How many connections to the gateway are open, also those whose client has not identified itself. */
  readonly connections: number
  /** Sends that text to the connected clients as a frame, whatever it is. Nothing about it is kept for a resume. */
  pushFrame(text: string): void
  /** Breaks the gateway's connections, or closes them with that code. After 4004 and 4014, clients may not reconnect. */
  dropGateway(code?: number): void
  /**
   * What clients of the gateway meet from now on. `open`: as usual. A code: it closes a connection that identifies.
   * `silent`: it takes connections and says nothing on any.
   */
  setGateway(mood: GatewayMood): void
  /** Ends the gateway's sessions: clients identify anew, and miss what happens until then. */
  invalidateSessions(): void
  /** The public key for signatures, as the portal shows it. */
  readonly publicKey: string
  /** The headers with which Discord signs a body, now or at the given time. */
  signed(body: string, atMs?: number): Readonly<Record<string, string>>
  /** Sends interactions to this URL from now on. Throws a `TestingError` if it doesn't answer correctly. */
  setEndpoint(url: string): Promise<void>
  /** Breaks open connections and stops listening. */
  close(): Promise<void>
}

/** Starts a fake Discord on loopback. Several may run at once. */
export async function startDiscord(options: DiscordOptions): Promise<FakeDiscord> {
  const {
    token,
    clock = realClock,
    faults = [],
    channels,
    allowances,
    nonceMs = limits.nonceMs,
    heartbeatMs = 41_250,
  } = options
  const calls: DiscordCall[] = []
  const observers = new Set<(channelId: string) => void>()
  const plan = createFaultPlan(faults)
  const onChange = (channelId: string): void => {
    for (const observer of observers) observer(channelId)
  }
  let port = 0
  const cdn = (): string => `http://127.0.0.1:${port}`
  const state = createState({ clock, channels, allowances, nonceMs, cdn, onChange })
  const gatewayUrl = (): string => `ws://127.0.0.1:${port}/gateway`
  const gateway = createGateway({ token, me: state.me, url: gatewayUrl, heartbeatMs })
  const endpoint = createEndpoint(clock)
  const server = createRest({ state, token, plan, calls, gatewayUrl })
  server.on('upgrade', gateway.upgrade)
  port = await listen(server)
  return {
    ...createPerson({ state, gateway, endpoint }),
    url: `http://127.0.0.1:${port}/api`,
    token,
    calls,
    count: (name) => calls.filter((call) => call.name === name).length,
    screen: (channelId) => screenOf(channelOr(state, channelId)),
    threads: (channelId) => state.threads(channelId).map(({ id, name }) => ({ id, name })),
    notifications: (channelId) => channelOr(state, channelId).loud,
    rung: (channelId) => channelOr(state, channelId).rung,
    get commands() {
      return state.commands
    },
    typing: (channelId) => channelOr(state, channelId).typingUntil > clock.now(),
    invalidCalls: () => calls.filter(({ status, code }) => isInvalid(status) && code !== 40062).length,
    inject: (fault) => plan.add(fault),
    observe: (observer) => {
      observers.add(observer)
      return () => observers.delete(observer)
    },
    get connected() {
      return gateway.connected
    },
    get connections() {
      return gateway.connections
    },
    pushFrame: gateway.push,
    dropGateway: gateway.drop,
    setGateway: gateway.set,
    invalidateSessions: gateway.invalidate,
    publicKey: endpoint.publicKey,
    signed: endpoint.signed,
    setEndpoint: endpoint.set,
    close: () => {
      state.interactions.close()
      gateway.close()
      return new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
    },
  }
}

function isInvalid(status: number | undefined): boolean {
  return status === 401 || status === 403 || status === 429
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      if (address !== null && typeof address === 'object') resolve(address.port)
      else reject(new TestingError('discord', 'The fake Discord could not get a port on 127.0.0.1.'))
    })
  })
}
