import { describe, expect, test } from 'vitest'
import { deliveryOf } from '../src/deliver/delivery.ts'
import { SinkError } from '../src/error.ts'
import { emptyHash, hashedTo, hashOf, hashOfState } from '../src/hash.ts'
import type { Entry } from '../src/ledger/entry.ts'
import { emptyLedger, type Ledger, type LedgerStore, memoryStore, shownOf } from '../src/ledger/ledger.ts'
import { createSink } from '../src/sink.ts'
import { createFake, fakeRender } from '../src/testing/fake.ts'
import { doubtfulEntry, failedEntry, goneEntry, intentEntry, shownEntry } from './entries.ts'
import { replyWith, settledWith, text } from './make.ts'
import { createScene } from './scene.ts'
import { beginning } from './timeline.ts'

const ledgerOf = (...entries: readonly Entry[]): Ledger => ({ ...emptyLedger, entries })

describe('a ledger', () => {
  test('survives JSON', () => {
    const ledger = ledgerOf(shownEntry('answer#0'))
    expect(JSON.parse(JSON.stringify(ledger))).toEqual(ledger)
  })

  test('tells what was posted last, and what notified last', () => {
    const loud = shownEntry('ask:1:0', { at: beginning + 5, isLoud: true })
    const shown = shownOf(ledgerOf(loud, shownEntry('answer#0', { at: beginning + 9 })))
    expect(shown).toMatchObject({ postedAt: beginning + 9, loudAt: beginning + 5 })
  })

  test('counts neither failed entries nor intents as posted', () => {
    const ledger = ledgerOf(failedEntry('answer#0'), intentEntry('answer#1'))
    expect(shownOf(ledger).posted.size).toBe(0)
  })

  test('counts removed and doubtful messages as posted', () => {
    const ledger = ledgerOf(goneEntry('a#0'), doubtfulEntry('b#0'))
    expect([...shownOf(ledger).posted.keys()]).toEqual(['a', 'b'])
  })
})

describe('a delivery', () => {
  test('names failures with their reasons, but leaves out a status', () => {
    const ledger = ledgerOf(failedEntry('answer#0'), failedEntry('status', { type: 'status' }))
    expect(deliveryOf(ledger).undelivered).toEqual([
      { key: 'answer#0', card: 'answer', type: 'refused', reason: 'It may not.' },
    ])
  })

  test('counts messages that are there, and those that may be', () => {
    const ledger = { ...ledgerOf(shownEntry('a#0'), doubtfulEntry('b#0'), intentEntry('c#0')), doubtful: 1 }
    expect(deliveryOf(ledger)).toMatchObject({ shown: 1, doubtful: 2 })
  })
})

describe('a store', () => {
  const broken: LedgerStore = {
    read: () => Promise.reject(new Error('no disk')),
    write: () => Promise.reject(new Error('no disk')),
  }

  test('that fails costs the memory, not the answer, and is reported once for reads and once for writes', async () => {
    const scene = createScene({ sink: { store: broken } })
    scene.show(settledWith([text('All of it.')]))
    expect(await scene.end()).toMatchObject({ shown: 1, undelivered: [] })
    expect(scene.errors.map(({ type, message }) => [type, /could not be (\w+)/.exec(message)?.[1]])).toEqual([
      ['store', 'read'],
      ['store', 'written'],
    ])
  })

  test.each(['', 'nonsense', '{"version":3,"entries":[]}', '{"version":1}', '[]'])(
    'that contains "%s" is reported, and a new ledger begun',
    async (kept) => {
      const written = new Map<string, string>()
      const store: LedgerStore = {
        read: async () => kept,
        write: async (key, value) => void written.set(key, value),
      }
      const scene = createScene({ sink: { store } })
      scene.show(settledWith([text('All of it.')]))
      expect(await scene.end()).toMatchObject({ shown: 1 })
      expect(scene.errors).toMatchObject([{ type: 'store' }])
      expect([...written.keys()]).toEqual(['chat/ses_1/msg_1'])
    },
  )

  test('keeps chats, threads and prompts apart', async () => {
    const keys: string[] = []
    const memory = memoryStore()
    const write: LedgerStore['write'] = async (key, value) => {
      keys.push(key)
      await memory.write(key, value)
    }
    const store: LedgerStore = { ...memory, write }
    for (const chat of [{ id: 'a/b' }, { id: 'a', thread: 'b' }]) {
      const scene = createScene({ sink: { store, chat } })
      scene.show(settledWith([text('One.')]))
      await scene.end()
    }
    const other = createScene({ sink: { store } })
    other.show(settledWith([text('Two.')], { promptIDs: ['msg_9'] }))
    await other.end()
    expect([...new Set(keys)]).toEqual(['a%2Fb/ses_1/msg_1', 'a/b/ses_1/msg_1', 'chat/ses_1/msg_9'])
  })

  test('knows of a post before it is made', async () => {
    const scene = createScene({ fake: { faults: [{ call: 1, type: 'unreachable' }] } })
    scene.show(replyWith([text('One.', { status: 'open' })]))
    await scene.pass(300)
    const kept: Ledger = JSON.parse((await scene.store.read('chat/ses_1/msg_1')) ?? 'null')
    expect(kept.calls).toBe(1)
    expect(scene.fake.calls.filter(({ verb }) => verb === 'post')).toMatchObject([{ result: 'unreachable' }])
  })
})

test.each([
  [{ firstFlushMs: -1 }, 'firstFlushMs'],
  [{ toolThrottleMs: 10 }, 'toolThrottleMs'],
  [{ documentLength: 1.5 }, 'documentLength'],
])('a policy of %j is refused by name', (policy, field) => {
  const { port } = createFake({ clock: createScene().clock })
  const make = () => createSink({ port, render: fakeRender, chat: { id: 'chat' }, policy })
  expect(make).toThrow(SinkError)
  expect(make).toThrow(field)
})

test('hashing a text in steps gives the hash of each prefix', () => {
  const words = 'One 👍 two. '.repeat(20)
  const ends = [0, 3, 5, 5, 100, words.length]
  let state = emptyHash
  const hashes = ends.map((end) => {
    state = hashedTo(end, words, state)
    return hashOfState(state)
  })
  expect(hashes).toEqual(ends.map((end) => hashOf(words.slice(0, end))))
  expect(new Set(hashes).size).toBe(ends.length - 1)
})
