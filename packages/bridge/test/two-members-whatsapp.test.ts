import type { Clock } from '@reply/core'
import { withResolvers } from '@reply/sink/internal'
import { createHandClock, type HandClock } from '@reply/testing'
import { type FakeWhatsApp, startWhatsApp } from '@reply/testing/whatsapp'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Bridge, createBridge } from '../src/bridge.ts'
import { createMirrors } from '../src/config/mirrors.ts'
import { parseConfig } from '../src/config/parse.ts'
import type { DeliveryEvent } from '../src/events/event.ts'
import { type ServedBridge, serveBridge } from '../src/serve-bridge.ts'
import { shardOf } from '../src/state/shard-of.ts'
import type { Store } from '../src/store/store.ts'
import { createStoreMemory, type StoreMemory } from '../src/testing.ts'
import { type Balancer, startBalancer } from './balancer.ts'
import { whatsappOn } from './platforms.ts'
import { storeOfMember } from './shard-rows.ts'
import { type Job, survivingAgent } from './surviving-agent.ts'

/** People in different shards, so that both members have some. */
const people = Array.from({ length: 12 }, (_, index) => String(15_550_000_001 + index))

/** A bridge as a process of its own. */
interface Member {
  readonly bridge: Bridge
  /** Where it takes webhooks. */
  readonly url: string
  /** How many leases on shards it has. */
  shards(): number
  /** Whether it has the shard of a person's chat. */
  owns(person: string): boolean
  /** It makes no more calls, and writes nothing. */
  kill(): void
}

let clock: HandClock
let memory: StoreMemory
let whatsapp: FakeWhatsApp
let agent: ReturnType<typeof survivingAgent>
/** Passes all webhooks to `receiver`. */
let balancer: Balancer
let receiver: Member | undefined
let members: Member[] = []
let served: ServedBridge[] = []
let errors: Error[] = []
/** The keys of all facts that the members stored. */
let facts: string[] = []
/** The deliveries that any member reported. */
let deliveries: DeliveryEvent[] = []
/** The jobs that wait, by their prompts. */
let held: Map<string, Job>
/** No member reads the rows of a shard before it resolves. */
let reading: Promise<void>

beforeEach(async () => {
  clock = createHandClock()
  memory = createStoreMemory()
  held = new Map()
  reading = Promise.resolve()
  whatsapp = await startWhatsApp({ token: 'EAA-very-secret', clock })
  agent = survivingAgent((job) => void held.set(job.text, job), clock)
  balancer = await startBalancer(() => (receiver ? [receiver.url] : []))
})

afterEach(async () => {
  let areStopped = false
  void Promise.all(members.map(async ({ bridge }) => await bridge.stop())).then(() => {
    areStopped = true
  })
  await passes('they are stopped', () => areStopped)
  for (const one of served) await one.close()
  balancer.close()
  await whatsapp.close()
  members = []
  served = []
  errors = []
  facts = []
  deliveries = []
  receiver = undefined
})

async function startMember(): Promise<Member> {
  const { store, shards } = storeOfMember({ memory, clock })
  let isDead = false
  const alive =
    <Given extends readonly unknown[], Result>(call: (...given: Given) => Promise<Result>) =>
    async (...given: Given): Promise<Result> =>
      isDead ? await new Promise(() => {}) : await call(...given)
  const ownClock: Clock = {
    ...{ now: clock.now, monotonic: clock.monotonic },
    after: (delayMs, run) => clock.after(delayMs, () => isDead || run()),
  }
  const ownStore: Store = {
    ...store,
    ...{ beat: alive(store.beat), read: alive(store.read) },
    list: alive(async (...given) => {
      await reading
      return await store.list(...given)
    }),
    commit: alive(async (writes, ...more) => {
      facts.push(...writes.flatMap((write) => ('key' in write && write.key.startsWith('fact/') ? [write.key] : [])))
      return await store.commit(writes, ...more)
    }),
  }
  const platform = whatsappOn(whatsapp)
  const bridge = createBridge({
    config: parseConfig({
      servers: { home: { url: 'http://127.0.0.1:1', trustPrompt: true } },
      channels: { whatsapp: platform.entry },
      people: { ann: { ids: people.map((person) => `whatsapp:${person}`), may: ['prompt', 'approve', 'admin'] } },
      // A status would be a message of its own.
      router: { progress: { enabled: false } },
    }),
    ...{ clock: ownClock, store: ownStore },
    connectTo: () => agent.connectTo(async () => {}),
    secret: (source) => ('env' in source && platform.secrets[source.env]) || '',
    load: async () => platform.channel,
    onError: (error) => errors.push(error),
    observers: [(event) => void (event.type === 'delivery' && deliveries.push(event))],
  })
  const serving = await serveBridge({ bridge, port: 0 })
  served.push(serving)
  let isStarted = false
  void bridge.start().then(() => {
    isStarted = true
  })
  const member: Member = {
    ...{ bridge, url: `${serving.url}/webhooks/whatsapp`, shards: () => shards().length },
    owns: (person) =>
      shards().includes(shardOf({ channel: 'whatsapp', chat: { id: person, kind: 'private' } }, createMirrors([]))),
    kill: () => {
      isDead = true
      members = members.filter((one) => one !== member)
    },
  }
  members.push(member)
  await passes('it is started', () => isStarted)
  return member
}

/** Lets time pass until it is so, at most for 60 s. */
async function passes(what: string, isSo: () => boolean): Promise<void> {
  const began = clock.now()
  while (!isSo()) {
    if (clock.now() - began >= 60_000) throw new Error(`It never happened that ${what}.\n${errors}`)
    // Answers over the network take real time.
    for (let turn = 0; turn < 40; turn++) await new Promise((resolve) => setImmediate(resolve))
    await clock.advance(100)
  }
}

async function pass(ms: number): Promise<void> {
  const began = clock.now()
  await passes('a while', () => clock.now() - began >= ms)
}

const said = (person: string): readonly string[] =>
  whatsapp.screen(person).flatMap(({ from, text }) => (from === 'business' ? [text] : []))

/** Two members. One of them owns the person's chat, and that one or the other one gets all webhooks. */
async function startTwo(isOwner: boolean): Promise<string> {
  const first = await startMember()
  const second = await startMember()
  await passes('they share', () => first.shards() === 32 && second.shards() === 32)
  receiver = second
  await whatsapp.setWebhook(balancer.url, 'a-verify-token')
  return people.find((person) => second.owns(person) === isOwner) ?? expect.fail('One of them has all.')
}

/** Sends a prompt, and resolves with a function that ends its run with an answer, two seconds later. */
async function ask(person: string, text: string): Promise<(answer: string) => Promise<void>> {
  whatsapp.say(person, text)
  await passes('the agent hears it', () => held.has(text))
  await pass(2000)
  return async (answer) => {
    const job = held.get(text)
    job?.write({ type: 'text', delta: answer })
    job?.end()
  }
}

test.each([
  ['does not own the chat', false],
  ['owns the chat', true],
])('a status at a member that %s settles a post whose response was lost', async (_, isOwner) => {
  const person = await startTwo(isOwner)
  const answer = await ask(person, 'one')
  whatsapp.inject({ type: 'accept-then-drop', kind: 'text' })
  await answer('The first answer.')
  await passes('it is delivered', () => deliveries.length > 0)
  expect(said(person)).toEqual(['The first answer.'])
  expect(deliveries).toMatchObject([{ shown: 1, undelivered: 0, doubtful: 0 }])
  expect(facts.length > 0).toBe(!isOwner)
})

test('a chat that a status closed is opened by a message, both at a member that does not own it', async () => {
  const person = await startTwo(false)
  const answer = await ask(person, 'one')
  whatsapp.inject({ type: 'undelivered', code: 131047, kind: 'text' })
  await answer('The first answer.')
  const posts = () => whatsapp.calls.filter(({ kind }) => kind === 'text').length
  await passes('it is posted', () => posts() === 1)
  await pass(30_000)
  expect([posts(), said(person)]).toEqual([1, []])
  whatsapp.say(person, 'two')
  const answers = () => said(person).filter((text) => text === 'The first answer.')
  await passes('it is shown', () => answers().length > 0)
  await pass(20_000)
  expect(answers()).toHaveLength(1)
})

test('a process that is alone stores no fact', async () => {
  receiver = await startMember()
  await whatsapp.setWebhook(balancer.url, 'a-verify-token')
  const [person = ''] = people
  const answer = await ask(person, 'one')
  await answer('The first answer.')
  await passes('it is answered', () => said(person).length > 0)
  await pass(5000)
  expect(facts).toEqual([])
})

/** Has a person's prompt answered, and resolves once the answer counts as delivered. Later, Meta reports that it failed. */
async function answerInVain(person: string, afterMs: number): Promise<void> {
  const answer = await ask(person, 'one')
  whatsapp.inject({ type: 'undelivered', code: 131026, afterMs, kind: 'text' })
  await answer('The first answer.')
  await passes('it is delivered', () => deliveries.length > 0)
  expect(deliveries).toMatchObject([{ shown: 1, undelivered: 0 }])
}

const isReported = (): boolean => errors.some((error) => 'type' in error && error.type === 'delivery')
const missing = (person: string): readonly string[] => said(person).filter((text) => text.includes('may be missing'))

test('a late failure at a member that soon takes the chat from a dead owner is told there, once', async () => {
  const person = await startTwo(false)
  const [owner, other] = members
  const from = clock.now()
  await answerInVain(person, 30_000)
  await passes('it is soon reported', () => clock.now() - from > 31_000)
  expect([isReported(), missing(person)]).toEqual([false, []])
  owner?.kill()
  await passes('it is reported', isReported)
  expect(other?.owns(person)).toBe(false)
  await passes('the chat says it', () => missing(person).length > 0)
  await pass(20_000)
  expect(missing(person)).toHaveLength(1)
})

test('a late failure at a process that is alone is told once it has restored the chat', async () => {
  receiver = await startMember()
  await whatsapp.setWebhook(balancer.url, 'a-verify-token')
  const [person = ''] = people
  await answerInVain(person, 40_000)
  receiver.kill()
  const next = await startMember()
  receiver = next
  const { promise, resolve } = withResolvers<void>()
  reading = promise
  await passes('it has the chat', () => next.owns(person))
  await passes('it is reported', isReported)
  expect(facts).toEqual([])
  expect(missing(person)).toEqual([])
  resolve()
  await passes('the chat says it', () => missing(person).length > 0)
  await pass(20_000)
  expect(missing(person)).toHaveLength(1)
})

test('a late failure that its owner told of is not told again by the next owner', async () => {
  const person = await startTwo(false)
  const [owner, other] = members
  await answerInVain(person, 30_000)
  await passes('the chat says it', () => missing(person).length > 0)
  await passes('the answer is stored as missing', () => deliveries.length > 1)
  owner?.kill()
  await passes('the other one has the chat', () => other?.owns(person) === true)
  await pass(20_000)
  expect(missing(person)).toHaveLength(1)
})
