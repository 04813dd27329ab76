import type { Client, Clock } from '@reply/core'
import { askDigest } from '@reply/core/internal'
import { withResolvers } from '@reply/sink/internal'
import { createHandClock, type HandClock } from '@reply/testing'
import { type FakeTelegram, startTelegram } from '@reply/testing/telegram'
import type { PageAccess, PageRun } from '@reply/web'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Bridge, createBridge } from '../src/bridge.ts'
import { createMirrors } from '../src/config/mirrors.ts'
import { parseConfig } from '../src/config/parse.ts'
import type { AskEvent } from '../src/events/event.ts'
import { type ServedBridge, serveBridge } from '../src/serve-bridge.ts'
import { keyInShard, shardLeasePrefix, shardOf } from '../src/state/shard-of.ts'
import { type Store, StoreError } from '../src/store/store.ts'
import { createMemoryStore, createStoreMemory, type StoreMemory } from '../src/testing.ts'
import { texts } from '../src/texts.ts'
import { type Balancer, startBalancer } from './balancer.ts'
import { touching } from './local-agent.ts'
import { telegramOn } from './platforms.ts'
import { storeOfMember, telegramChat } from './shard-rows.ts'
import { type Job, survivingAgent } from './surviving-agent.ts'

const token = '42:secret'
const secretToken = 'shared'
/** Private chats in different shards, so that both members have some. */
const chats = Array.from({ length: 12 }, (_, index) => index + 1)
/** Groups that become supergroups, with other shards. */
const groups = Array.from({ length: 12 }, (_, index) => ({ group: -21 - index, supergroup: -1021 - index }))
const shardOfChat = (chat: number): string => shardOf(telegramChat(chat), createMirrors([]))

/** A bridge as a process of its own. */
interface Member {
  readonly bridge: Bridge
  /** Where it takes webhooks. */
  readonly url: string
  /** How many leases on shards it has. */
  shards(): number
  /** Whether it has the shard of a chat. */
  owns(chat: number): boolean
  /** How many shards it released since its start. */
  released(): number
  /** How many calls it made of Telegram's API. */
  calls(): number
  /** As after SIGSTOP: its timers do not fire, its calls of the store wait, and it takes no webhook. */
  freeze(): void
  /** As after SIGCONT: what waited goes on at once. */
  wake(): void
  readonly isFrozen: boolean
  /** Whether it can't reach the store, which others can. */
  isCutOff: boolean
  /** Whether it has asked for leases on shards. */
  hasAskedForShards: boolean
  /** Whether its last beat asked for some. */
  wantsShards: boolean
  /** Called before each call of the store. */
  onStoreCall: () => void
  /** Returns until when a call of the store waits: a read of a key, or a commit of writes in JSON. */
  slows: ((call: 'read' | 'commit', what: string) => Promise<void> | undefined) | undefined
  /** Called right before a prompt is checked the last time, and posted. That waits for it. */
  beforePost: (() => Promise<void>) | undefined
}

let clock: HandClock
let memory: StoreMemory
let telegram: FakeTelegram
let agent: ReturnType<typeof survivingAgent>
let balancer: Balancer
let turn = 0
let members: Member[] = []
let served: ServedBridge[] = []
let errors: Error[] = []
/** The member that gets each request first. Default: they take turns. */
let receiver: Member | undefined
/** All writes of all members. */
let written: string[] = []
/** What was allowed. */
let allowed: unknown[] = []
/** Called when the agent takes an answer. */
let onAllowed: () => void
/** The config of the pages of runs. Default: there are none. */
let web: object | undefined
/** The ends of asks that any member reported. */
let askEnds: AskEvent[] = []
/** The jobs that wait, by their prompts. */
let held: Map<string, Job>
/** The sessions of the jobs, oldest first. */
let sessions: string[] = []

beforeEach(async () => {
  clock = createHandClock()
  onAllowed = () => {}
  memory = createStoreMemory()
  held = new Map()
  telegram = await startTelegram({
    ...{ token, clock },
    chats: [
      ...chats.map((id) => ({ id, type: 'private', title: `${id}` }) as const),
      ...groups.map(({ group }) => ({ id: group, type: 'group', title: 'Shop' }) as const),
      ...groups.map(({ supergroup }) => ({ id: supergroup, type: 'supergroup', title: 'Shop' }) as const),
    ],
  })
  agent = survivingAgent((job) => {
    sessions.push(job.sessionID)
    if (job.text.startsWith('hold') || job.text === 'join') {
      if (job.text !== 'join') job.write({ type: 'text', delta: 'Working. ' })
      held.set(job.text, job)
      return
    }
    if (job.text === 'touch') {
      held.set(job.text, job)
      job.write(touching.call)
      job.ask({ ...touching.ask, requestID: `per_${sessions.length}` }, (answer) => {
        allowed.push(answer)
        onAllowed()
        setImmediate(() => job.end())
      })
      return
    }
    job.write({ type: 'text', delta: `You said: ${job.text}.` })
    job.end()
  }, clock)
  balancer = await startBalancer(targets)
  await fetch(`${telegram.url}/bot${token}/setWebhook`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ url: balancer.url, secret_token: secretToken }),
  })
})

afterEach(async () => {
  for (const member of members) member.wake()
  const stopping = Promise.all(members.map(async ({ bridge }) => await bridge.stop()))
  let areStopped = false
  const stopped = stopping.finally(() => {
    areStopped = true
  })
  try {
    await Promise.all([stopped, passes('they are stopped', () => areStopped)])
    expect(errors).toEqual([])
  } finally {
    // The next test begins anew, also after one whose members can't stop.
    for (const one of served) await one.close()
    balancer.close()
    await telegram.close()
    members = []
    served = []
    errors = []
    receiver = undefined
    web = undefined
    allowed = []
    askEnds = []
    written = []
    sessions = []
  }
})

/** The addresses of the members that are awake, the one that gets the next webhook first. */
function targets(): readonly string[] {
  turn = receiver ? members.indexOf(receiver) : turn + 1
  return members
    .map((_, nth) => members[(turn + nth) % members.length])
    .flatMap((member) => (member && !member.isFrozen ? [member.url] : []))
}

/** Starts a member. Rejects if its start does. */
async function startMember(ownToken = token): Promise<Member> {
  const root = `/member${members.length}`
  // Not those of a later test, if this member outlives its own.
  const ownErrors = errors
  const { store, shards } = storeOfMember({ memory, clock })
  let released = 0
  let isFrozen = false
  /** Resolves when it is awake. */
  let awake: Promise<void> | undefined
  let endFreeze = (): void => {}
  const waiting: (() => void)[] = []
  const own: Clock = {
    now: clock.now,
    monotonic: clock.monotonic,
    after: (delayMs, run) => clock.after(delayMs, () => (isFrozen ? void waiting.push(run) : run())),
  }
  const whenAwake =
    <Given extends readonly unknown[], Result>(call: (...given: Given) => Promise<Result>) =>
    async (...given: Given): Promise<Result> => {
      member.onStoreCall()
      await awake
      if (member.isCutOff) throw new StoreError('busy', 'The store can’t be reached.')
      return await call(...given)
    }
  const ownStore: Store = {
    ...{ ...store, list: whenAwake(store.list), queue: whenAwake(store.queue), queues: whenAwake(store.queues) },
    read: whenAwake(async (key) => {
      await member.slows?.('read', key)
      return await store.read(key)
    }),
    commit: whenAwake(async (writes, ...more) => {
      await member.slows?.('commit', JSON.stringify(writes))
      written.push(JSON.stringify(writes))
      return await store.commit(writes, ...more)
    }),
    release: whenAwake(async (lease) => {
      if (lease.name.startsWith(shardLeasePrefix)) released += 1
      // As over a network: one release is done after the other, and other calls come between them.
      for (let turn = 0; turn < released; turn++) await new Promise((resolve) => setImmediate(resolve))
      await store.release(lease)
    }),
    leave: whenAwake(store.leave),
    beat: whenAwake(async (request) => {
      member.wantsShards = (request.wants.shard ?? []).length > 0
      member.hasAskedForShards ||= member.wantsShards
      return await store.beat(request)
    }),
  }
  const platform = telegramOn(telegram)
  const bridge = createBridge({
    config: parseConfig({
      servers: { home: { url: 'http://127.0.0.1:1', trustPrompt: true } },
      channels: {
        telegram: {
          ...{ ...platform.entry, apiRoot: `${telegram.url}${root}`, updates: 'webhook' },
          secretToken: { env: 'SECRET' },
        },
      },
      people: { ann: { ids: chats.map((chat) => `telegram:${chat}`), may: ['prompt', 'approve', 'admin'] } },
      router: { messagesPerMinute: 1000 },
      ...(web && { web }),
    }),
    ...{ clock: own, store: ownStore },
    connectTo: () =>
      withBeforePost(
        agent.connectTo(async () => await awake),
        async () => await member.beforePost?.(),
      ),
    secret: (source) => {
      if ('env' in source && source.env === 'WEB') return 'a secret of more than thirty-two bytes'
      return 'env' in source && source.env === 'SECRET' ? secretToken : ownToken
    },
    load: async () => platform.channel,
    onError: (error) => ownErrors.push(error),
    observers: [(event) => void (event.type === 'ask' && event.phase !== 'asked' && askEnds.push(event))],
  })
  const serving = await serveBridge({ bridge, port: 0 })
  served.push(serving)
  let isStarted = false
  const starting = bridge.start().finally(() => {
    isStarted = true
  })
  starting.catch(() => {})
  const member: Member = {
    ...{ bridge, url: `${serving.url}/webhooks/telegram` },
    shards: () => shards().length,
    owns: (chat) => shards().includes(shardOfChat(chat)),
    released: () => released,
    calls: () => telegram.calls.filter((call) => call.root === root).length,
    freeze: () => {
      isFrozen = true
      awake = new Promise((resolve) => {
        endFreeze = resolve
      })
    },
    wake: () => {
      if (!isFrozen) return
      isFrozen = false
      awake = undefined
      endFreeze()
      for (const run of waiting.splice(0)) run()
    },
    get isFrozen() {
      return isFrozen
    },
    isCutOff: false,
    hasAskedForShards: false,
    wantsShards: false,
    onStoreCall: () => {},
    slows: undefined,
    beforePost: undefined,
  }
  members.push(member)
  await passes('it is started', () => isStarted, 60_000)
  await starting
  return member
}

/** Makes the client wait for `wait` right before it checks a prompt the last time, stores that it is posted, and posts it. */
function withBeforePost(client: Client, wait: () => Promise<void>): Client {
  return {
    ...client,
    prompt: (input, { onPosting, ...options } = {}) => {
      const onPostingLater: typeof onPosting = async (posted) => {
        await wait()
        await onPosting?.(posted)
      }
      return client.prompt(input, { ...options, onPosting: onPostingLater })
    },
  }
}

/** Lets time pass until it is so, at most for 30 s. Resolves with how much did, in ms. */
async function passes(what: string, isSo: () => boolean, mostMs = 30_000): Promise<number> {
  const began = clock.now()
  while (!isSo()) {
    if (clock.now() - began >= mostMs)
      throw new Error(`It never happened that ${what}. ${members.map((one) => one.shards())}\n${errors}`)
    // Answers over the network take real time.
    await new Promise((resolve) => setTimeout(resolve, 1))
    for (let turn = 0; turn < 40; turn++) await new Promise((resolve) => setImmediate(resolve))
    await clock.advance(100)
  }
  return clock.now() - began
}

const said = (chat: number): readonly string[] =>
  telegram.screen(chat).flatMap(({ from, text }) => (from === 'bot' ? [text] : []))

/** Two members that share the shards. */
async function startTwo(): Promise<readonly [Member, Member]> {
  const first = await startMember()
  expect(first.shards()).toBe(64)
  const second = await startMember()
  const tookMs = await passes('they share', () => first.shards() === 32 && second.shards() === 32)
  expect(tookMs).toBeLessThan(6000)
  expect([first.released(), second.released()]).toEqual([32, 0])
  return [first, second]
}

/** Writes in all chats, and waits until each is answered. */
async function writeInAll(text: string): Promise<void> {
  for (const chat of chats) telegram.say(chat, `${text} ${chat}`)
  await passes('all are answered', () => chats.every((chat) => said(chat).includes(`You said: ${text} ${chat}.`)))
}

/** Expects that each message was answered once, and nothing else was said. */
function expectOnce(...texts: readonly string[]): void {
  for (const chat of chats) expect(said(chat)).toEqual(texts.map((text) => `You said: ${text} ${chat}.`))
  const prompts = texts.flatMap((text) => chats.map((chat) => `${text} ${chat}`))
  expect(agent.heard.toSorted()).toEqual(prompts.toSorted())
}

/** Begins a run in a chat of a member. Returns the chat, and the id of the message that shows the run. */
async function beginRun(member: Member): Promise<{ readonly chat: number; readonly messageID: number }> {
  const chat = chats.find(member.owns) ?? expect.fail('It has none of the chats.')
  telegram.say(chat, 'hold')
  await passes('the run is shown', () => said(chat).some((text) => text.includes('Working.')))
  const [message] = telegram.screen(chat).filter(({ from }) => from === 'bot')
  return { chat, messageID: message?.messageId ?? 0 }
}

/** Ends the run, and expects that the message of before shows it. */
async function endRun({ chat, messageID }: Awaited<ReturnType<typeof beginRun>>): Promise<void> {
  const job = held.get('hold')
  job?.write({ type: 'text', delta: 'Done.' })
  job?.end()
  await passes('the run is over', () => said(chat).some((text) => text.includes('Working. Done.')))
  const messages = telegram.screen(chat).filter(({ from }) => from === 'bot')
  expect(messages.map(({ messageId, text }) => [messageId, text])).toEqual([[messageID, 'Working. Done.']])
}

test('two bridges share the shards, and each message is answered once, by the owner of its chat', async () => {
  const [first, second] = await startTwo()
  const before = [first.calls(), second.calls()]
  for (const member of [first, second]) expect(chats.some(member.owns)).toBe(true)
  await writeInAll('one')
  await writeInAll('two')
  expectOnce('one', 'two')
  for (const [index, member] of [first, second].entries()) expect(member.calls()).toBeGreaterThan(before[index] ?? 0)
  expect([first.shards(), second.shards()]).toEqual([32, 32])
})

test.each([
  ['in a private chat', 'the owner', true],
  ['in a group', 'the owner', true],
  ['in a group', 'the other one', false],
])(
  'an album %s whose messages arrive at both bridges, first at %s, is one prompt, in its order',
  async (where, _, isFirst) => {
    const [owner, other] = await startTwo()
    const isGroup = where === 'in a group'
    const all = isGroup ? groups.map(({ supergroup }) => supergroup) : chats
    const chat = all.find(owner.owns) ?? expect.fail('It has none of the chats.')
    const bytes = new TextEncoder().encode('A')
    const send = (text: string, name: string): void =>
      void telegram.say(chat, text, {
        ...{ from: { id: 1, name: 'Ann' }, albumId: 'album' },
        file: { kind: 'document', name, mime: 'text/plain', bytes },
      })
    receiver = isFirst ? owner : other
    send(isGroup ? '@fake_bot one' : 'one', 'a.txt')
    await passes('the first message is taken', () => written.some((row) => /one\\"/.test(row)))
    receiver = isFirst ? other : owner
    // Only the first message of an album has its caption, and so the mention.
    for (const name of ['b.txt', 'c.txt']) send('', name)
    await passes('it is answered', () => said(chat).length > 0)
    expect(said(chat)).toEqual(['You said: one.'])
    expect(agent.heardFiles).toEqual([['a.txt', 'b.txt', 'c.txt']])
  },
)

test('a bridge whose token is refused asks for no shard, and says why', async () => {
  const first = await startMember()
  await expect(startMember('43:wrong')).rejects.toThrow("Telegram rejected the bot's token (401)")
  const [, second] = members
  expect([second?.hasAskedForShards, second?.bridge.status().state]).toEqual([false, 'stopped'])
  await writeInAll('one')
  expect([first.shards(), first.released()]).toEqual([64, 0])
})

test('a bridge whose platform does not answer takes its shards, and starts in the end', async () => {
  telegram.inject({ type: 'stall', method: 'getMe', times: 2 })
  const began = clock.now()
  const starting = startMember()
  await passes('it has the shards', () => members[0]?.shards() === 64)
  expect(clock.now() - began).toBeLessThanOrEqual(2500)
  const first = await starting
  expect(first.bridge.status().state).toBe('ready')
})

test('a bridge that stops hands its shards over, and the other one goes on with its run in the same message', async () => {
  const [first, second] = await startTwo()
  const run = await beginRun(first)
  let isStopped = false
  void first.bridge.stop().then(() => {
    isStopped = true
  })
  await passes('it is stopped', () => isStopped)
  await passes('the other one has all shards', () => second.shards() === 64, 2000)
  expect(first.shards()).toBe(0)
  await endRun(run)
  expect(agent.heard).toEqual(['hold'])
})

test('a bridge that stops says that it wants no shards before it releases them, so that others can have them at once', async () => {
  const [first] = await startTwo()
  let isStopped = false
  const early: number[] = []
  first.onStoreCall = () => {
    if (first.wantsShards && first.released() > 32) early.push(first.released())
  }
  void first.bridge.stop().then(() => {
    isStopped = true
  })
  await passes('it is stopped', () => isStopped)
  expect([first.released(), early]).toEqual([64, []])
})

/** Has a member stop while a chat waits for a call that takes long, so that it keeps the chat's shard for a while. */
async function stopWaiting(member: Member, chat: number, write: () => void): Promise<void> {
  telegram.inject({ type: 'delay', delayMs: 3000, method: /^(send|edit).*Message/ })
  write()
  const writtenAt = clock.now()
  await passes('the chat lacks a text', () => clock.now() - writtenAt >= 500)
  void member.bridge.stop()
  await passes('it gave back the idle shards', () => member.shards() < 4)
  expect(member.owns(chat)).toBe(true)
}

test('a press at another bridge reaches one that stops, as long as that has the chat', async () => {
  const [first, second] = await startTwo()
  const chat = chats.find(first.owns) ?? expect.fail('It has none of the chats.')
  const messageID = await beginAsk(chat)
  await stopWaiting(first, chat, () => held.get('touch')?.write({ type: 'text', delta: 'More.' }))
  receiver = second
  const pressed = telegram.press(chat, messageID, 'Allow once', { from: { id: chat, name: 'Ann' } })
  await passes('the person is told', () => pressed.status !== 'waiting', 500)
  expect([pressed.text, allowed, first.owns(chat)]).toEqual(['✅ once', [{ type: 'once' }], true])
})

test('a /stop at another bridge reaches one that stops, as long as that has the chat', async () => {
  const [first, second] = await startTwo()
  const { chat } = await beginRun(first)
  await stopWaiting(first, chat, () => held.get('hold')?.write({ type: 'text', delta: 'More.' }))
  receiver = second
  telegram.say(chat, '/stop')
  await passes('the run is stopped', () => agent.canceled.includes('hold'), 500)
  expect(first.owns(chat)).toBe(true)
})

test('a bridge that freezes loses its shards, makes no call for them when it wakes, and takes its share again', async () => {
  const [first, second] = await startTwo()
  const run = await beginRun(first)
  first.freeze()
  const tookMs = await passes('the other one has all shards', () => second.shards() === 64)
  expect(tookMs).toBeLessThan(6000)
  const before = first.calls()
  // The frozen one hears of it, too.
  await endRun(run)
  first.wake()
  await passes('they share again', () => first.shards() === 32 && second.shards() === 32)
  expect([first.calls(), first.bridge.status().state]).toEqual([before, 'ready'])
  await endsAs(run)
  await writeInAll('after')
  expect(agent.heard.toSorted()).toEqual(['hold', ...chats.map((chat) => `after ${chat}`)].toSorted())
})

test('the answer to a message that steered is shown, also if both runs end before another bridge takes the chat over', async () => {
  const [first, second] = await startTwo()
  const { chat } = await beginRun(first)
  telegram.say(chat, '/steer join')
  await passes('the agent has it', () => held.has('join'))
  first.freeze()
  held.get('hold')?.end()
  const joined = held.get('join')
  joined?.write({ type: 'text', delta: 'Joined.' })
  joined?.end()
  await passes('the other one has all shards', () => second.shards() === 64)
  await passes('it is shown', () => said(chat).some((text) => text.includes('Joined.')))
  expect([said(chat), agent.heard]).toEqual([
    ['Working.', texts.steered, 'Joined.'],
    ['hold', 'join'],
  ])
})

test('the answer to a message that steered is shown, also if another bridge takes over before that of the run is', async () => {
  const [first, second] = await startTwo()
  const { chat } = await beginRun(first)
  telegram.say(chat, '/steer join')
  await passes('the agent has it', () => held.has('join'))
  telegram.inject({ type: 'stall', method: /^editMessage/ })
  const joined = held.get('join')
  held.get('hold')?.end()
  joined?.write({ type: 'text', delta: 'Joined.' })
  joined?.end()
  await passes('it is about to be shown', () => telegram.calls.some(({ method }) => method.startsWith('editMessage')))
  first.freeze()
  await passes('the other one has all shards', () => second.shards() === 64)
  await passes('it is shown', () => said(chat).some((text) => text.includes('Joined.')))
  expect(said(chat).filter((text) => text.includes('Joined.'))).toHaveLength(1)
})

test('what a run without a prompt asks is shown by the bridge that takes its chat over', async () => {
  const first = await startMember()
  const chat = chats[0] ?? expect.fail('There are no chats.')
  telegram.say(chat, 'hello')
  await passes('it is answered', () => said(chat).includes('You said: hello.'))
  first.freeze()
  const woken = agent.wake()
  woken.write(touching.call)
  woken.ask({ ...touching.ask, always: [] }, () => {})
  const second = await startMember()
  await passes('the other one has all shards', () => second.shards() === 64)
  const labels = () => telegram.screen(chat).flatMap(({ buttons }) => buttons.flat().map(({ text }) => text))
  await passes('it is asked', () => labels().includes('Allow once'))
  expect(labels().filter((label) => label === 'Allow once')).toHaveLength(1)
  woken.end()
})

/** Expects that the message of a run stays as it was. */
async function endsAs({ chat, messageID }: Awaited<ReturnType<typeof beginRun>>): Promise<void> {
  const began = clock.now()
  await passes('a while', () => clock.now() - began > 5000)
  const messages = telegram.screen(chat).filter(({ from }) => from === 'bot')
  expect(messages.map(({ messageId, text }) => [messageId, text])).toEqual([[messageID, 'Working. Done.']])
}

/** Has the agent ask in a chat, and resolves with the id of the message that has the buttons. */
async function beginAsk(chat: number): Promise<number> {
  telegram.say(chat, 'touch')
  const asking = () =>
    telegram.screen(chat).find(({ buttons }) => buttons.flat().some(({ text }) => text === 'Allow once'))
  await passes('it asks', () => asking() !== undefined)
  return asking()?.messageId ?? 0
}

test.each([
  ['owns its chat', 0],
  ['does not own its chat', 1],
])('a press at a member that %s answers the ask once, within half a second', async (_, index) => {
  const both = await startTwo()
  const chat = chats.find(both[0].owns) ?? expect.fail('It has none of the chats.')
  const messageID = await beginAsk(chat)
  const buttons = telegram.screen(chat).flatMap((message) => message.buttons.flat())
  const tokens = buttons.flatMap(({ data }) => (data === undefined ? [] : [data]))
  receiver = both[index]
  const from = { id: chat, name: 'Ann' }
  const pressed = telegram.press(chat, messageID, 'Allow once', { from })
  expect(await passes('it is allowed', () => allowed.length > 0)).toBeLessThanOrEqual(500)
  await passes('the person is told', () => pressed.status !== 'waiting')
  expect(pressed.text).toBe('✅ once')
  expect(allowed).toEqual([{ type: 'once' }])
  await passes('the chat names the person', () => said(chat).some((text) => text.includes('✅ Allow once · Ann')))
  expect(askEnds).toMatchObject([
    { phase: 'answered', actorID: String(chat), actorChannel: 'telegram', decision: 'once' },
  ])
  expect(tokens.length).toBeGreaterThan(1)
  for (const token of tokens) expect(written.join()).not.toContain(token.split('.')[0])
})

test('a request names who answered it, also if its owner is frozen before it hears that the answer was taken', async () => {
  const [owner, other] = await startTwo()
  const chat = chats.find(owner.owns) ?? expect.fail('It has none of the chats.')
  const messageID = await beginAsk(chat)
  onAllowed = owner.freeze
  receiver = other
  telegram.press(chat, messageID, 'Allow once', { from: { id: chat, name: 'Ann' } })
  await passes('the other one has the chat', () => other.owns(chat))
  await passes('the request is closed', () => said(chat).some((text) => /Answered by Ann/.test(text)))
  expect(allowed).toEqual([{ type: 'once' }])
})

test.each(['Allow once', 'Always'])(
  'a press on %s is refused if its owner is frozen at any call of the state in between',
  async (label) => {
    const owner = await startMember()
    for (const [index, chat] of chats.entries()) {
      const messageID = await beginAsk(chat)
      let left = index
      owner.onStoreCall = () => {
        if (left === 0) owner.freeze()
        left -= 1
      }
      const pressedAt = clock.now()
      const pressed = telegram.press(chat, messageID, label, { from: { id: chat, name: 'Ann' } })
      await passes('it is frozen or answered', () => owner.isFrozen || allowed.length > 0)
      if (allowed.length > 0) {
        owner.onStoreCall = () => {}
        return expect(index).toBeGreaterThan(0)
      }
      await passes('a while', () => clock.now() - pressedAt >= 3000)
      owner.onStoreCall = () => {}
      owner.wake()
      await passes('the person is told', () => pressed.status !== 'waiting')
      await passes('a while', () => clock.now() - pressedAt >= 6000)
      expect([pressed.text, allowed]).toEqual([texts.notTaken, []])
    }
    expect.fail('It was never answered.')
  },
)

test('the message of what a run asks that is put aside loses its buttons, and says that it is over', async () => {
  const first = await startMember()
  const [chat = 0] = chats
  const messageID = await beginAsk(chat)
  first.freeze()
  const key = [...memory.values.keys()].find((one) => one.startsWith('execution/')) ?? expect.fail('It is not stored.')
  const [, shard = '', ...rest] = key.split('/')
  const suspect = `suspect/${encodeURIComponent(['execution', ...rest].join('/'))}`
  const value = JSON.stringify({ level: 0, points: 5 })
  memory.values.set(keyInShard(shard, suspect), { value, expiresAt: undefined })
  const second = await startMember()
  await passes('the other one has all shards', () => second.shards() === 64)
  await passes('the chat is told', () => said(chat).includes(texts.poisonRun))
  const asking = () => telegram.screen(chat).find((message) => message.messageId === messageID)
  await passes('its buttons are gone', () => asking()?.buttons.length === 0)
  expect(asking()?.text).toMatch(/No longer needed\.$/)
  expect(allowed).toEqual([])
  errors = errors.filter(({ message }) => !message.includes('It was put aside'))
})

test('a press whose owner is frozen is refused, and is not carried out when the owner wakes', async () => {
  const [first, second] = await startTwo()
  const chat = chats.find(first.owns) ?? expect.fail('It has none of the chats.')
  const messageID = await beginAsk(chat)
  receiver = second
  first.freeze()
  const from = { id: chat, name: 'Ann' }
  const pressed = telegram.press(chat, messageID, 'Allow once', { from })
  expect(await passes('the person is told', () => pressed.status !== 'waiting')).toBeLessThanOrEqual(2500)
  expect(pressed.text).toBe(texts.notTaken)
  first.wake()
  await passes('they share again', () => first.shards() === 32 && second.shards() === 32)
  const began = clock.now()
  await passes('a while', () => clock.now() - began > 5000)
  expect(allowed).toEqual([])
})

/** Delivers an update to a member, as Telegram does. */
async function deliver({ url }: Member, update: object): Promise<void> {
  await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': secretToken },
    body: JSON.stringify({ update_id: 900_000, ...update }),
  })
}

const personOf = (chat: number) => ({ id: chat, is_bot: false, type: 'private', first_name: 'Ann' })
/** Telegram's own Stop. */
const stopIn = (chat: number) => ({ stopped_message_generation: { chat: personOf(chat), draft_id: 1 } })

test('the Stop of Telegram that is delivered again to the next owner does not stop the run that began since', async () => {
  const [first, second] = await startTwo()
  const { chat } = await beginRun(first)
  telegram.say(chat, 'hold on')
  await passes('it is queued', () => said(chat).includes(texts.queued(1)))
  void deliver(first, stopIn(chat))
  await passes('the next run is shown', () => said(chat).at(-1)?.startsWith('Working.') === true)
  first.freeze()
  await passes('the other one has all shards', () => second.shards() === 64)
  void deliver(second, stopIn(chat))
  const deliveredAt = clock.now()
  await passes('its time is over', () => clock.now() - deliveredAt >= 3000)
  held.get('hold on')?.write({ type: 'text', delta: 'Done.' })
  held.get('hold on')?.end()
  await passes('the next run is over', () => said(chat).includes('Working. Done.'))
  expect([agent.canceled, said(chat).filter((text) => text === texts.canceled)]).toEqual([['hold'], [texts.canceled]])
})

test('the Stop of Telegram whose owner dies before it stops the run stops that once it is delivered again', async () => {
  const [first, second] = await startTwo()
  const { chat } = await beginRun(first)
  first.slows = (call, what) => {
    if (call === 'commit' && what.includes('isCanceled')) first.freeze()
    return undefined
  }
  void deliver(first, stopIn(chat))
  await passes('it is frozen', () => first.isFrozen)
  await passes('the other one has all shards', () => second.shards() === 64)
  void deliver(second, stopIn(chat))
  await passes('the run is stopped', () => agent.canceled.includes('hold'), 3000)
})

test('a press on a session that is delivered again to the next owner does not leave the session that was chosen since', async () => {
  const [first, second] = await startTwo()
  const chat = chats.find(first.owns) ?? expect.fail('It has none of the chats.')
  const prompt = async (text: string): Promise<void> => {
    telegram.say(chat, text)
    await passes('it is answered', () => said(chat).includes(`You said: ${text}.`))
  }
  const begin = async (): Promise<void> => {
    const before = said(chat).length
    telegram.say(chat, '/new')
    await passes('a session begins', () => said(chat).length > before)
  }
  await prompt('one')
  await begin()
  await prompt('two')
  telegram.say(chat, '/sessions')
  const list = () => telegram.screen(chat).find(({ buttons }) => buttons.length > 0)
  await passes('they are listed', () => list() !== undefined)
  const press = {
    callback_query: {
      ...{ id: '900', from: personOf(chat), data: 'b/switch/ses_1' },
      message: { message_id: list()?.messageId, date: 1, chat: personOf(chat) },
    },
  }
  telegram.inject({ type: 'stall', method: /^edit/ })
  written = []
  void deliver(first, press)
  await passes('it has switched', () => written.some((row) => row.includes('route/') && row.includes('ses_1')))
  first.freeze()
  await passes('the other one has all shards', () => second.shards() === 64)
  await begin()
  void deliver(second, press)
  const deliveredAt = clock.now()
  await passes('its time is over', () => clock.now() - deliveredAt >= 3000)
  await prompt('three')
  expect(sessions).toEqual(['ses_1', 'ses_2', 'ses_3'])
  // Telegram does not know the press.
  errors = errors.filter(({ message }) => !message.includes('query'))
})

test('a /stop at a member that does not own the chat stops the run within half a second', async () => {
  const [first, second] = await startTwo()
  const { chat } = await beginRun(first)
  receiver = second
  telegram.say(chat, '/stop')
  const isSaid = (): boolean => said(chat).some((text) => text.includes(texts.canceled))
  expect(await passes('it is stopped', isSaid)).toBeLessThanOrEqual(500)
  // The answer says it, so it needs no message.
  telegram.say(chat, 'hello')
  await passes('the next prompt is answered', () => said(chat).includes('You said: hello.'))
  expect(said(chat)).toEqual(['Working.\n\n⏹️ Stopped.', 'You said: hello.'])
})

test('a /stop is answered with a message if the chat has a newer one than the answer', async () => {
  const [first] = await startTwo()
  const { chat } = await beginRun(first)
  telegram.say(chat, 'hello')
  await passes('it is queued', () => said(chat).includes(texts.queued(1)))
  telegram.say(chat, '/stop')
  await passes('it is stopped', () => said(chat).includes(texts.canceled))
})

test('a /stop whose owner is frozen stops the run that ran when it was sent, once another bridge takes the chat over', async () => {
  const [first, second] = await startTwo()
  const { chat } = await beginRun(first)
  receiver = second
  first.freeze()
  telegram.say(chat, '/stop')
  expect(await passes('it is stopped', () => said(chat).includes(texts.canceled))).toBeGreaterThan(2000)
})

test('a /stop that its owner handles late does not stop the run that began meanwhile, and says so', async () => {
  const [first, second] = await startTwo()
  const { chat } = await beginRun(first)
  telegram.say(chat, 'hold on')
  await passes('it is queued', () => said(chat).includes(texts.queued(1)))
  const { promise: isOver, resolve: end } = withResolvers<void>()
  first.slows = (call, what) => (call === 'commit' && what.includes('/stop') ? isOver : undefined)
  receiver = second
  telegram.say(chat, '/stop')
  await passes('it is stored', () => written.some((writes) => writes.includes('/stop')))
  held.get('hold')?.end()
  await passes('the next run is shown', () => said(chat).at(-1)?.startsWith('Working.') === true)
  const began = clock.now()
  await passes('its time is over', () => clock.now() - began >= 2000)
  end()
  await passes('the person is told', () => said(chat).includes(texts.lateStop('/stop')))
  held.get('hold on')?.write({ type: 'text', delta: 'Done.' })
  held.get('hold on')?.end()
  await passes('the next run is over', () => said(chat).includes('Working. Done.'))
})

test('a /stop that waited with the prompt before it has that not run', async () => {
  const [first, second] = await startTwo()
  const chat = chats.find(first.owns) ?? expect.fail('It has none of the chats.')
  receiver = second
  first.freeze()
  telegram.say(chat, 'hold')
  telegram.say(chat, '/stop')
  expect(await passes('it is stopped', () => said(chat).includes(texts.canceled))).toBeGreaterThan(2000)
  telegram.say(chat, 'hello')
  await passes('the next prompt is answered', () => said(chat).includes('You said: hello.'))
  expect(agent.heard).toEqual(['hello'])
})

test.each([
  ['is given once another bridge takes the chat over', 0, [{ type: 'once' }], undefined],
  ['is not given if that takes more than 15 s, and the person is told so', 20_000, [], texts.lateAnswer],
])('a typed answer whose owner is frozen %s', async (_, frozenMs, expected, told) => {
  const [first, second] = await startTwo()
  const chat = chats.find(first.owns) ?? expect.fail('It has none of the chats.')
  await beginAsk(chat)
  receiver = second
  first.freeze()
  telegram.say(chat, 'yes')
  await passes('it is stored', () => written.some((writes) => writes.includes('"text\\":\\"yes\\"')))
  if (frozenMs > 0) second.freeze()
  const began = clock.now()
  await passes('a while', () => clock.now() - began >= frozenMs)
  second.wake()
  await passes('it is handled', () => (told === undefined ? allowed.length > 0 : said(chat).includes(told)))
  expect([allowed, agent.heard]).toEqual([expected, ['touch']])
})

test.each([
  ['is refused if the run that went on when it was sent has ended since', 'hold', texts.lateAnswer, ['hold']],
  ['runs as a prompt if nothing ran when it was sent', 'hello', 'You said: yes.', ['hello', 'yes']],
])('a "yes" that its owner handles after more than 15 s %s', async (_, prompt, expected, heard) => {
  const [first, second] = await startTwo()
  const chat = chats.find(first.owns) ?? expect.fail('It has none of the chats.')
  telegram.say(chat, prompt)
  await passes('it is shown', () => said(chat).length > 0)
  const shownAt = clock.now()
  await passes('its end is stored if it has ended', () => clock.now() - shownAt >= 3000)
  const answer = '"text\\":\\"yes\\"'
  const { promise: isOver, resolve: end } = withResolvers<void>()
  first.slows = (call, what) => (call === 'commit' && what.includes(answer) ? isOver : undefined)
  receiver = second
  telegram.say(chat, 'yes')
  await passes('it is stored', () => written.some((writes) => writes.includes(answer)))
  held.get('hold')?.end()
  const sentAt = clock.now()
  await passes('its time is over', () => clock.now() - sentAt >= 16_000)
  end()
  await passes('it is handled', () => said(chat).includes(expected))
  expect(agent.heard).toEqual(heard)
})

test('an older text that a frozen bridge still sent is replaced, also if the chat has moved on since', async () => {
  const first = await startMember()
  const chat = chats[0] ?? expect.fail('There are no chats.')
  telegram.say(chat, 'hello')
  await passes('it is answered', () => said(chat).includes('You said: hello.'))
  const [message] = telegram.screen(chat).filter(({ from }) => from === 'bot')
  const messageID = message?.messageId ?? expect.fail('It has no message.')
  const second = await startMember()
  await first.bridge.stop()
  await passes('the other one has all shards', () => second.shards() === 64)
  // As a bridge does whose call was on its way when it was stopped.
  await fetch(`${telegram.url}/bot${token}/editMessageText`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ chat_id: chat, message_id: messageID, text: 'You said' }),
  })
  expect(said(chat)).toEqual(['You said'])
  const store = createMemoryStore({ memory, clock })
  const [ledger] = (await store.list('ledger/telegram/')).filter(({ value }) => value.includes(String(messageID)))
  const key = ledger?.key.replace('ledger/', 'late/') ?? expect.fail('It has no ledger.')
  await store.commit([{ type: 'put', key, value: String(messageID) }])
  await passes('it shows the newest text', () => said(chat).includes('You said: hello.'))
  await passes('the report is gone', () => !memory.values.has(key))
  expect([said(chat), agent.heard]).toEqual([['You said: hello.'], ['hello']])
})

// The update of a move goes to one bridge, and the first message of the new chat may go to another one.
test.each([
  ['that works in it is told so', 0, 1],
  ['that does not is told so', 1, 0],
  ['that does not is told so and receives its messages', 1, 1],
])('a group that becomes a supergroup keeps its session and its owner if the bridge %s', async (_, told, receives) => {
  const both = await startTwo()
  const [owner] = both
  const { group, supergroup } =
    groups.find((one) => owner.owns(one.group) && !owner.owns(one.supergroup)) ?? expect.fail('No group is like that.')
  const from = { id: 1, name: 'Ann' }
  telegram.say(group, '@fake_bot one', { from })
  await passes('it is answered', () => said(group).includes('You said: one.'))
  telegram.upgrade(group, supergroup)
  receiver = both[told]
  telegram.push('message', {
    ...{ message_id: 900, date: Math.floor(clock.now() / 1000), from: { id: 1, is_bot: false, first_name: 'Ann' } },
    ...{ chat: { id: group, type: 'group', title: 'Shop' }, migrate_to_chat_id: supergroup },
  })
  await passes('the move is stored', () => memory.values.has(`moved/telegram/${supergroup}`))
  receiver = both[receives]
  telegram.say(supergroup, '@fake_bot two', { from })
  await passes('it is answered there', () => said(supergroup).includes('You said: two.'))
  expect(sessions).toEqual(['ses_1', 'ses_1'])
  const wrong = keyInShard(shardOfChat(supergroup), 'inbox/')
  expect(written.filter((writes) => writes.includes(wrong))).toEqual([])
})

test('a bridge that stops while it is cut off from the store leaves messages and its run to the next one', async () => {
  const member = await startMember()
  const { chat: running, messageID } = await beginRun(member)
  member.isCutOff = true
  held.get('hold')?.write({ type: 'text', delta: 'Done.' })
  held.get('hold')?.end()
  for (const chat of chats) telegram.say(chat, `later ${chat}`)
  await passes('it says so', () => errors.length > 0)
  errors = []
  let isStopped = false
  void member.bridge.stop().then(() => {
    isStopped = true
  })
  await passes('it is stopped', () => isStopped)
  expect(errors).toEqual([])
  expect(chats.map(said)).toEqual(chats.map((chat) => (chat === running ? ['Working.'] : [])))
  await startMember()
  const answerTo = (chat: number): string => `You said: later ${chat}.`
  await passes('the next one goes on', () => chats.every((chat) => said(chat).includes(answerTo(chat))))
  const ofRun = ['Working. Done.', texts.queued(1)]
  const allSaid = chats.map((chat) => [...(chat === running ? ofRun : []), answerTo(chat)])
  expect(chats.map(said)).toEqual(allSaid)
  expect(telegram.screen(running).find(({ from }) => from === 'bot')).toMatchObject({ messageId: messageID })
  expect(agent.heard.toSorted()).toEqual(['hold', ...chats.map((chat) => `later ${chat}`)].toSorted())
})

test('a prompt is posted once, although its owners freeze and stop right before that', async () => {
  const before = await startMember()
  const isPlanned = (): boolean => [...memory.values.values()].some(({ value }) => value.includes('"phase":"planned"'))
  const never = new Promise<void>(() => {})
  before.beforePost = async () => await never
  telegram.say(1, 'hold')
  await passes('it is about to be posted', isPlanned)
  before.freeze()
  const [post, note] = [withResolvers<void>(), withResolvers<void>()]
  let posts = 0
  let notes = 0
  const owner = await startMember()
  owner.beforePost = async () => {
    posts += 1
    await post.promise
  }
  owner.slows = (call, what) => {
    // What it notes of a prompt that an earlier process began.
    if (posts === 0 || call !== 'commit' || !/^\[{"type":"put","key":"suspect/.test(what)) return undefined
    notes += 1
    return note.promise
  }
  await passes('it is about to be posted again, and noted', () => posts > 0 && notes > 0)
  let isStopped = false
  void owner.bridge.stop().then(() => {
    isStopped = true
  })
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 40; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
  await turns()
  post.resolve()
  await turns()
  note.resolve()
  await passes('it is stopped', () => isStopped)
  expect([isPlanned(), agent.heard]).toEqual([true, []])
  await startMember()
  await passes('the run is shown', () => said(1).some((text) => text.includes('Working.')))
  expect(agent.heard).toEqual(['hold'])
})

test('each bridge serves the page of a run, and what is done there at the other one is done once by the owner', async () => {
  web = { publicUrl: 'https://agents.example.org', secret: { env: 'WEB' } }
  const [owner, other] = await startTwo()
  const chat = chats.find(owner.owns) ?? expect.fail('It has none of the chats.')
  telegram.say(chat, 'touch')
  const link = (): URL | undefined =>
    telegram
      .screen(chat)
      .flatMap(({ source }) => source.match(/https:\/\/agents[^\s"()<>]+/g) ?? [])
      .map((url) => new URL(url))
      .at(-1)
  await passes('the request links to the page', () => link() !== undefined)
  const { pathname = '', hash = '' } = link() ?? {}
  const request = (path: string, body?: object): Request =>
    new Request(`http://localhost/api/runs/${pathname.split('/').at(-1)}/${path}`, {
      headers: {
        ...{ host: 'agents.example.org', authorization: `Bearer ${hash.slice(1)}` },
        ...(body && { 'content-type': 'application/json', origin: 'https://agents.example.org' }),
      },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
  /** Reads the page as it is now. */
  const readAt = async ({ bridge }: Member): Promise<{ readonly run: PageRun; readonly access: PageAccess }> => {
    const reader = (await bridge.page(request('events'))).body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (!/event: run\n.*\n\n/.test(text)) text += (await reader?.read())?.value ?? expect.fail('It has ended.')
    await reader?.cancel()
    const dataOf = (event: string): string => new RegExp(`event: ${event}\ndata: (.*)`).exec(text)?.[1] ?? ''
    return { run: JSON.parse(dataOf('run')).run, access: JSON.parse(dataOf('access')) }
  }
  const pages = await Promise.all([owner, other].map(readAt))
  const [ask] = pages[1]?.run.reply.asks ?? []
  if (!ask) return expect.fail('The other one shows no request.')
  expect(pages.map(({ run }) => run.reply.asks.map(askDigest))).toEqual([[askDigest(ask)], [askDigest(ask)]])
  expect(pages.map(({ access }) => access.mayAllow)).toEqual([true, true])
  let status = 0
  const answer = { askID: ask.requestID, digest: askDigest(ask), answer: 'once' }
  void other.bridge.page(request('answer', answer)).then((response) => {
    status = response.status
  })
  const tookMs = await passes('it is answered', () => status !== 0)
  expect([status, allowed]).toEqual([200, [{ type: 'once' }]])
  expect(tookMs).toBeLessThan(2000)
  await passes('the chat names the person', () => said(chat).some((text) => text.includes('Allow once')))
  // The link is used up at both.
  const after = await Promise.all([owner, other].map(readAt))
  expect(after.map(({ access }) => access.mayAllow)).toEqual([false, false])
})
