import type { Clock } from '@reply/core'
import type { BridgeChannel } from '@reply/sink/channel'
import { createHandClock, type HandClock } from '@reply/testing'
import { type FakeTelegram, startTelegram } from '@reply/testing/telegram'
import { createFakeBaileys, type FakeBaileys } from '@reply/testing/whatsapp'
import { bridgeChannel as whatsapp } from '@reply/whatsapp/bridge'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type BaileysLibrary, connectBaileys } from '../../whatsapp/src/baileys/connection.ts'
import { type Bridge, createBridge } from '../src/bridge.ts'
import { createMirrors } from '../src/config/mirrors.ts'
import { parseConfig } from '../src/config/parse.ts'
import { placeKey } from '../src/place.ts'
import { listenerShard, shardOf } from '../src/state/shard-of.ts'
import { type Store, StoreError } from '../src/store/store.ts'
import { createMemoryStore, createStoreMemory, type StoreMemory } from '../src/testing.ts'
import { telegramOn } from './platforms.ts'
import { storeOfMember, telegramChat } from './shard-rows.ts'
import { type Job, survivingAgent } from './surviving-agent.ts'

const token = '42:secret'
const device = { type: 'whatsapp', api: 'baileys', auth: './login', number: '4915100000000' } as const
/** Private chats of Telegram in different shards, so that both members have some. */
const chats = Array.from({ length: 12 }, (_, index) => index + 1)
/** Private chats of the linked device, which would be in different shards as well. */
const jids = Array.from({ length: 3 }, (_, index) => `${15_550_000_001 + index}@s.whatsapp.net`)

/** A bridge as a process of its own. */
interface Member {
  readonly bridge: Bridge
  /** How many of the shards that members share it has. */
  shards(): number
  /** Whether it has the shard that a chat of Telegram has without mirrors. */
  owns(chat: number): boolean
  /** Whether it may listen to the device. */
  isListener(): boolean
  /** How many calls it made of Telegram's API that post or edit. */
  posts(): number
  /** As after SIGKILL: its timers do not fire, its calls of the store wait forever, and its connection is closed. */
  kill(): void
  /** As after SIGSTOP: the same until it wakes, and its connection stays open. */
  freeze(): void
  /** As after SIGCONT: what waited goes on at once. */
  wake(): void
  /** Cuts it off from the state, and from nothing else. Returns what ends that. */
  cutOff(): () => void
}

let clock: HandClock
let memory: StoreMemory
let telegram: FakeTelegram
let account: FakeBaileys
let agent: ReturnType<typeof survivingAgent>
let members: Member[] = []
let killed: Set<Member>
let errors: Error[] = []
/** What the members did with the device, in order: `<index> connects`, `<index> ends`. */
let deviceLog: string[] = []
/** The jobs that wait, by their prompts. */
let held: Map<string, Job>

beforeEach(async () => {
  clock = createHandClock()
  memory = createStoreMemory()
  held = new Map()
  killed = new Set()
  account = createFakeBaileys({ clock })
  telegram = await startTelegram({ token, clock, chats: chats.map((id) => ({ id, type: 'private', title: `${id}` })) })
  agent = survivingAgent((job) => {
    if (job.text.startsWith('hold')) {
      job.write({ type: 'text', delta: 'Working. ' })
      held.set(job.text, job)
      return
    }
    job.write({ type: 'text', delta: `You said: ${job.text}.` })
    job.end()
  }, clock)
})

afterEach(async () => {
  let areStopped = false
  const living = members.filter((member) => !killed.has(member))
  void Promise.all(living.map(async ({ bridge }) => await bridge.stop())).then(() => {
    areStopped = true
  })
  await passes('they are stopped', () => areStopped)
  await telegram.close()
  const reported = errors
  members = []
  errors = []
  deviceLog = []
  expect(reported).toEqual([])
})

/** The channel of the linked device in one process. `whenAwake` runs something once the process is not frozen. */
function linked(index: number, whenAwake: (run: () => void) => void): BridgeChannel {
  const library: BaileysLibrary = {
    findFile: () => Promise.reject(new Error('There is no file.')),
    login: async () => ({
      number: () => device.number,
      save: async () => {},
      connect: ({ onUpdate }) => {
        deviceLog.push(`${index} connects`)
        const nth = deviceLog.length
        const socket = account.connect()
        socket.ev.on('connection.update', (update) => whenAwake(() => onUpdate(update)))
        const end = (): void => {
          deviceLog.push(`${index} ends`)
          // A socket that was replaced ends no other.
          if (!deviceLog.slice(nth).some((one) => one.endsWith('connects'))) account.drop()
        }
        return { socket, pair: async () => '', end }
      },
    }),
  }
  return { ...whatsapp, create: async (_, host) => connectBaileys(device, host, library) }
}

async function startMember(mirrors: readonly (readonly string[])[] = []): Promise<Member> {
  const index = members.length
  const root = `/member${index}`
  const { store, shards } = storeOfMember({ memory, clock })
  let isFrozen = false
  let isCutOff = false
  /** What runs once it is awake. */
  let waiting: (() => void)[] = []
  const whenAwake = (run: () => void): void => void (isFrozen ? waiting.push(run) : run())
  const awake = async (): Promise<void> => await new Promise((resolve) => whenAwake(resolve))
  const own: Clock = {
    now: clock.now,
    monotonic: clock.monotonic,
    after: (delayMs, run) => clock.after(delayMs, () => whenAwake(run)),
  }
  const alive =
    <Given extends readonly unknown[], Result>(call: (...given: Given) => Promise<Result>) =>
    async (...given: Given): Promise<Result> => {
      await awake()
      if (isCutOff) throw new StoreError('busy', "PostgreSQL can't be reached.")
      const result = await call(...given)
      await awake()
      return result
    }
  const ownStore: Store = {
    ...{ ...store, read: alive(store.read), list: alive(store.list), queue: alive(store.queue) },
    ...{ queues: alive(store.queues), commit: alive(store.commit), release: alive(store.release) },
    leave: alive(store.leave),
    beat: alive(store.beat),
  }
  const platform = telegramOn(telegram)
  const bridge = createBridge({
    config: parseConfig({
      servers: { home: { url: 'http://127.0.0.1:1', trustPrompt: true } },
      channels: { telegram: { ...platform.entry, apiRoot: `${telegram.url}${root}` }, wa: device },
      people: {
        ann: {
          ids: [...chats.map((chat) => `telegram:${chat}`), ...jids.map((jid) => `wa:${jid}`)],
          may: ['prompt', 'approve', 'admin'],
        },
      },
      mirrors,
      router: { messagesPerMinute: 1000, progress: { enabled: false } },
    }),
    ...{ clock: own, store: ownStore },
    connectTo: () => agent.connectTo(awake),
    secret: () => token,
    load: async (type) => (type === 'telegram' ? platform.channel : linked(index, whenAwake)),
    onError: (error) => errors.push(error),
  })
  let isStarted = false
  void bridge.start().then(() => {
    isStarted = true
  })
  const member: Member = {
    bridge,
    shards: () => shards().filter((name) => name !== listenerShard).length,
    owns: (chat) => shards().includes(shardOf(telegramChat(chat), createMirrors([]))),
    isListener: () => shards().includes(listenerShard),
    posts: () => telegram.calls.filter((call) => call.root === root && /Message/.test(call.method)).length,
    kill: () => {
      member.freeze()
      killed.add(member)
      account.drop()
    },
    freeze: () => {
      isFrozen = true
    },
    cutOff: () => {
      isCutOff = true
      return () => {
        isCutOff = false
      }
    },
    wake: () => {
      isFrozen = false
      const all = waiting
      waiting = []
      for (const run of all) run()
    },
  }
  members.push(member)
  await passes('it is started', () => isStarted)
  return member
}

/** Lets time pass until it is so, at most for 60 s. Resolves with how much did, in ms. */
async function passes(what: string, isSo: () => boolean, mostMs = 60_000): Promise<number> {
  const began = clock.now()
  while (!isSo()) {
    if (clock.now() - began >= mostMs)
      throw new Error(`It never happened that ${what}. ${members.map((one) => one.shards())} ${deviceLog}\n${errors}`)
    // Answers over the network take real time.
    for (let turn = 0; turn < 40; turn++) await new Promise((resolve) => setImmediate(resolve))
    await clock.advance(100)
  }
  return clock.now() - began
}

const said = (chat: number): readonly string[] =>
  telegram.screen(chat).flatMap(({ from, text }) => (from === 'bot' ? [text] : []))
const saidOnDevice = (jid: string): readonly string[] =>
  account.screen(jid).flatMap(({ from, text }) => (from === 'me' ? [text] : []))

/** Two members that share the shards. The first one listens. */
async function startTwo(...mirrors: Parameters<typeof startMember>): Promise<readonly [Member, Member]> {
  const first = await startMember(...mirrors)
  const second = await startMember(...mirrors)
  await passes('they share', () => first.shards() === 32 && second.shards() === 32)
  expect([first.isListener(), second.isListener()]).toEqual([true, false])
  return [first, second]
}

/** Writes in all chats. */
function writeInAll(text: string): void {
  for (const chat of chats) telegram.say(chat, `${text} ${chat}`)
  for (const jid of jids) account.say(jid, `${text} ${jid}`, { name: 'Ann' })
}

/** Waits until each chat shows these messages and no others. Expects that the agent heard each once. */
async function answersOnce(...words: readonly string[]): Promise<void> {
  const answers = (place: number | string) => words.map((text) => `You said: ${text} ${place}.`)
  const isAnswered = (place: number | string): boolean => {
    const shown = typeof place === 'number' ? said(place) : saidOnDevice(place)
    return answers(place).every((text) => shown.includes(text))
  }
  const places = [...chats, ...jids]
  await passes('all are answered', () => places.every(isAnswered))
  for (const chat of chats) expect(said(chat)).toEqual(answers(chat))
  for (const jid of jids) expect(saidOnDevice(jid)).toEqual(answers(jid))
  const prompts = words.flatMap((text) => places.map((place) => `${text} ${place}`))
  expect(agent.heard.filter((text) => !text.startsWith('hold')).toSorted()).toEqual(prompts.toSorted())
}

test('both members answer the chats of Telegram, and the one that listens to the device answers its chats', async () => {
  const [first, second] = await startTwo()
  const before = [first.posts(), second.posts()]
  writeInAll('one')
  await answersOnce('one')
  for (const [index, member] of [first, second].entries()) expect(member.posts()).toBeGreaterThan(before[index] ?? 0)
  expect([first, second].map(({ bridge }) => bridge.status())).toMatchObject([
    { state: 'ready', channels: { wa: { status: 'receiving' } } },
    { state: 'ready', channels: { wa: { status: 'elsewhere' } } },
  ])
  expect(deviceLog).toEqual(['0 connects'])
  // Only the one that posts there needs a part of the device's limit.
  const shares = memory.members.shares.filter(({ budget }) => budget.startsWith('wa/'))
  expect(shares).toMatchObject([{ share: 12 }])
})

test('a member that listens to the device is killed: the other one takes the device and its chats over, and goes on with the run', async () => {
  const [first, second] = await startTwo()
  const [jid = ''] = jids
  account.say(jid, 'hold', { name: 'Ann' })
  await passes('the run is shown', () => saidOnDevice(jid).some((text) => text.includes('Working.')))
  const [message] = account.screen(jid).filter(({ from }) => from === 'me')
  first.kill()
  const others = jids.slice(1)
  for (const other of others) account.say(other, 'hello', { name: 'Ann' })
  for (const chat of chats) telegram.say(chat, 'hello')
  expect(await passes('the other one listens', () => second.isListener() && account.isConnected)).toBeLessThan(8000)
  const job = held.get('hold')
  job?.write({ type: 'text', delta: 'Done.' })
  job?.end()
  await passes('the run is over', () => saidOnDevice(jid).some((text) => text.includes('Working. Done.')))
  const answers = () => [...others.map(saidOnDevice), ...chats.map(said)]
  await passes('all are answered', () => answers().every((texts) => texts.length > 0))
  for (const texts of answers()) expect(texts).toEqual(['You said: hello.'])
  const ours = account.screen(jid).filter(({ from }) => from === 'me')
  expect(ours.map(({ id, text }) => [id, text])).toEqual([[message?.id, 'Working. Done.']])
  expect(agent.heard.toSorted()).toEqual(['hold', ...[...others, ...chats].map(() => 'hello')].toSorted())
  expect([second.shards(), deviceLog]).toEqual([64, ['0 connects', '1 connects']])
})

test('a member that stops disconnects the device before another one connects it', async () => {
  const [first, second] = await startTwo()
  writeInAll('one')
  await answersOnce('one')
  let isStopped = false
  void first.bridge.stop().then(() => {
    isStopped = true
  })
  await passes('the other one listens', () => second.isListener() && account.isConnected, 3000)
  await passes('it is stopped', () => isStopped)
  writeInAll('two')
  await answersOnce('one', 'two')
  expect([second.shards(), deviceLog]).toEqual([64, ['0 connects', '0 ends', '1 connects']])
})

test('a member that was frozen while it listened gives the device up, and shares the other chats again', async () => {
  const [first, second] = await startTwo()
  first.freeze()
  await passes('the other one listens', () => second.isListener() && deviceLog.length === 2)
  first.wake()
  await passes('they share again', () => first.shards() === 32 && second.shards() === 32)
  writeInAll('one')
  await answersOnce('one')
  expect([first.isListener(), second.isListener()]).toEqual([false, true])
  expect(deviceLog).toEqual(['0 connects', '1 connects'])
  expect(first.bridge.status()).toMatchObject({ state: 'ready', channels: { wa: { status: 'elsewhere' } } })
  expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining('Another process uses the login')])
  errors = []
})

test('a member that is cut off from the state disconnects the device, and leaves it to the one that has it then', async () => {
  const [first, second] = await startTwo()
  const cutAt = clock.now()
  const endCut = first.cutOff()
  await passes('the other one listens', () => second.isListener() && deviceLog.length === 3)
  writeInAll('one')
  await answersOnce('one')
  // Much longer than a device waits that another one disconnected.
  await passes('a while', () => clock.now() - cutAt > 900_000, 1_000_000)
  endCut()
  await passes('they share again', () => first.shards() === 32 && second.shards() === 32)
  writeInAll('two')
  await answersOnce('one', 'two')
  expect(deviceLog).toEqual(['0 connects', '0 ends', '1 connects'])
  // It goes on polling Telegram, whose other poller ends its polls.
  const expected = /^The state can't be written|^PostgreSQL can't be reached|^Another process polls/
  for (const { message } of errors) expect(message).toMatch(expected)
  errors = []
})

test('a member that is alone and was cut off from the state connects the device again, and answers what was written meanwhile', async () => {
  const first = await startMember()
  const endCut = first.cutOff()
  await passes('it is disconnected', () => !account.isConnected)
  const [jid = ''] = jids
  account.say(jid, 'hello', { name: 'Ann' })
  endCut()
  await passes('it is answered', () => saidOnDevice(jid).length > 0)
  expect([saidOnDevice(jid), deviceLog]).toEqual([['You said: hello.'], ['0 connects', '0 ends', '0 connects']])
  expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining("The state can't be written")])
  errors = []
})

test('a message that a bridge stored whose chats of the device were in the shards that members share is answered', async () => {
  const [jid = ''] = jids
  const place = { channel: 'wa', chat: { id: jid, kind: 'private' as const } }
  const shard = shardOf(place, createMirrors([]))
  const message = {
    ...{ ...place, id: '3A77', actor: { id: jid, name: 'Ann' }, text: `one ${jid}`, files: [], isCommand: false },
    ...{ messageRef: { id: '3A77', postedAt: clock.now() }, receivedAt: clock.now() },
  }
  const store = createMemoryStore({ memory, clock })
  await store.commit([
    { type: 'put', key: 'layout', value: JSON.stringify({ shards: 64, mirrors: [] }) },
    { type: 'enqueue', queue: `inbox/${shard}/${placeKey(place)}`, id: '3A77', value: JSON.stringify(message) },
  ])
  await startTwo()
  await passes('it is answered', () => saidOnDevice(jid).length > 0)
  expect([saidOnDevice(jid), agent.heard]).toEqual([[`You said: one ${jid}.`], [`one ${jid}`]])
  const runs = (await store.list('execution/')).map(({ key }) => key)
  expect(runs).toEqual([expect.stringMatching(/^execution\/listener\//)])
})

test('a chat that mirrors one of the device is answered by the member that listens, in both', async () => {
  const mirrors = jids.map((jid, index) => [`telegram:${chats[index]}`, `wa:${jid}`])
  const [, second] = await startTwo(mirrors)
  const pairs = jids.map((jid, index) => ({ jid, chat: chats[index] ?? 0 }))
  const { jid, chat } = pairs.find((pair) => second.owns(pair.chat)) ?? expect.fail('It would have none of the chats.')
  const before = second.posts()
  telegram.say(chat, 'one')
  const answers = (text: string) => [said(chat), saidOnDevice(jid)].map((texts) => texts.filter((one) => one === text))
  await passes('it is shown in both', () => answers('You said: one.').flat().length === 2)
  account.say(jid, 'two', { name: 'Ann' })
  await passes('it is shown in both', () => answers('You said: two.').flat().length === 2)
  for (const text of ['You said: one.', 'You said: two.']) expect(answers(text)).toEqual([[text], [text]])
  expect([agent.heard, second.posts()]).toEqual([['one', 'two'], before])
})
