import { REST } from '@discordjs/rest'
import { steadyClock } from '@reply/core/internal'
import { discordRestOptions } from '@reply/discord'
import { discordConnection } from '@reply/discord/bridge'
import type { BridgeConnection, ChannelHost } from '@reply/sink/channel'
import { slackConnection } from '@reply/slack/bridge'
import { telegramConnection } from '@reply/telegram/bridge'
import { createHandClock, type HandClock } from '@reply/testing'
import { startDiscord } from '@reply/testing/discord'
import { type FakeSlack, startSlack } from '@reply/testing/slack'
import { type FakeTelegram, startTelegram } from '@reply/testing/telegram'
import { startWhatsApp } from '@reply/testing/whatsapp'
import { bridgeChannel as whatsappChannel } from '@reply/whatsapp/bridge'
import { LogLevel, WebClient } from '@slack/web-api'
import { Api } from 'grammy'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { createInFlight } from '../../sink/test/in-flight.ts'
import { createMemberBudgets } from '../src/members/budgets.ts'
import { createMembership } from '../src/members/membership.ts'
import { createMemoryStore, createStoreMemory } from '../src/testing.ts'

/** A process that shares the state. */
interface Member {
  /** The name, the share and the total of each budget of a channel. */
  shares(channel: string): readonly (readonly [string, number, number])[]
  /** Posts in a chat of Slack, and resolves with how long that took, in ms. */
  post(): Promise<number>
  /** Writes in many chats of both platforms, as fast as it may. */
  write(): void
  leave(): Promise<void>
  /** Ends all that it does, and tells no one. */
  kill(): Promise<void>
}

type Chat = Parameters<BridgeConnection['post']>[0]['chat']

/** The connections of one member by channel, and the chats that it writes in. */
type Bots = ReadonlyMap<
  string,
  {
    readonly connection: BridgeConnection
    readonly chats: readonly Chat[]
    /** Whether its messages can be edited. Default: yes. */
    readonly edits?: false
  }
>

const token = '42:secret'
const chatsEach = 20

let clock: HandClock
let telegram: FakeTelegram
let slack: FakeSlack
let memory: ReturnType<typeof createStoreMemory>
let inFlight: ReturnType<typeof createInFlight>
const members: Awaited<ReturnType<typeof joinMember>>[] = []

beforeEach(async () => {
  clock = createHandClock()
  telegram = await startTelegram({ token, clock })
  slack = await startSlack({ token: 'xoxb-secret', clock })
  memory = createStoreMemory()
  inFlight = createInFlight()
})

afterEach(async () => {
  for (const member of members.splice(0)) await member.leave()
  await Promise.all([telegram.close(), slack.close()])
})

const nothing = (): void => {}

const hostOf = (name: string): ChannelHost => ({
  ...{ name, clock, secret: () => token, chats: async () => [], onInbound: nothing },
  onError: (error) => expect.fail(String(error)),
})

/** The chats of a member, by how a platform names the one with a number. */
const chatsOf = (index: number, count: number, toChat: (number: number) => Chat): readonly Chat[] =>
  Array.from({ length: count }, (_, chat) => toChat(1000 + count * index + chat))

/** One bot of Telegram and one app of Slack. */
function telegramAndSlack(index: number): Bots {
  const api = new Api(token, { apiRoot: telegram.url })
  api.config.use(async (call, ...args) => await inFlight.during(async () => await call(...args)))
  const quiet = { logLevel: LogLevel.ERROR, retryConfig: { retries: 0 }, rejectRateLimitedCalls: true }
  const client = new WebClient('xoxb-secret', { slackApiUrl: slack.url, ...quiet })
  const apiCall: WebClient['apiCall'] = async (...args) =>
    await inFlight.during(async () => await client.apiCall(...args))
  const app = { api: { apiCall }, events: 'http', signingSecret: 'very-secret-signature' } as const
  return new Map([
    [
      'tg',
      {
        connection: telegramConnection({ api, updates: 'polling' }, hostOf('tg')),
        chats: chatsOf(index, chatsEach, (number) => ({ id: `${number}`, kind: 'private' })),
      },
    ],
    [
      'slack',
      {
        connection: slackConnection(app, hostOf('slack')),
        chats: chatsOf(index, chatsEach, (number) => ({ id: `C${number}`, kind: 'shared' })),
      },
    ],
  ])
}

/** A member with the real clients of some bots, as a bridge divides their budgets. */
async function joinMember(botsOf: (index: number) => Bots | Promise<Bots> = telegramAndSlack): Promise<Member> {
  const own = steadyClock(clock)
  const index = members.length
  const stopped = new AbortController()
  const bots = await botsOf(index)
  const shared = createMemoryStore({ memory, clock })
  let isDead = false
  const store: typeof shared = {
    ...shared,
    beat: async (request) => await (isDead ? new Promise<never>(nothing) : shared.beat(request)),
  }
  const budgets = createMemberBudgets({
    connections: new Map([...bots].map(([name, { connection }]) => [name, connection])),
    clock: own,
    isHeld: () => membership.isHeld(),
    beat: async () => await membership.beat(),
  })
  const membership = createMembership({
    ...{ store, member: `${index}`, clock: own },
    ...{ onGranted: nothing, onLost: nothing, onExcess: nothing, onWaiting: nothing, onStalled: nothing },
    ...{ onBack: nothing, onJoined: nothing, onLeft: nothing, onBeat: budgets.apply, used: budgets.used },
    request: () => ({ layout: '1', wants: {}, budgets: budgets.request() }),
  })
  const unwatch = store.watch((hint) => (hint === 'frozen' || hint === 'demand') && void membership.beat())
  await membership.join()
  const writing: Promise<void>[] = []
  let isGone = false
  const endWriting = async (): Promise<void> => {
    isGone = true
    stopped.abort()
    await Promise.allSettled(writing)
    unwatch()
  }
  const member: Member = {
    shares: (channel) =>
      budgets.shares().flatMap((one) => (one.channel === channel ? [[one.budget, one.share, one.total] as const] : [])),
    post: async () => {
      const from = clock.now()
      const chat = { id: `C${900 + index}`, kind: 'shared' as const }
      await bots.get('slack')?.connection.post({ chat, text: 'At once.', until: Number.MAX_SAFE_INTEGER })
      return clock.now() - from
    },
    write: () => {
      for (const { connection, chats, edits } of bots.values())
        for (const chat of chats) writing.push(writeIn(connection, chat, stopped.signal, edits))
    },
    leave: async () => {
      if (isGone) return
      await endWriting()
      await membership.leave()
    },
    kill: async () => {
      isDead = true
      await endWriting()
    },
  }
  members.push(member)
  return member
}

/** Posts a message in a chat, and edits it until the signal aborts. Where nothing can be edited, goes on to post. */
async function writeIn(connection: BridgeConnection, chat: Chat, signal: AbortSignal, edits = true): Promise<void> {
  const note = { chat, signal, until: Number.MAX_SAFE_INTEGER }
  const post = async (round: number) => await connection.post({ ...note, text: `Text ${round}.` })
  const [ref] = await post(0)
  for (let round = 1; ref && !signal.aborted; round++)
    await (edits ? connection.edit(ref, { ...note, text: `Text ${round}.` }) : post(round)).catch(nothing)
}

const pass = async (ms: number): Promise<void> => await clock.advance(ms, inFlight.rest)

const edits = (): readonly number[] => slack.calls.flatMap(({ method, at }) => (method === 'chat.update' ? [at] : []))

const refused = (): number => [...telegram.calls, ...slack.calls].filter(({ status }) => status === 429).length

test('a fourth member that joins has a part of every budget of Slack within 2 s, and each idle one can post at once', async () => {
  for (let index = 0; index < 3; index++) {
    await joinMember()
    await pass(3000)
  }
  const fourth = await joinMember()
  await pass(2000)
  for (const [, share, total] of fourth.shares('slack')) expect(share).toBeGreaterThanOrEqual(Math.floor(total / 4))
  expect(fourth.shares('slack')).toHaveLength(9)
  for (const member of members) {
    const posted = member.post()
    await pass(300)
    expect(await posted).toBeLessThanOrEqual(300)
  }
})

test('what idle members do not use goes to one that needs it within 3 s', async () => {
  for (let index = 0; index < 4; index++) await joinMember()
  await pass(4000)
  const [first] = members
  const share = () => first?.shares('slack').find(([budget]) => budget === 'edit')?.[1]
  expect(share()).toBe(12)
  first?.write()
  await pass(3000)
  expect(share()).toBeGreaterThan(20)
})

test('four members under full load get no 429 while one joins, one leaves and one is killed', {
  timeout: 120_000,
}, async () => {
  for (let index = 0; index < 3; index++) {
    const member = await joinMember()
    member.write()
    await pass(2000)
  }
  await pass(20_000)
  const joined = await joinMember()
  joined.write()
  await pass(50_000)
  await members[0]?.leave()
  await pass(20_000)
  await members[1]?.kill()
  ;(await joinMember()).write()
  await pass(80_000)
  expect(refused()).toBe(0)
  const at = edits()
  const most = Math.max(...at.map((end) => at.filter((one) => one > end - 60_000 && one <= end).length))
  expect(most).toBeLessThanOrEqual(49)
  expect(at.length).toBeGreaterThan(90)
})

test('a single member that is killed under full load gets no 429 when it starts again, and goes on as soon as calls no longer count', async () => {
  const killed = await joinMember()
  killed.write()
  await pass(70_000)
  await killed.kill()
  const from = clock.now()
  ;(await joinMember()).write()
  await pass(80_000)
  expect(refused()).toBe(0)
  const waitedMs = (calls: readonly { readonly at: number }[]): number =>
    (calls.find(({ at }) => at > from)?.at ?? Number.POSITIVE_INFINITY) - from
  expect(waitedMs(telegram.calls.filter(({ method }) => method !== 'getUpdates'))).toBeLessThanOrEqual(6000)
  expect(waitedMs(slack.calls)).toBeLessThanOrEqual(5000)
  // It used up the limit of edits. A time is told in steps of 2 s, and a beat comes each second.
  const oldest = edits().find((at) => at > from - 60_500) ?? expect.fail('It made no edits.')
  const next = edits().find((at) => at > from) ?? expect.fail('The next one made no edits.')
  expect(next).toBeLessThanOrEqual(Math.max(oldest + 60_500, from + 4000) + 3100)
})

test('a single member that is killed while it is idle can post on Slack within 5 s when it starts again', async () => {
  await (await joinMember()).post()
  await pass(70_000)
  await members[0]?.kill()
  const posted = (await joinMember()).post()
  await pass(60_000)
  expect(await posted).toBeLessThanOrEqual(5000)
})

/** Counts the calls of clients that use `fetch`. */
function countFetches(): void {
  const { fetch } = globalThis
  vi.stubGlobal('fetch', async (...args: Parameters<typeof fetch>) => await inFlight.during(() => fetch(...args)))
  onTestFinished(() => void vi.unstubAllGlobals())
}

/**
 * Discord's fake takes 50 calls a second. A chat of its own has five edits in 5 s. The chats are so many that none has ten edits: the client
 * holds back further ones by the machine's clock.
 */
async function discordBots() {
  const fake = await startDiscord({ token, clock })
  onTestFinished(fake.close)
  // The client limits its calls by the machine's clock, which is slower than this one.
  const options = { ...discordRestOptions, api: fake.url, globalRequestsPerSecond: Number.POSITIVE_INFINITY }
  const botsOf = (index: number): Bots => {
    const rest = new REST(options).setToken(token)
    const connection = discordConnection({ rest, updates: 'http', publicKey: fake.publicKey }, hostOf('discord'))
    const chats = chatsOf(index, 60, (number) => ({ id: `10000000000000${number}`, kind: 'shared' }))
    return new Map([['discord', { connection, chats }]])
  }
  return { fake, botsOf }
}

/** The Cloud API's fake takes 80 calls a second from one number. A chat of its own has one post in 6 s. */
async function whatsappBots() {
  const fake = await startWhatsApp({ token, clock })
  onTestFinished(fake.close)
  const secret = { env: 'TOKEN' }
  const config = whatsappChannel.schema.parse({
    ...{ type: 'whatsapp', api: 'cloud', phoneNumberId: fake.phoneNumberId, apiUrl: fake.url },
    ...{ token: secret, appSecret: secret, verifyToken: secret },
  })
  const botsOf = async (index: number): Promise<Bots> => {
    const connection = await whatsappChannel.create(config, hostOf('whatsapp'))
    const chats = chatsOf(index, 130, (number) => ({ id: `1555000${number}`, kind: 'private' }))
    return new Map([['whatsapp', { connection, chats, edits: false }]])
  }
  return { fake, botsOf }
}

test.each([
  ['Discord', discordBots, 45],
  ['WhatsApp', whatsappBots, 60],
])(
  'four members of one bot of %s under full load get no 429 while one joins, one leaves and one is killed, and use most of its limit',
  { timeout: 300_000 },
  async (_, start, limit) => {
    countFetches()
    const { fake, botsOf } = await start()
    const writeAtOne = async () => (await joinMember(botsOf)).write()
    for (let index = 0; index < 3; index++) await writeAtOne()
    await pass(4000)
    await writeAtOne()
    await pass(4000)
    await members[0]?.leave()
    await pass(2000)
    await writeAtOne()
    await pass(4000)
    await members[1]?.kill()
    await pass(1000)
    await writeAtOne()
    // What the killed one may have used is free a second after its lease.
    await pass(6000)
    const from = clock.now()
    await pass(10_000)
    const at = fake.calls.map((call) => call.at)
    expect(fake.calls.filter(({ status }) => status !== 200)).toEqual([])
    expect(Math.max(...at.map((end) => at.filter((one) => one > end - 1000 && one <= end).length))).toBeLessThanOrEqual(
      limit,
    )
    expect(at.filter((one) => one >= from).length).toBeGreaterThan(10 * 0.8 * limit)
  },
)

test('a 429 of one member stops the calls of all until its end', { timeout: 60_000 }, async () => {
  for (let index = 0; index < 4; index++) (await joinMember()).write()
  await pass(20_000)
  slack.inject({ type: 'rate-limited', retryAfterS: 30, method: 'chat.update' })
  const isRefused = () => slack.calls.find(({ status }) => status === 429)?.at
  for (let second = 0; second < 70 && isRefused() === undefined; second++) await pass(1000)
  const from = isRefused() ?? expect.fail('No call was refused.')
  await pass(from + 30_000 - clock.now())
  expect(edits().filter((at) => at > from + 250 && at < from + 30_000)).toEqual([])
  expect(refused()).toBe(1)
  await pass(60_000)
  expect(edits().some((at) => at >= from + 30_000)).toBe(true)
})
