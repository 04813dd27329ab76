import { realClock, type TestClock } from '../clock.ts'
import type { Allowance } from '../platform/budget.ts'
import { createCallLog } from '../platform/calls.ts'
import { createObservers, type FakeHttpPlatform } from '../platform/fake.ts'
import { createFakeServer } from '../platform/server.ts'
import type { FakeDiscordChannel } from './channel.ts'
import { createEndpoint } from './endpoint.ts'
import { type DiscordFault, matchesDiscord } from './fault.ts'
import { createGateway, type GatewayMood } from './gateway.ts'
import type { DiscordBucket } from './limits.ts'
import { createPeople, type DiscordPeople, existingChannel } from './person.ts'
import type { DiscordCallName } from './routes.ts'
import { type DiscordMessage, screenOf } from './screen.ts'
import { createRest, type DiscordCall } from './server.ts'
import { createState } from './state.ts'

/** The bot, its channels, and the faults. */
export interface DiscordOptions {
  /** The bot's token. */
  readonly token: string
  /** The clock for budgets, lifetimes and ids. Default: the system's. */
  readonly clock?: TestClock
  /** The faults to apply. Default: none. */
  readonly faults?: readonly DiscordFault[]
  /** The existing channels. Default: any id is a text channel. */
  readonly channels?: readonly FakeDiscordChannel[]
  /** Overrides for the allowances of calls. */
  readonly allowances?: Partial<Readonly<Record<DiscordBucket, Allowance>>>
  /** How long a nonce is remembered, in ms. Default 300,000. */
  readonly nonceMs?: number
  /** How often clients of the gateway have to send a heartbeat, in ms. Default 41,250. */
  readonly heartbeatMs?: number
}

/** Discord's REST API and gateway, and the people that the bot talks to. */
export interface FakeDiscord
  extends DiscordPeople,
    FakeHttpPlatform<string, DiscordCall, DiscordFault, DiscordMessage, DiscordCallName> {
  /** For `new REST({ api })`, and for a `Client`'s `rest`. */
  readonly url: string
  /** The bot's token, as given. */
  readonly token: string
  /** The threads of a channel's messages, with names. */
  threads(channelId: string): readonly { readonly id: string; readonly name: string }[]
  /**
   * The mentions that the bot's messages there triggered, for example `@everyone` or `<@123>`. Excludes those that
   * `allowed_mentions` suppressed.
   */
  mentions(channelId: string): readonly string[]
  /** The names of the bot's commands. */
  readonly commands: readonly string[]
  /** Whether the typing indicator shows there now. */
  typing(channelId: string): boolean
  /** Calls that count towards a ban: 401, 403, and 429 except shared ones. */
  invalidCalls(): number
  /** How many clients are connected to the gateway. */
  readonly connected: number
  /** How many connections to the gateway are open, including clients that have not identified themselves. */
  readonly connections: number
  /** Sends any text to the connected clients as a frame. It is not kept for a resume. */
  pushFrame(text: string): void
  /**
   * Breaks the gateway's connections, or closes them with that code. After 4004 and 4014, clients may not reconnect.
   */
  dropGateway(code?: number): void
  /**
   * How the gateway treats clients from now on. `open`: as usual. A code: closes the connection when the client
   * identifies itself. `silent`: accepts connections and sends nothing.
   */
  setGateway(mood: GatewayMood): void
  /** Ends the gateway's sessions. Clients identify again, and miss the events until then. */
  invalidateSessions(): void
  /** The public key for signatures, as the portal shows it. */
  readonly publicKey: string
  /** The headers with which Discord signs a body, now or at the given time. */
  signed(body: string, atMs?: number): Readonly<Record<string, string>>
  /** Sends interactions to this URL from now on. Throws a `TestingError` if it doesn't answer correctly. */
  setEndpoint(url: string): Promise<void>
}

/** Starts a fake Discord on loopback. You can start several. */
export async function startDiscord(options: DiscordOptions): Promise<FakeDiscord> {
  const { token, clock = realClock, faults = [], heartbeatMs = 41_250 } = options
  const log = createCallLog<DiscordCall, DiscordFault>(clock, faults, matchesDiscord)
  const { observe, changed } = createObservers<string>()
  const state = createState(options, clock, () => server.origin, changed)
  const gatewayUrl = (): string => `${server.origin.replace(/^http/, 'ws')}/gateway`
  const server = createFakeServer('discord', createRest(state, token, gatewayUrl, log))
  const gateway = createGateway(server.server, gatewayUrl, { token, me: state.me }, heartbeatMs)
  const endpoint = createEndpoint(clock)
  await server.listen()
  return {
    ...createPeople(state, gateway, endpoint),
    url: `${server.origin}/api`,
    token,
    calls: log.calls,
    count: (name) => log.calls.filter((call) => call.name === name).length,
    screen: (channelId) => screenOf(existingChannel(state, channelId)),
    threads: (channelId) => state.threads(channelId).map(({ id, name }) => ({ id, name })),
    notifications: (channelId) => existingChannel(state, channelId).notifications,
    mentions: (channelId) => existingChannel(state, channelId).mentions,
    get commands() {
      return state.commands
    },
    typing: (channelId) => existingChannel(state, channelId).typingUntil > clock.now(),
    invalidCalls: () => log.calls.filter(({ status, code }) => countsTowardsBan(status) && code !== 40062).length,
    inject: log.inject,
    observe,
    get connected() {
      return gateway.connected
    },
    get connections() {
      return gateway.connections
    },
    pushFrame: gateway.pushFrame,
    dropGateway: gateway.dropConnections,
    setGateway: gateway.setMood,
    invalidateSessions: gateway.invalidateSessions,
    publicKey: endpoint.publicKey,
    signed: endpoint.signatureHeaders,
    setEndpoint: endpoint.setUrl,
    close: () => {
      state.interactions.close()
      gateway.close()
      log.close()
      return server.close()
    },
  }
}

/** Whether Discord counts a response with this status as invalid. */
function countsTowardsBan(status: number | undefined): boolean {
  return status === 401 || status === 403 || status === 429
}
