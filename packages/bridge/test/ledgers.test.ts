import { emptyReply, type Reply } from '@reply/core'
import { createSink, type Sink } from '@reply/sink'
import type { ChannelPort } from '@reply/sink/channel'
import { createFake, fakeRender } from '@reply/sink/testing'
import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { ledgersOf } from '../src/chats/ledgers.ts'
import type { Routes } from '../src/chats/routes.ts'
import { StoreError } from '../src/store/store.ts'
import { createMemoryStore, createStoreMemory } from '../src/testing.ts'
import { stateOf } from './state-of.ts'

type Told = Pick<Reply, 'promptIDs'> & { readonly text?: string; readonly isOver?: boolean }

/** Processes, one after the other, that show replies of one session in two chats. */
function stage() {
  const clock = createHandClock()
  const memory = createStoreMemory()
  const stored = createMemoryStore({ clock, memory })
  let isStoreGone = false
  /** What it does when the store fails while the process stops: it retries no more. */
  const unlessGone = async <T>(call: () => Promise<T>): Promise<T> => {
    if (isStoreGone) throw new StoreError('failed', 'The store is gone.')
    return await call()
  }
  const state = stateOf({
    ...stored,
    read: async (key) => await unlessGone(() => stored.read(key)),
    commit: async (writes, lease, options) => await unlessGone(() => stored.commit(writes, lease, options)),
  })
  const fakes = { one: createFake({ clock }), two: createFake({ clock }) }
  const statusIn = (chat: keyof typeof fakes): readonly string[] =>
    fakes[chat].screen().flatMap(({ text }) => (text.includes('Working') ? [text] : []))
  const saidIn = (chat: keyof typeof fakes): readonly string[] => fakes[chat].screen().map(({ text }) => text)
  const keys = (): readonly string[] =>
    [...memory.values.keys()].map((key) => key.replace(/\/\d+$/, '/time')).toSorted()
  const pass = async (ms: number): Promise<void> => await clock.advance(ms, rest)
  const doubtful = (): number =>
    [...memory.values.values()].reduce((sum, { value }) => sum + JSON.parse(value).doubtful, 0)
  let isHanging = false
  const hangs = (is: boolean): void => {
    isHanging = is
  }
  const storeFails = (is: boolean): void => {
    isStoreGone = is
  }
  return { open, pass, statusIn, saidIn, keys, doubtful, hangs, storeFails }

  /** A process. It ends without being told. */
  function open(chats: readonly (keyof typeof fakes)[] = ['one']) {
    const store = ledgersOf({
      ...{ state, channel: 'tg', serverOf: () => undefined, onShown: () => {} },
      whenHeld: async () => new AbortController().signal,
      late: { report: async () => {}, listen: () => () => {} },
      routes: { writeMessages: () => [] } as Partial<Routes> as Routes,
    })
    const sinkOf = (chat: keyof typeof fakes): Sink =>
      createSink({ port: portOf(chat), render: fakeRender, chat: { id: chat }, store, clock })
    return {
      begin: (told: Told) => {
        const sinks = chats.map(sinkOf)
        const startedAt = clock.now()
        show(sinks, 'replyStarted', replyOf(told, startedAt))
        return {
          goOn: (next: Told) => show(sinks, 'phaseChanged', replyOf(next, startedAt)),
          kill: async () => void (await Promise.all(sinks.map(async (sink) => await sink.stop()))),
        }
      },
    }
  }

  /** Its posts are made, and not answered while it hangs. */
  function portOf(chat: keyof typeof fakes): ChannelPort {
    const { port } = fakes[chat]
    const post: ChannelPort['post'] = async (bubble, options) => {
      const ref = await port.post(bubble, options)
      return isHanging ? await new Promise(() => {}) : ref
    }
    return { ...port, post }
  }

  function show(sinks: readonly Sink[], type: 'replyStarted' | 'phaseChanged', reply: Reply): void {
    for (const sink of sinks) (sink[type] as ((observation: unknown) => void) | undefined)?.({ type, reply })
  }

  function replyOf({ promptIDs, text, isOver = false }: Told, startedAt: number): Reply {
    const part = { id: 'prt_1', messageID: 'msg_9', raw: undefined, type: 'text', status: 'sealed' } as const
    return {
      ...emptyReply('ses_1'),
      ...{ promptIDs, startedAt, phase: 'working' },
      messages: text === undefined ? [] : [{ id: 'msg_9', parts: [{ ...part, text }], raw: undefined }],
      ...(isOver && { phase: 'settled', outcome: 'completed', finish: 'stop', settledAt: clock.now() }),
    }
  }
}

async function rest(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

test('a status that a process posted before the prompt was known is taken away by the next process', async () => {
  const { open, pass, statusIn, saidIn, keys } = stage()
  const first = open().begin({ promptIDs: [] })
  await pass(3000)
  expect(statusIn('one')).toHaveLength(1)
  await first.kill()
  const second = open().begin({ promptIDs: ['msg_1'] })
  await pass(3000)
  expect(statusIn('one')).toHaveLength(1)
  second.goOn({ promptIDs: ['msg_1'], text: 'Done.', isOver: true })
  await pass(3000)
  expect(saidIn('one')).toEqual(['Done.'])
  expect(keys()).toEqual(['ledger/tg/one/ses_1/msg_1'])
})

test.each([
  ['and shows a status before that', 3000],
  ['and shows nothing before that', 0],
])('so is one whose next process also posts a prompt that is not known at first, %s', async (_, shownForMs) => {
  const { open, pass, statusIn, saidIn, keys } = stage()
  const first = open().begin({ promptIDs: [] })
  await pass(3000)
  await first.kill()
  const second = open().begin({ promptIDs: [] })
  await pass(shownForMs)
  expect(statusIn('one').length).toBeLessThan(2)
  second.goOn({ promptIDs: ['msg_2'], text: 'Done.', isOver: true })
  await pass(3000)
  expect(saidIn('one')).toEqual(['Done.'])
  expect(keys()).toEqual(['ledger/tg/one/ses_1/msg_2'])
})

test('a post under way is counted as doubtful, too, if the next process does not know its prompt at first', async () => {
  const { open, pass, doubtful, hangs, keys } = stage()
  hangs(true)
  open().begin({ promptIDs: [] })
  await pass(3000)
  hangs(false)
  const second = open().begin({ promptIDs: [] })
  await pass(3000)
  second.goOn({ promptIDs: ['msg_2'], text: 'Done.', isOver: true })
  await pass(3000)
  expect(keys()).toEqual(['ledger/tg/one/ses_1/msg_2'])
  expect(doubtful()).toBe(1)
})

test('a status whose post was under way is counted as doubtful by the next process', async () => {
  const { open, pass, statusIn, saidIn, doubtful, keys, hangs } = stage()
  hangs(true)
  open().begin({ promptIDs: [] })
  await pass(3000)
  expect(statusIn('one')).toHaveLength(1)
  hangs(false)
  open()
    .begin({ promptIDs: ['msg_1'] })
    .goOn({ promptIDs: ['msg_1'], text: 'Done.', isOver: true })
  await pass(3000)
  expect(saidIn('one')).toEqual([expect.stringContaining('Working'), 'Done.'])
  expect(keys()).toEqual(['ledger/tg/one/ses_1/msg_1'])
  expect(doubtful()).toBe(1)
})

test('a reply whose prompt becomes known keeps one ledger', async () => {
  const { open, pass, saidIn, keys } = stage()
  const only = open().begin({ promptIDs: [] })
  await pass(3000)
  expect(keys()).toEqual(['ledger/tg/one/ses_1/time'])
  only.goOn({ promptIDs: ['msg_1'], text: 'Done.', isOver: true })
  await pass(3000)
  expect(keys()).toEqual(['ledger/tg/one/ses_1/msg_1'])
  expect(saidIn('one')).toEqual(['Done.'])
})

test('what a session said without a prompt stays, whichever process shows its next reply', async () => {
  const { open, pass, saidIn, keys } = stage()
  const first = open()
  first.begin({ promptIDs: [] }).goOn({ promptIDs: [], text: 'By itself.', isOver: true })
  await pass(3000)
  first.begin({ promptIDs: ['msg_1'] }).goOn({ promptIDs: ['msg_1'], text: 'One.', isOver: true })
  await pass(3000)
  open()
    .begin({ promptIDs: ['msg_2'] })
    .goOn({ promptIDs: ['msg_2'], text: 'Two.', isOver: true })
  await pass(3000)
  expect(saidIn('one')).toEqual(['By itself.', 'One.', 'Two.'])
  expect(keys()).toEqual(['ledger/tg/one/ses_1/msg_1', 'ledger/tg/one/ses_1/msg_2', 'ledger/tg/one/ses_1/time'])
})

test('the status of a reply without a prompt is not taken from it while its process shows it', async () => {
  const { open, pass, saidIn, statusIn } = stage()
  const only = open()
  const first = only.begin({ promptIDs: [] })
  await pass(3000)
  only.begin({ promptIDs: ['msg_1'] }).goOn({ promptIDs: ['msg_1'], text: 'One.', isOver: true })
  await pass(3000)
  expect(statusIn('one')).toHaveLength(1)
  first.goOn({ promptIDs: [], text: 'By itself.', isOver: true })
  await pass(3000)
  expect(saidIn('one').toSorted()).toEqual(['By itself.', 'One.'])
})

test('two chats that show one session each lose the status that was left in them', async () => {
  const { open, pass, saidIn, keys } = stage()
  const first = open(['one', 'two']).begin({ promptIDs: [] })
  await pass(3000)
  await first.kill()
  open(['one', 'two'])
    .begin({ promptIDs: ['msg_1'] })
    .goOn({ promptIDs: ['msg_1'], text: 'Done.', isOver: true })
  await pass(3000)
  expect([saidIn('one'), saidIn('two')]).toEqual([['Done.'], ['Done.']])
  expect(keys()).toEqual(['ledger/tg/one/ses_1/msg_1', 'ledger/tg/two/ses_1/msg_1'])
})

test.each(['read', 'written'])(
  'nothing is posted without a ledger: the store fails before that is %s',
  async (when) => {
    const { open, pass, saidIn, storeFails } = stage()
    const told = { promptIDs: ['msg_1'] }
    if (when === 'read') storeFails(true)
    const first = open().begin(told)
    storeFails(true)
    first.goOn({ ...told, text: 'Done.', isOver: true })
    await pass(10_000)
    expect(saidIn('one')).toEqual([])
    storeFails(false)
    await pass(60_000)
    expect(saidIn('one')).toEqual([])
    open()
      .begin(told)
      .goOn({ ...told, text: 'Done.', isOver: true })
    await pass(10_000)
    expect(saidIn('one')).toEqual(['Done.'])
  },
)

test('the ledger of a reply is found again if another one of its session was read first at the same time', async () => {
  const stored = createMemoryStore({ clock: createHandClock(), memory: createStoreMemory() })
  const lists: (() => void)[] = []
  const list: typeof stored.list = async (prefix) => {
    const rows = await stored.list(prefix)
    await new Promise<void>((resolve) => lists.push(resolve))
    return rows
  }
  const ledgers = ledgersOf({
    ...{ state: stateOf({ ...stored, list }), channel: 'tg', serverOf: () => undefined, onShown: () => {} },
    whenHeld: async () => new AbortController().signal,
    late: { report: async () => {}, listen: () => () => {} },
    routes: { writeMessages: () => [] } as Partial<Routes> as Routes,
  })
  const [one, other] = ['1/ses_1/1001', '1/ses_1/1002']
  const reads = [ledgers.read(one), ledgers.read(other)]
  await expect.poll(() => lists.length).toBe(2)
  lists[0]?.()
  expect(await reads[0]).toBeUndefined()
  const counts = { notices: 0, heartbeats: 0, doubtful: 0, calls: 1, rateLimited: 0 }
  const empty = { entries: [], breaks: [], reported: [], plain: [] }
  const recent = { times: {}, noticesCountUntil: 0 }
  const text = JSON.stringify({ version: 1, ...empty, ...counts, asks: {}, caps: {}, ids: {}, recent })
  await ledgers.write(one, text)
  lists[1]?.()
  await reads[1]
  expect(await ledgers.read(one)).toBe(text)
})

test('the ledgers of a session that another process wrote lately are passed on, and no others', async () => {
  const clock = createHandClock()
  const state = stateOf(createMemoryStore({ clock, memory: createStoreMemory() }))
  const open = () =>
    ledgersOf({
      ...{ state, channel: 'tg', serverOf: () => undefined, onShown: () => {} },
      whenHeld: async () => new AbortController().signal,
      late: { report: async () => {}, listen: () => () => {} },
      routes: { writeMessages: () => [] } as Partial<Routes> as Routes,
    })
  const ledger = (calls: number): string => JSON.stringify({ version: 1, entries: [], calls })
  const before = open()
  await before.write('1/ses_1/msg_1', ledger(1))
  await clock.advance(600_000)
  await before.write('1/ses_1/msg_2', ledger(2))
  await before.write('1/ses_2/msg_3', ledger(3))
  const next = open()
  await next.write('1/ses_1/msg_4', ledger(4))
  const others: string[] = []
  await next.read('1/ses_1/msg_5', (text) => others.push(text))
  expect(others).toEqual([ledger(2)])
})
