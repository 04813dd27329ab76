import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, type Clock, type PermissionAsk, ReplyError } from '@reply/core'
import { connectSource, createLocalAgent, type LocalRun } from '@reply/core/source'
import { createHandClock, type HandClock } from '@reply/testing'
import { type FakeTelegram, startTelegram } from '@reply/testing/telegram'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createSavedGrants } from '../src/asks/saved-grants.ts'
import { stopRuns } from '../src/commands/stop-cancel-interrupt.ts'
import { createMirrors } from '../src/config/mirrors.ts'
import { listFailed } from '../src/failed/list-failed.ts'
import type { Execution } from '../src/state/execution.ts'
import type { QueuedPrompt } from '../src/state/queued-prompt.ts'
import { createRegistry } from '../src/state/registry.ts'
import type { Store } from '../src/store/store.ts'
import { createMemoryStore, createStoreMemory } from '../src/testing.ts'
import { texts } from '../src/texts.ts'
import { type Chats, startChats } from './chats.ts'
import { answer } from './local-agent.ts'
import { createMemoryState } from './memory-state.ts'
import { telegramOn } from './platforms.ts'
import { keyOfChat, telegramChat } from './shard-rows.ts'
import { stateOf } from './state-of.ts'

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000]

/** The time of the platform. It passes by hand. */
let clock: HandClock
let telegram: FakeTelegram
let chats: Chats
let store: Store
let sessions = 0
/** Has the agent begin a run in a session by itself. */
let wake: (sessionID: string) => LocalRun

/** The clock of a machine that is set wrong. */
const aheadBy = (aheadMs: number): Clock => ({ ...clock, now: () => clock.now() + aheadMs })

beforeEach(async () => {
  sessions = 0
  clock = createHandClock()
  telegram = await startTelegram({
    token: '42:secret',
    clock,
    chats: [
      { id: 1, type: 'private', title: 'Ann' },
      { id: 2, type: 'private', title: 'Bob' },
    ],
  })
  const { source, wake: wakeSession } = createLocalAgent({
    ...{ name: 'an agent in the test', clock },
    create: ({ directory }) => ({ sessionID: `ses_${++sessions}`, directory }),
    prompt: async (run, { text = '' }) => (text === 'ask' ? ask(run) : answer(run, `Done: ${text}.`)),
    cancel: (run) => run.end({ type: 'aborted' }),
  })
  wake = (sessionID) => wakeSession({ sessionID, directory: undefined }, 'It is time.')
  // The agent outlives the bridges, as a server does.
  const client: Client = { ...connectSource(source, { clock }), close: async () => {} }
  chats = await startChats({ platforms: [telegramOn(telegram)], connectTo: () => client })
})
afterEach(async () => await chats.close())

function ask(run: LocalRun): void {
  const question = { header: 'Colour', question: 'Which colour?', options: [], multiple: false, custom: true }
  run.ask({ type: 'question', requestID: 'que_1', questions: [question], reply: () => answer(run, 'As you like.') })
}

/** A message of Ann. */
const promptFrom = (id: string): QueuedPrompt => ({
  ...{ channel: 'telegram', chat: { id: '1' }, id, actor: { id: '1', name: 'Ann' }, text: 'Go on', files: [] },
  ...{ isCommand: false, messageRef: { id }, receivedAt: 0 },
})

/** Starts a bridge on a machine whose clock is ahead by that. The store's clock is five days behind. */
async function startAhead(aheadMs: number, router: object = {}, rows: Readonly<Record<string, string>> = {}) {
  await chats.start({
    ...{ clock: aheadBy(aheadMs), storeClock: aheadBy(-5 * day) },
    // Otherwise, each message seems old to a machine whose clock is ahead of the platform's.
    router: { backlogAfterMs: 3 * day, ...router },
    storeOf: (real) => {
      store = real
      const added = real.commit(
        Object.entries(rows).map(([key, value]) => {
          const queue = keyOfChat(telegramChat(1), key)
          return { type: 'enqueue', queue, id: '9', value } as const
        }),
      )
      return { ...real, beat: async (request) => await added.then(() => real.beat(request)), close: async () => {} }
    },
  })
}

const said = (chat: number): readonly string[] =>
  telegram.screen(chat).flatMap(({ from, text }) => (from === 'bot' ? [text] : []))

/** Lets time pass until the condition holds, at most for `mostMs`. Resolves with how much did, in ms. */
async function passes(isSo: () => boolean, mostMs = 2 * minute, stepMs = 100): Promise<number> {
  const began = clock.now()
  while (!isSo() && clock.now() - began < mostMs) {
    for (let turn = 0; turn < 40; turn++) await new Promise((resolve) => setImmediate(resolve))
    await clock.advance(stepMs)
  }
  return clock.now() - began
}

/** Writes in a chat, and resolves with the next message of the bot that has these words. */
async function replyTo(chat: number, text: string, words: string): Promise<string> {
  const before = said(chat).length
  telegram.say(chat, text)
  const find = (): string | undefined =>
    said(chat)
      .slice(before)
      .find((one) => one.includes(words))
  await passes(() => find() !== undefined)
  expect(find(), said(chat).join('\n')).toBeDefined()
  return find() ?? ''
}

/** The path of a config, whose state is in memory. */
let path = ''
let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-machines-'))
  path = join(folder, 'reply.json')
  const [servers, channels] = [
    { home: { url: 'http://127.0.0.1:1' } },
    { tg: { type: 'telegram', token: { env: 'T' } } },
  ]
  writeFileSync(
    path,
    JSON.stringify({ servers, channels, people: {}, state: { type: 'memory', name: { env: 'NAME' } } }),
  )
})
afterAll(() => rmSync(folder, { recursive: true }))

const keys = async (prefix: string): Promise<number> => (await store.list(prefix)).length

describe.each([
  ['ahead, and the next one’s is behind', day, -day],
  ['behind, and the next one’s is ahead', -day, day],
])('the clock of the first machine is %s', (_, firstMs, nextMs) => {
  test('a run is listed with its log for an hour, a session is known for a day, and a message for two', async () => {
    await startAhead(firstMs)
    await replyTo(1, 'one', 'Done: one.')
    await passes(() => false, 5000)
    await chats.stop()
    await clock.advance(30 * minute)

    await startAhead(nextMs)
    expect(await replyTo(1, '/list', '•')).toContain('✅ Complete')
    expect(await replyTo(1, '/logs', 'Done')).toContain('[stdout] Done: one.')
    await passes(() => false, 15 * minute, 10_000)
    // A sweep of this machine has run since.
    expect(await replyTo(1, '/status', '✅')).toContain('Complete')
    await chats.stop()
    await clock.advance(15 * minute)

    await startAhead(firstMs)
    await replyTo(1, '/list', texts.noExecutions)
    expect([await keys('execution/'), await keys('newest/')]).toEqual([0, 1])
    const seen = await keys('seen/telegram/1/')
    expect(seen).toBe(5)
    await chats.stop()
    await clock.advance(day - hour - minute)
    expect(await keys('seen/')).toBe(seen)
    await startAhead(nextMs)
    expect([await keys('newest/'), await keys('log/')]).toEqual([1, 0])
    await chats.stop()
    await clock.advance(2 * minute)
    await startAhead(nextMs)
    expect(await keys('newest/')).toBe(0)
    await chats.stop()
    await clock.advance(2 * day)
    await startAhead(firstMs)
    expect([await keys('seen/'), await keys('execution/'), await keys('inbox/')]).toEqual([0, 0, 0])
  })

  test('an ask times out when it is due', async () => {
    const router = { askTimeoutMs: 20 * minute }
    await startAhead(firstMs, router)
    await replyTo(1, 'ask', 'Which colour?')
    await chats.stop()
    await clock.advance(5 * minute)
    await startAhead(nextMs, router)
    const leftMs = await passes(() => said(1).join().includes('No answer within 20m'), 30 * minute, 1000)
    expect(leftMs).toBeGreaterThan(14 * minute)
    expect(leftMs).toBeLessThan(16 * minute)
  })

  test('what was sent while the bridge was down can be chosen for 30 days, and not for longer', async () => {
    // It is received by a machine on which it is old.
    await startAhead(day, { backlogAfterMs: hour, backlog: 'none' })
    telegram.say(1, 'late')
    telegram.say(2, 'later')
    await passes(() => said(2).length > 0 && said(1).length > 0)
    await chats.stop()
    await clock.advance(29 * day)
    for (const aheadMs of [firstMs, nextMs]) {
      await startAhead(aheadMs * 60)
      // Until it has swept.
      await passes(() => false, 11 * minute, 10_000)
      await chats.stop()
    }
    expect([await keys('kept/'), (await store.queues('backlog/')).length]).toEqual([2, 2])
    await startAhead(nextMs)
    const list = telegram.screen(1).find(({ from }) => from === 'bot')
    telegram.press(1, list?.messageId ?? 0, 'Run 1')
    await passes(() => said(1).includes('Done: late.'))
    expect(said(1)).toContain('Done: late.')
    await chats.stop()
    await clock.advance(day)
    await startAhead(firstMs)
    await passes(() => false, 11 * minute, 10_000)
    expect([await keys('kept/'), (await store.queues('backlog/')).length]).toEqual([0, 0])
  })

  test('what a session does by itself is shown in the chat of its last run, for a day', async () => {
    await startAhead(firstMs)
    await replyTo(1, 'one', 'Done: one.')
    await passes(() => false, 5000)
    await chats.stop()
    await clock.advance(day - hour)
    await startAhead(nextMs)
    expect(await keys('execution/')).toBe(0)
    answer(wake('ses_1'), 'By myself.')
    await passes(() => said(1).includes('By myself.'))
    expect(said(1)).toContain('By myself.')
    await passes(() => false, 5000)
    await chats.stop()
    // That was a run, so the day counts from its end.
    await clock.advance(day - hour)
    await startAhead(firstMs)
    answer(wake('ses_1'), 'Once more.')
    await passes(() => said(1).includes('Once more.'))
    expect(said(1)).toContain('Once more.')
    expect(said(1).filter((text) => text === 'By myself.')).toHaveLength(1)
    await passes(() => false, 5000)
    await chats.stop()
    await clock.advance(day + hour)
    await startAhead(nextMs)
    answer(wake('ses_1'), 'Too late.')
    await passes(() => false, 5000)
    expect(said(1)).not.toContain('Too late.')
  })

  test('a grant is listed for a year', async () => {
    const savedRules = async () => await Promise.reject(new ReplyError('unsupported', 'It lists none.'))
    const servers = new Map([['home', { savedRules } as unknown as Client]])
    const state = stateOf(createMemoryStore({ clock: aheadBy(-5 * day) }))
    const ask = { requestID: 'per_1', permission: 'bash', always: ['ls'] } as unknown as PermissionAsk
    const grantsAhead = (aheadMs: number) => createSavedGrants({ state, servers, clock: aheadBy(aheadMs) })
    await grantsAhead(firstMs).storePending(ask, 'home', { channel: 'tg', actorID: '1', name: 'Ann' })
    await clock.advance(365 * day - 1)
    expect((await grantsAhead(nextMs).list('home')).grants).toHaveLength(1)
    await clock.advance(1)
    expect((await grantsAhead(nextMs).list('home')).grants).toEqual([])
  })

  test('an answer is listed as waiting a minute after its run', async () => {
    const execution: Execution = {
      ...{ id: 'abc123', server: 'home', phase: 'delivering', status: 'complete', startedAt: clock.now() + firstMs },
      prompt: { ...promptFrom('9'), receivedAt: clock.now() + firstMs },
      finishedAt: clock.now() + firstMs,
    }
    const memory = createStoreMemory()
    const waiting = createMemoryStore({ memory, clock: aheadBy(-5 * day) })
    await waiting.commit([
      createRegistry({ state: stateOf(waiting), mirrors: createMirrors([]), shard: '00' }).writeExecution(execution),
    ])
    const { load } = createMemoryState({
      openExisting: async () => createMemoryStore({ memory, clock: aheadBy(-5 * day) }),
    })
    const listed = async () =>
      (await listFailed({ path, env: { NAME: 'shop' }, loadStore: load })).map(({ type }) => type)
    await clock.advance(minute - 1)
    expect(await listed()).toEqual([])
    await clock.advance(1)
    expect(await listed()).toEqual(['waiting'])
  })

  test('an album waits a second for its next message', async () => {
    const album = { ...promptFrom('9'), text: 'album', albumID: 'a', receivedAt: clock.now() + firstMs }
    await startAhead(nextMs, {}, { 'prompts/telegram/1/': JSON.stringify(album) })
    const waitedMs = await passes(() => said(1).includes('Done: album.'))
    expect(said(1)).toContain('Done: album.')
    expect(waitedMs).toBeGreaterThanOrEqual(1000)
    expect(waitedMs).toBeLessThan(5000)
  })
})

/** A run of a prompt of Ann, which is the message before or after the /stop, and how it is told apart. */
const runOf = (id: string, ageMs: number, sent: 'before' | 'after', more: Partial<Execution> = {}) => ({
  id,
  ageMs,
  sent,
  more,
})
const running = runOf('running', 10_000, 'before')
const next = runOf('next', 3000, 'before')
const later = runOf('later', 3000, 'after')
const mirrored = runOf('mirrored', 3000, 'before', { followed: 'asks' })
const now = Date.UTC(2026, 0, 1)

test.each([
  ['in time stops what runs', 1000, undefined, [running, later], undefined, ['running', 'later'], texts.canceled],
  ['again stops what ran when it was received', 5000, 2, [running, later], undefined, ['running'], texts.canceled],
  [
    'late stops what ran when it was received',
    5000,
    undefined,
    [running, later],
    undefined,
    ['running'],
    texts.canceled,
  ],
  ['late stops what was about to begin', 5000, undefined, [next], 60_000, ['next'], texts.canceled],
  ['late stops what was about to begin right after a run', 5000, undefined, [next], 5001, ['next'], texts.canceled],
  ['late stops nothing of another prompt', 5000, undefined, [later], undefined, [], texts.lateStop('/stop')],
  ['late stops nothing if what it was meant for has ended', 5000, undefined, [next], 4999, [], texts.lateStop('/stop')],
  [
    'late stops no run that was started elsewhere since',
    5000,
    undefined,
    [mirrored],
    undefined,
    [],
    texts.lateStop('/stop'),
  ],
])(
  'a /stop that is handled %s, whatever the clocks of the machines said',
  async (_, agoMs, tries, all, endedAgoMs, expected, told) => {
    const stopped: string[] = []
    const place = { channel: 'tg', chat: { id: '1' } }
    const actor = { id: '1', name: 'Ann' }
    const active = all.map(({ id, ageMs, sent, more }) => ({
      ...{ ageMs: () => ageMs, sinks: [], cancel: async () => void stopped.push(id) },
      execution: () => {
        const prompt = { ...place, actor, messageRef: { id: sent === 'before' ? '6' : '8' } }
        return { id, startedAt: Date.UTC(2099, 0, 1), prompt, ...more } as unknown as Execution
      },
    }))
    const clock = createHandClock(now)
    const state = stateOf(createMemoryStore({ clock }))
    const registry = createRegistry({ state, mirrors: createMirrors([]), shard: '00' })
    if (endedAgoMs !== undefined) {
      // The clock of the machine where it ended is a minute ahead.
      const times = { startedAt: now, finishedAt: now + minute }
      const prompt = { ...promptFrom('5'), ...place }
      const ended = { id: 'ended', prompt, server: 'home', phase: 'done', status: 'complete', ...times } as const
      await state.commit([registry.writeExecution(ended)])
      await clock.advance(endedAgoMs)
    }
    const services = {
      runner: { whenRestored: async () => {} },
      runs: { active: () => active },
      people: { personOf: () => undefined, isSamePerson: () => true },
      ...{ registry, clock },
      state: { list: async (key: string) => [{ key, value: '0', expiresInMs: 2 * day - agoMs }] },
    } as unknown as Parameters<typeof stopRuns>[0]
    const request = { place, person: { may: new Set() }, actor, messageRef: { id: '7' }, tries }
    expect(await stopRuns(services, request as never)).toEqual({ text: told })
    expect(stopped).toEqual(expected)
  },
)

/** A chat of Ann where nothing runs, and a /stop of an admin in it. Its services can be changed. */
function idleChat(changed: object = {}) {
  const aborted: string[] = []
  const place = { channel: 'tg', chat: { id: '1' } }
  const clock = createHandClock(now)
  const received = { agoMs: 1000 }
  const client = { reply: async () => ({ phase: 'working' }), abort: async (id: string) => void aborted.push(id) }
  const services = {
    runner: { whenRestored: async () => {}, changeQueue: async (_: unknown, task: () => unknown) => await task() },
    ...{ runs: { active: () => [], followed: () => [] }, registry: { endAgesMs: async () => [] }, people: {}, clock },
    routes: { routeOf: async () => ({ server: 'home', sessionID: 'ses_1' }) },
    servers: new Map([['home', client]]),
    state: { list: async (key: string) => [{ key, value: '0', expiresInMs: 2 * day - received.agoMs }] },
    ...changed,
  }
  Object.assign(services.runner, { queuedPrompts: async () => [], ...services.runner })
  const actor = { id: '1', name: 'Ann' }
  const request = { place, person: { may: new Set(['admin']) }, actor, messageRef: { id: '7' } }
  const stop = async (): Promise<unknown> => await stopRuns(services as never, request as never)
  return { clock, received, client, aborted, stop }
}

test('a /stop of an admin that was in time aborts the session, however slowly the server answers', async () => {
  const { clock, client, aborted, stop } = idleChat()
  client.reply = async () => {
    await clock.advance(10_000)
    return { phase: 'working' }
  }
  expect([await stop(), aborted]).toEqual([{ text: texts.canceled }, ['ses_1']])
})

test('a /stop waits 2 s for a prompt that is held, and removes it', async () => {
  const removed: unknown[] = []
  const { clock, aborted, stop } = idleChat({
    runner: {
      ...{ whenRestored: async () => {}, changeQueue: async () => await new Promise(() => {}) },
      queuedPrompts: async () => [{ ...promptFrom('6'), channel: 'tg' }],
      ...{ queueNameOf: () => 'prompts', queueIDOf: ({ id }: QueuedPrompt) => id, cancelTranscription: () => {} },
    },
    people: { isSamePerson: () => true },
    state: {
      list: async (key: string) => [{ key, value: '0', expiresInMs: 2 * day }],
      commit: async (...given: unknown[]) => removed.push(given),
    },
  })
  let told: unknown
  void stop().then((reply) => {
    told = reply
  })
  await expect.poll(() => clock.pending).toBe(1)
  await clock.advance(1999)
  expect(removed).toEqual([])
  await clock.advance(1)
  await expect.poll(() => told).toEqual({ text: texts.canceled })
  expect([removed, aborted]).toEqual([[[[{ type: 'dequeue', queue: 'prompts', id: '6' }], {}]], []])
})

test('a late /stop that waits stops no run that began after it was received', async () => {
  const canceled: string[] = []
  const began = runOf('began', 5500, 'after')
  let isBegun = false
  const run = {
    ...{ ageMs: () => began.ageMs, sinks: [], cancel: async () => void canceled.push(began.id) },
    execution: () => ({ id: began.id, prompt: { ...promptFrom('8'), channel: 'tg' } }),
  }
  const { clock, received, stop } = idleChat({
    runner: {
      whenRestored: async () => {},
      changeQueue: async (_: unknown, task: () => unknown) => {
        await clock.advance(1000)
        isBegun = true
        await task()
      },
    },
    runs: { active: () => (isBegun ? [run] : []), followed: () => [] },
    people: { personOf: () => undefined, isSamePerson: () => true },
  })
  received.agoMs = 5000
  expect([await stop(), canceled]).toEqual([{ text: texts.lateStop('/stop') }, []])
})

test('a /stop of an admin that is handled late does not abort what the session does by then', async () => {
  const { received, aborted, stop } = idleChat()
  received.agoMs = 5000
  expect([await stop(), aborted]).toEqual([{ text: texts.lateStop('/stop') }, []])
  received.agoMs = 1000
  expect([await stop(), aborted]).toEqual([{ text: texts.canceled }, ['ses_1']])
})
