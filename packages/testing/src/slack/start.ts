import type { Server } from 'node:http'
import { type Clock, realClock } from '../clock.ts'
import { TestingError } from '../error.ts'
import type { SlackChannelOptions, SlackWhisper } from './chat.ts'
import { createDelivery } from './delivery.ts'
import { createFaultPlan, type SlackFault } from './fault.ts'
import { channelNamed, createPeople, type SlackPeople } from './person.ts'
import { createRequests } from './request.ts'
import { type SlackMessage, screenOf } from './screen.ts'
import { createWebApi, type SlackCall } from './server.ts'
import { createSockets } from './socket.ts'
import { createState, type SlackFeatures } from './state.ts'

/** The app, its channels, and what goes wrong. All options may be left out. */
export interface SlackOptions {
  /** The bot's token. Default "xoxb-fake". */
  readonly token?: string
  /** The app's token, for Socket Mode. Default "xapp-fake". */
  readonly appToken?: string
  /** Signs requests to the app. Default "signing-secret". */
  readonly signingSecret?: string
  /** The clock for budgets, lifetimes, delays and retries. Default: the system's. */
  readonly clock?: Clock
  /** The faults to apply. Default: none. */
  readonly faults?: readonly SlackFault[]
  /** The existing channels. Default: any id is a channel. */
  readonly channels?: readonly SlackChannelOptions[]
  /** The features that this workspace has or lacks. */
  readonly features?: SlackFeatures
}

/** A Slack workspace with one app, and the people that the app talks to. */
export interface FakeSlack extends SlackPeople {
  /** The `slackApiUrl` for a WebClient. */
  readonly url: string
  /** The bot's token. */
  readonly token: string
  /** The app's token, for Socket Mode. */
  readonly appToken: string
  /** The secret that requests to the app are signed with. */
  readonly signingSecret: string
  /** The bot's own user, and the workspace. */
  readonly bot: string
  /** The workspace's id: `T…`. */
  readonly team: string
  /** Every call with the right token so far, in order of arrival, whatever the response. */
  readonly calls: readonly SlackCall[]
  /** The number of calls of this method, whatever the response. */
  count(method: string): number
  /** What a person sees in a channel, or in a thread, now: messages in order. */
  screen(channel: string, threadTs?: string): readonly SlackMessage[]
  /** Messages that only one person was shown. */
  readonly whispers: readonly SlackWhisper[]
  /** The bot's texts that mention people or everyone: each would notify. */
  readonly mentions: readonly string[]
  /** How many messages notified there: those in direct messages and threads. Edits and streams don't notify. */
  notifications(channel: string): number
  /** The bot's status in a thread's head; empty if there is none. */
  status(channel: string, threadTs: string): string
  /** The state of the thread's session, such as `processing`. Undefined if there is none. */
  session(channel: string, threadTs: string): string | undefined
  /** Sends events to this URL, or, without one, to the connected sockets. */
  sendTo(url: string | undefined): void
  /** Sends the next event twice: its acknowledgement was lost. */
  repeatNext(): void
  /** How many apps are connected by a socket. */
  readonly sockets: number
  /** Sends that text to them as a frame, whatever it is. */
  pushFrame(text: string): void
  /** Asks them to reconnect. */
  recycle(): void
  /** Adds a fault; it counts calls from now on. */
  inject(fault: SlackFault): void
  /** Calls the observer after each change of a channel. Returns a function that stops it. */
  observe(observer: (channel: string) => void): () => void
  /** Breaks open connections and stops listening. */
  close(): Promise<void>
}

/** Starts a fake Slack on loopback. Several may run at once. */
export async function startSlack(options: SlackOptions = {}): Promise<FakeSlack> {
  const { token = 'xoxb-fake', appToken = 'xapp-fake', signingSecret = 'signing-secret', channels, features } = options
  const { clock = realClock, faults = [] } = options
  const calls: SlackCall[] = []
  const observers = new Set<(channel: string) => void>()
  const stops = new Set<() => void>()
  const plan = createFaultPlan(faults)
  const onChange = (channel: string): void => {
    for (const observer of observers) observer(channel)
  }
  const delivery = createDelivery(clock)
  let address = ''
  const addressOf = (): string => address
  const state = createState({ clock, channels, features, delivery, addressOf, onChange })
  const openSocket = (): string => sockets.open()
  const server = createWebApi({ state, token, appToken, plan, calls, stops, addressOf, openSocket })
  const sockets = createSockets(server, addressOf)
  delivery.setReceiver(sockets.receiver)
  address = `http://127.0.0.1:${await listen(server)}`
  return {
    ...createPeople(state),
    ...{ token, appToken, signingSecret, calls, bot: state.bot, team: state.team },
    url: `${address}/api/`,
    count: (method) => calls.filter((call) => call.method === method).length,
    screen: (channel, threadTs) => screenOf(channelNamed(state, channel), threadTs, clock.now()),
    whispers: state.whispers,
    mentions: state.mentions,
    notifications: (channel) => channelNamed(state, channel).rings,
    status: (channel, threadTs) => {
      const working = channelNamed(state, channel).statuses.get(threadTs)
      return working && working.until > clock.now() ? working.status : ''
    },
    session: (channel, threadTs) => channelNamed(state, channel).sessions.get(threadTs),
    sendTo: (url) =>
      delivery.setReceiver(url === undefined ? sockets.receiver : createRequests({ url, signingSecret, clock })),
    repeatNext: () => delivery.repeatNext(),
    get sockets() {
      return sockets.count
    },
    pushFrame: (text) => sockets.push(text),
    recycle: () => sockets.recycle(),
    inject: (fault) => plan.add(fault),
    observe: (observer) => {
      observers.add(observer)
      return () => observers.delete(observer)
    },
    close: () => {
      delivery.close()
      sockets.close()
      for (const stop of stops) stop()
      return new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
    },
  }
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      if (address !== null && typeof address === 'object') resolve(address.port)
      else reject(new TestingError('slack', 'The fake Slack could not get a port on 127.0.0.1.'))
    })
  })
}
