import { REST } from '@discordjs/rest'
import { discordRestOptions, discordSink } from '@reply/discord'
import type { Sink } from '@reply/sink'
import { slackSink } from '@reply/slack'
import { telegramSink } from '@reply/telegram'
import type { HandClock } from '@reply/testing'
import { startDiscord } from '@reply/testing/discord'
import { startSlack } from '@reply/testing/slack'
import { startTelegram } from '@reply/testing/telegram'
import { createFakeBaileys, startWhatsApp } from '@reply/testing/whatsapp'
import { baileysSink, createCloudClient, whatsappSink } from '@reply/whatsapp'
import { WebClient } from '@slack/web-api'
import { Api } from 'grammy'
import { screenText } from './platforms.ts'

/** One chat, and our sink in it. */
export interface PacedChat {
  readonly sink: Sink
  /** The text that a person sees there. */
  screen(): string
}

interface OpenedChats {
  readonly chats: readonly PacedChat[]
  /** Resolves when no call is in flight and nothing more happens at this time of the clock. */
  untilIdle(): Promise<void>
  rateLimited(): number
  close(): Promise<void>
}

/** A fake platform by a clock, with several chats of one bot. */
export interface PacedPlatform {
  readonly id: string
  readonly name: string
  /** Messages can be edited, so growing text appears as it comes. */
  readonly edits: boolean
  /**
   * The shortest time between two texts of one chat that the platform's own budget allows for that many chats, in ms.
   */
  budgetMs(chats: number): number
  open(clock: HandClock, chats: number): Promise<OpenedChats>
}

const token = '1:bench'

/** Knows how many calls are in flight. */
interface Tracker {
  /** Counts a call until it has settled. Resolves or rejects as it does. */
  track<T>(called: Promise<T>): Promise<T>
  /** Resolves when no call has been in flight for three turns of the event loop: a call is followed by others soon. */
  untilIdle(): Promise<void>
}

/** Returns a tracker of a client's calls, none at first. The hand clock waits until they are over. */
function createTracker(): Tracker {
  let inFlight = 0
  return { track: trackCall, untilIdle }

  /** Counts a call as in flight until it has settled. Resolves or rejects as it does. */
  async function trackCall<T>(called: Promise<T>): Promise<T> {
    inFlight += 1
    try {
      return await called
    } finally {
      inFlight -= 1
    }
  }

  /** Resolves when no call has been in flight for three turns of the event loop. */
  async function untilIdle(): Promise<void> {
    for (let calm = 0; calm < 3; calm = inFlight > 0 ? 0 : calm + 1)
      await new Promise<void>((resolve) => setImmediate(resolve))
  }
}

function times<T>(count: number, make: (index: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, index) => make(index))
}

/**
 * Telegram, whose budget is sends and edits to one chat, 1 a second, in groups 20 a minute. To all chats: 30 a second.
 */
function telegram(kind: 'private' | 'group'): PacedPlatform {
  const perChatMs = kind === 'private' ? 1000 : 3000
  return {
    id: kind === 'private' ? 'telegram' : 'telegram-group',
    name: kind === 'private' ? 'Telegram' : 'Telegram, groups',
    edits: true,
    budgetMs: (chats) => Math.max(perChatMs, (chats * 1000) / 30),
    async open(clock, count) {
      const fake = await startTelegram({ token, clock })
      const { track, untilIdle } = createTracker()
      const api = new Api(token, { apiRoot: fake.url })
      api.config.use((call, method, payload, signal) => track(call(method, payload, signal)))
      const idOf = (index: number): number => (kind === 'private' ? 1001 + index : -1001 - index)
      return {
        chats: times(count, (index) => ({
          sink: telegramSink({ api, chatId: idOf(index), clock }),
          screen: () => screenText(fake.screen(idOf(index))),
        })),
        untilIdle,
        rateLimited: () => fake.calls.filter(({ status }) => status === 429).length,
        close: () => fake.close(),
      }
    },
  }
}

/** 5 edits in 5 s in a channel, 50 calls a second in all. */
const discord: PacedPlatform = {
  id: 'discord',
  name: 'Discord',
  edits: true,
  budgetMs: (chats) => Math.max(1000, (chats * 1000) / 50),
  async open(clock, count) {
    const fake = await startDiscord({ token, clock })
    const { track, untilIdle } = createTracker()
    // The client limits its calls by the machine's clock, and that is slower than this one.
    const options = { ...discordRestOptions, api: fake.url, globalRequestsPerSecond: Number.POSITIVE_INFINITY }
    const real = new REST(options).setToken(token)
    const api = {
      post: (...args: Parameters<REST['post']>) => track(real.post(...args)),
      put: (...args: Parameters<REST['put']>) => track(real.put(...args)),
      patch: (...args: Parameters<REST['patch']>) => track(real.patch(...args)),
      delete: (...args: Parameters<REST['delete']>) => track(real.delete(...args)),
      on: real.on.bind(real),
    }
    const idOf = (index: number): string => `${100_000_000_000_000_001n + BigInt(index)}`
    return {
      chats: times(count, (index) => ({
        sink: discordSink({ rest: api, channelId: idOf(index), clock }),
        screen: () => screenText(fake.screen(idOf(index))),
      })),
      untilIdle,
      rateLimited: () => fake.calls.filter(({ status }) => status === 429).length,
      close: () => fake.close(),
    }
  },
}

/** Slack, whose budget is 100 appends to streams a minute in a workspace. Edits, without streams: 50. */
function slack(delivery: 'native' | 'edit'): PacedPlatform {
  const perMinute = delivery === 'native' ? 100 : 50
  return {
    id: delivery === 'native' ? 'slack' : 'slack-edit',
    name: delivery === 'native' ? 'Slack' : 'Slack, by edits',
    edits: true,
    budgetMs: (chats) => (chats * 60_000) / perMinute,
    async open(clock, count) {
      const fake = await startSlack({ clock })
      const { track, untilIdle } = createTracker()
      const real = new WebClient(fake.token, {
        slackApiUrl: fake.url,
        retryConfig: { retries: 0 },
        rejectRateLimitedCalls: true,
      })
      const api = {
        token: fake.token,
        apiCall: (...args: Parameters<WebClient['apiCall']>) => track(real.apiCall(...args)),
      }
      const places = times(count, (index) => {
        const channelId = `D000000000${index}`
        return { channelId, threadTs: fake.say(channelId, 'Go on.') }
      })
      return {
        chats: places.map((place) => ({
          sink: slackSink({ api, ...place, clock, policy: { delivery } }),
          screen: () => screenText(fake.screen(place.channelId, place.threadTs)),
        })),
        untilIdle,
        rateLimited: () => fake.calls.filter(({ status }) => status === 429).length,
        close: () => fake.close(),
      }
    },
  }
}

/** WhatsApp documents no limits of linked devices: one call in 3 s to a chat and one a second in all count as safe. */
const baileys: PacedPlatform = {
  id: 'baileys',
  name: 'WhatsApp, Baileys',
  edits: true,
  budgetMs: (chats) => Math.max(3000, chats * 1000),
  async open(clock, count) {
    const fake = createFakeBaileys({ clock })
    const { untilIdle } = createTracker()
    const socket = fake.connect()
    // Sinks on the same function share the limits.
    const current = (): typeof socket => socket
    const idOf = (index: number): string => `49170000000${index}@s.whatsapp.net`
    return {
      chats: times(count, (index) => ({
        sink: baileysSink({ socket: current, jid: idOf(index), clock }),
        screen: () => screenText(fake.screen(idOf(index))),
      })),
      untilIdle,
      rateLimited: () => 0,
      close: async () => fake.drop(),
    }
  },
}

/** One message in 6 s to a person. */
const cloud: PacedPlatform = {
  id: 'cloud',
  name: 'WhatsApp, Cloud API',
  edits: false,
  budgetMs: () => 6000,
  async open(clock, count) {
    const fake = await startWhatsApp({ token, clock })
    const { track, untilIdle } = createTracker()
    const client = createCloudClient({
      token,
      phoneNumberId: fake.phoneNumberId,
      apiUrl: fake.url,
      fetch: (...args) => track(fetch(...args)),
    })
    const idOf = (index: number): string => `4917000000${10 + index}`
    return {
      chats: times(count, (index) => ({
        sink: whatsappSink({ client, to: idOf(index), clock }),
        screen: () => screenText(fake.screen(idOf(index))),
      })),
      untilIdle,
      rateLimited: () => fake.calls.filter(({ status }) => status === 429).length,
      close: () => fake.close(),
    }
  },
}

export const pacedPlatforms: readonly PacedPlatform[] = [
  telegram('private'),
  telegram('group'),
  discord,
  slack('native'),
  slack('edit'),
  baileys,
  cloud,
]
