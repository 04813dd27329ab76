import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHandClock } from '@reply/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { failedPrefix, failuresIn } from '../src/failed/failure-rows.ts'
import { queueDecoders, rowDecoders, withoutUnreadableRows } from '../src/failed/unreadable-rows.ts'
import { phases, statuses } from '../src/state/execution.ts'
import { keyInShard } from '../src/state/shard-of.ts'
import { createState, createStoreReports, type State } from '../src/state/state.ts'
import { sqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import type { Store, Write } from '../src/store/store.ts'
import { startHandDriven } from './hand-driven.ts'
import { answer } from './local-agent.ts'
import { keyOfChat, telegramChat } from './shard-rows.ts'

/** Where a row of each kind is, in the chat of the test. */
const keys: Readonly<Record<string, string>> = {
  'execution/': 'execution/telegram/1//abcdef',
  'log/': 'log/telegram/1//abcdef',
  'newest/': 'newest/home/ses_0',
  'route/': 'route/telegram/1/',
  'session/': 'session/telegram/1//ses_0',
  'session-chat/': 'session-chat/home/ses_0',
  'message/': 'message/telegram/1/70000',
  'allowed/': 'allowed/home/0000000000000001/abc',
  'unknown/': 'unknown/telegram/1//abcdef',
  'notice/': 'notice/telegram/1//abcdef',
  'suspect/': 'suspect/execution%2Ftelegram%2F1%2F%2Fabcdef',
  'stopping/': 'stopping/tg/1//abc123',
  'ask/': 'ask/per_0',
  'told/': 'told/per_0/telegram/1/',
  'seen/': 'seen/telegram/1/70000',
  'ledger/': 'ledger/telegram/1/ses_0/msg_0',
  'wake/': 'wake/home',
}
const queues: Readonly<Record<string, string>> = {
  'inbox/': 'inbox/telegram/1/',
  'prompts/': 'prompts/telegram/1/',
  'backlog/': 'backlog/telegram/1/',
}

/** JSON that was cut off, JSON of another kind, and no JSON. */
const values = ['{"id":"abcdef","phase":"do', '{}', '[{}]', 'null', 'oops', '']

/** Each value in each kind of row. */
const unreadable = Object.values(keys).flatMap((key) => values.map((value) => ({ key, value })))

test('every kind of row that a bridge decodes has a row here', () => {
  expect(Object.keys(keys)).toEqual(Object.keys(rowDecoders))
  expect(Object.keys(queues)).toEqual(Object.keys(queueDecoders))
})

describe('in a real state', () => {
  let folder = ''
  let store: Store
  let state: State
  let errors: readonly Error[] = []
  let asides = 0
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'reply-bridge-'))
    const clock = createHandClock()
    store = await sqliteStore({ folder, clock })
    const wants = { shard: ['shard/00'] }
    const beat = await store.beat({ member: 'test', forMs: 60_000, layout: '', wants, budgets: {} })
    const granted = beat.type === 'admitted' ? beat.leases[0] : undefined
    const lease = { current: () => granted, renew: async () => false }
    const stopping = new AbortController().signal
    const onError = (error: Error): void => {
      errors = [...errors, error]
    }
    const reports = createStoreReports(onError)
    const written = createState({ store, shard: '00', lease, clock, stopping, reports })
    errors = []
    asides = 0
    state = withoutUnreadableRows({ state: written, now: clock.now, onError, onPutAside: () => asides++ })
  })
  afterEach(async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  })
  const failures = async () => failuresIn(await store.list(failedPrefix))
  const stored = (key: string): string => keyInShard('00', key)

  test.each(unreadable)('$value in $key is put aside with its key, and absent from then on', async ({ key, value }) => {
    await store.commit([{ type: 'put', key: stored(key), value }])
    expect(await state.read(key)).toBeUndefined()
    expect(await state.list(key)).toEqual([])
    expect([await store.read(stored(key)), await failures()]).toMatchObject([undefined, [{ type: 'row', key, value }]])
    expect([errors.length, asides]).toEqual([1, 1])
    expect(errors[0]?.message).toContain(`The row ${key} of the state can't be read`)
    expect(errors[0]?.message).not.toContain('abcdef","phase')
  })

  test.each(Object.values(queues).flatMap((key) => values.map((value) => ({ key, value }))))(
    '$value in the queue $key is put aside with its id, and the others stay in their order',
    async ({ key, value }) => {
      const entry = (id: string): Write => ({ type: 'enqueue', queue: stored(key), id, value: promptText(id) })
      await store.commit([entry('1'), { type: 'enqueue', queue: stored(key), id: '2', value }, entry('3')])
      expect((await state.queue(key)).map(({ id }) => id)).toEqual(['1', '3'])
      expect((await store.queue(stored(key))).map(({ id }) => id)).toEqual(['1', '3'])
      expect(await failures()).toMatchObject([{ type: 'row', key, id: '2', value }])
    },
  )

  test.each(phases.flatMap((phase) => statuses.map((status) => ({ phase, status }))))(
    'an execution that is $phase and $status is read',
    async ({ phase, status }) => {
      const key = keys['execution/'] ?? ''
      const [id, server, startedAt] = ['abcdef', 'home', 1]
      const value = JSON.stringify({ id, phase, status, server, startedAt, prompt: JSON.parse(promptText('1')) })
      await store.commit([{ type: 'put', key: stored(key), value }])
      expect(await state.read(key)).toBe(value)
    },
  )

  test.each(['wake/%zz/ses_0', 'wake/home/%zz', 'wake/home/', 'wake/home'])(
    'a handed-over session with the key %s is put aside, and the others are followed',
    async (key) => {
      const good = 'wake/home/ses_0'
      await store.commit([key, good].map((one) => ({ type: 'put', key: stored(one), value: '' })))
      expect((await state.list('wake/')).map((row) => row.key)).toEqual([good])
      expect(await failures()).toMatchObject([{ type: 'row', key }])
    },
  )

  test('two reads of a row at the same time put it aside once', async () => {
    await store.commit([{ type: 'put', key: 'route/telegram/1/', value: 'oops' }])
    const both = ['route/telegram/1/', 'route/telegram/1/'].map((key) => state.read(key))
    expect(await Promise.all(both)).toEqual([undefined, undefined])
    expect([(await failures()).length, errors.length]).toEqual([1, 1])
  })

  test('a failure that can’t be read itself is listed as a row', async () => {
    const key = stored('failed/delivery/telegram/1//abc')
    await store.commit([{ type: 'put', key, value: 'oops' }])
    expect(await failures()).toMatchObject([{ type: 'row', key, value: 'oops' }])
  })
})

function promptText(id: string): string {
  const place = { channel: 'telegram', chat: { id: '1' } }
  return JSON.stringify({
    ...{ ...place, id, actor: { id: '1', name: 'Ann' }, text: 'one', files: [], isCommand: false },
    ...{ messageRef: { id }, receivedAt: 1 },
  })
}

test.each(values)('a bridge starts with %j in every kind of row, answers, and lists them all', async (value) => {
  let store: Store | undefined
  const inChat = (key: string): string => keyOfChat(telegramChat(1), key)
  const { telegram, chats, said, passes } = await startHandDriven((run, text) => answer(run, `You said: ${text}.`), {
    storeOf: (made) => {
      store = made
      let isWritten = false
      const writes: readonly Write[] = [
        ...Object.values(keys).map((key) => ({ type: 'put', key: inChat(key), value }) as const),
        ...Object.values(queues).map((queue) => ({ type: 'enqueue', queue: inChat(queue), id: '9', value }) as const),
      ]
      const beat: Store['beat'] = async (request) => {
        const taken = await made.beat(request)
        // Before the bridge reads anything.
        if (!isWritten) await made.commit(writes)
        isWritten = true
        return taken
      }
      return { ...made, beat }
    },
  })
  telegram.say(1, 'one')
  await passes(() => said(1).includes('You said: one.'))
  for (const command of ['/list', '/sessions', '/allowed', '/queue', '/status']) telegram.say(1, command)
  await passes(() => said(1).length >= 9)
  expect(said(1).filter((text) => text.startsWith('That failed'))).toEqual([])
  // Its inbox, queue and backlog had one each.
  expect(
    said(1).filter((text) => text.startsWith('A message in the queue of this chat could not be read')),
  ).toHaveLength(3)
  const aside = failuresIn((await store?.list(failedPrefix)) ?? []).map((one) => one.type === 'row' && one.key)
  const atStart = ['execution/', 'route/', 'session/', 'allowed/'].map((kind) => keys[kind])
  expect(aside).toEqual(expect.arrayContaining([...atStart, ...Object.values(queues)]))
  await chats.close()
})
