import type { Bubble } from '@reply/sink/channel'
import { createHandClock, type HandClock } from '@reply/testing'
import { type FakeSlack, type SlackOptions, startSlack } from '@reply/testing/slack'
import { SocketModeClient } from '@slack/socket-mode'
import { LogLevel, WebClient } from '@slack/web-api'
import { afterEach } from 'vitest'
import { createSlackPort, renderSlack } from '../src/internal.ts'
import type { SlackPortOptions } from '../src/port.ts'

export { until } from '@reply/testing'

export const token = 'xoxb-very-secret-token'
export const signingSecret = 'very-secret-signature'

const started: FakeSlack[] = []
afterEach(async () => {
  await Promise.all(started.splice(0).map((slack) => slack.close()))
})

/** The real client, created as the README says. */
export function clientOf(slack: FakeSlack, given = token): WebClient {
  const quiet = { logLevel: LogLevel.ERROR, retryConfig: { retries: 0 }, rejectRateLimitedCalls: true }
  return new WebClient(given, { slackApiUrl: slack.url, ...quiet })
}

const nothing = (): void => {}

/** The real client of Socket Mode. */
export function socketOf(slack: FakeSlack, appToken = slack.appToken): SocketModeClient {
  const clientOptions = { slackApiUrl: slack.url, retryConfig: { retries: 0 } }
  const quiet = { getLevel: () => LogLevel.ERROR, setLevel: nothing, setName: nothing }
  const logger = { ...quiet, debug: nothing, info: nothing, warn: nothing, error: nothing }
  return new SocketModeClient({ appToken, clientOptions, logger, autoReconnectEnabled: false })
}

export interface Started {
  readonly slack: FakeSlack
  readonly api: WebClient
  readonly clock: HandClock
}

export async function start(options: Partial<SlackOptions> = {}): Promise<Started> {
  const clock = createHandClock()
  const slack = await startSlack({ token, appToken: 'xapp-very-secret', signingSecret, clock, ...options })
  started.push(slack)
  return { slack, clock, api: clientOf(slack) }
}

export interface Opened extends Started {
  readonly port: ReturnType<typeof createSlackPort>
  /** The thread's first message. */
  readonly root: string
  bubble(source: string, more?: Partial<Bubble>): Bubble
}

export const recipient = { userId: 'U1', teamId: 'T0FAKE' }

/** A thread in a channel. */
export async function open(options: Partial<SlackOptions> = {}, port: Partial<SlackPortOptions> = {}): Promise<Opened> {
  const begun = await start(options)
  const { api, clock, slack } = begun
  const root = slack.say('C1', 'Why?')
  return {
    ...begun,
    root,
    port: createSlackPort({ api, clock, channelId: 'C1', threadTs: root, recipient, ...port }),
    bubble: (source, more) => ({ ...renderSlack(source), source, isPlain: false, buttons: [], ...more }),
  }
}

export const editing = { chat: { id: 'C1' }, signal: new AbortController().signal }
export const posting = { ...editing, silent: false, key: 'k' }

export { ending } from '../../sink/test/ending.ts'
