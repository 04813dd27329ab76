import { realClock, type TestClock } from '../clock.ts'
import { createCallLog } from '../platform/calls.ts'
import { createObservers, type FakeHttpPlatform } from '../platform/fake.ts'
import { createFakeServer } from '../platform/server.ts'
import type { FakeSlackChannelOptions, SlackWhisper } from './chat.ts'
import { createRequestReceiver, createSockets } from './delivery.ts'
import { matchesSlack, type SlackFault } from './fault.ts'
import { createPeople, existingChannel, type SlackPeople } from './person.ts'
import { type SlackMessage, screenOf } from './screen.ts'
import { createWebApi, type SlackCall } from './server.ts'
import { createState, type SlackFeatures } from './state.ts'

/** The app, its channels, and the faults. All options may be left out. */
export interface SlackOptions {
  /** The bot's token. Default "xoxb-fake". */
  readonly token?: string
  /** The app's token, for Socket Mode. Default "xapp-fake". */
  readonly appToken?: string
  /** Signs requests to the app. Default "signing-secret". */
  readonly signingSecret?: string
  /** The clock for budgets, lifetimes, delays and retries. Default: the system's. */
  readonly clock?: TestClock
  /** The faults to apply. Default: none. */
  readonly faults?: readonly SlackFault[]
  /** The existing channels. Default: any id is a channel. */
  readonly channels?: readonly FakeSlackChannelOptions[]
  /** The features that this workspace has or lacks. */
  readonly features?: SlackFeatures
}

/** A Slack workspace with one app, and the people that the app talks to. */
export interface FakeSlack extends SlackPeople, FakeHttpPlatform<string, SlackCall, SlackFault, SlackMessage> {
  /** The `slackApiUrl` for a WebClient. */
  readonly url: string
  /** The bot's token. */
  readonly token: string
  /** The app's token, for Socket Mode. */
  readonly appToken: string
  /** The secret that requests to the app are signed with. */
  readonly signingSecret: string
  /** The id of the bot's own user: `U…`. */
  readonly bot: string
  /** The workspace's id: `T…`. */
  readonly team: string
  /** The messages that a person sees in a channel or a thread now, oldest first. */
  screen(channel: string, threadTs?: string): readonly SlackMessage[]
  /** Messages that only one person was shown. */
  readonly whispers: readonly SlackWhisper[]
  /** The bot's texts that mention people or everyone. Each would notify. */
  readonly mentions: readonly string[]
  /** How many messages notified there: those in direct messages and threads. Edits and streams don't notify. */
  notifications(channel: string): number
  /** The bot's status in a thread's head. May be empty. */
  status(channel: string, threadTs: string): string
  /** The state of the thread's session, for example `processing`. Undefined without a session. */
  session(channel: string, threadTs: string): string | undefined
  /** Sends events to this URL, or, without one, to the connected sockets. */
  sendTo(url: string | undefined): void
  /** Sends the next event twice, as if its acknowledgement was lost. */
  repeatNext(): void
  /** How many apps are connected by a socket. */
  readonly sockets: number
  /** Sends any text to them as a frame. */
  pushFrame(text: string): void
  /** Asks them to reconnect. */
  recycle(): void
}

/** Starts a fake Slack on loopback. You can start several. */
export async function startSlack(options: SlackOptions = {}): Promise<FakeSlack> {
  const { token = 'xoxb-fake', appToken = 'xapp-fake', signingSecret = 'signing-secret' } = options
  const { clock = realClock, faults = [] } = options
  const log = createCallLog<SlackCall, SlackFault>(clock, faults, matchesSlack)
  const { observe, changed } = createObservers<string>()
  const addressOf = (): string => server.origin
  const state = createState(options, clock, addressOf, changed)
  const { delivery } = state
  const openSocket = (): string => sockets.createUrl()
  const server = createFakeServer('slack', createWebApi(state, { token, appToken }, log, openSocket))
  const sockets = createSockets(server.server, addressOf)
  delivery.setReceiver(sockets.receiver)
  await server.listen()
  return {
    ...createPeople(state),
    token,
    appToken,
    signingSecret,
    calls: log.calls,
    bot: state.bot,
    team: state.team,
    url: `${server.origin}/api/`,
    count: (method) => log.calls.filter((call) => call.method === method).length,
    screen: (channel, threadTs) => screenOf(existingChannel(state, channel), threadTs, clock.now()),
    whispers: state.whispers,
    mentions: state.mentions,
    notifications: (channel) => existingChannel(state, channel).notifications,
    status: (channel, threadTs) => {
      const working = existingChannel(state, channel).statuses.get(threadTs)
      return working && working.until > clock.now() ? working.status : ''
    },
    session: (channel, threadTs) => existingChannel(state, channel).sessions.get(threadTs),
    sendTo: (url) =>
      delivery.setReceiver(url === undefined ? sockets.receiver : createRequestReceiver(url, signingSecret, clock)),
    repeatNext: () => delivery.repeatNext(),
    get sockets() {
      return sockets.count
    },
    pushFrame: (text) => sockets.pushFrame(text),
    recycle: () => sockets.recycle(),
    inject: log.inject,
    observe,
    close: () => {
      delivery.close()
      sockets.close()
      log.close()
      return server.close()
    },
  }
}
