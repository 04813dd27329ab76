import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createSeen, type Seen } from '../src/inbound/seen-ids.ts'
import { type LedgerStore, memoryStore } from '../src/ledger/ledger.ts'

const key = 'inbound/test'

function open(store: LedgerStore | undefined = memoryStore(), clock = createHandClock()) {
  const errors: string[] = []
  const start = (): Seen => createSeen(store, key, clock, (message) => errors.push(message))
  return { store, clock, errors, start }
}

test('an id is known to this process at once, and to the next one through the store', async () => {
  const { start } = open()
  const first = start()
  expect(first.has('1')).toBe(false)
  const stored = first.add('1')
  expect([first.has('1'), await stored]).toEqual([true, true])
  const second = start()
  expect(await Promise.all([second.add('1'), second.add('2')])).toEqual([false, true])
  expect(await start().add('2')).toBe(false)
})

test('without a store nothing is kept for the next process', () => {
  const seen = createSeen(undefined, key, createHandClock(), () => {})
  expect([seen.add('1'), seen.has('1'), seen.has('2')]).toEqual([undefined, true, false])
})

test('ids are kept for two days, and at most 1,000 of them', async () => {
  const { start, clock, store } = open()
  const seen = start()
  await seen.add('old')
  await clock.advance(172_800_001)
  expect([seen.has('old'), await start().add('old')]).toEqual([false, true])
  const many = start()
  await Promise.all(Array.from({ length: 1500 }, (_, index) => many.add(`${index}`)))
  expect([many.has('499'), many.has('500')]).toEqual([false, true])
  expect(JSON.parse((await store.read(key)) ?? '').ids).toHaveLength(1000)
  expect(await Promise.all([start().add('499'), start().add('500')])).toEqual([true, false])
})

test('ids that come while the store writes share the next write', async () => {
  const memory = memoryStore()
  const writes: string[] = []
  const write = async (at: string, text: string): Promise<void> => {
    writes.push(text)
    await memory.write(at, text)
  }
  const { start } = open({ ...memory, write })
  const seen = start()
  await Promise.all(['1', '2', '3', '4'].map((id) => seen.add(id)))
  expect(writes.length).toBeLessThanOrEqual(2)
  expect(JSON.parse(writes.at(-1) ?? '').ids.map(([id]: [string]) => id)).toEqual(['1', '2', '3', '4'])
})

test('a store that fails is reported once, and ids are new', async () => {
  const fail = async (): Promise<never> => {
    throw new Error('disk full')
  }
  const { start, errors } = open({ read: fail, write: fail })
  const seen = start()
  expect([await seen.add('1'), await seen.add('2')]).toEqual([true, true])
  expect(errors).toEqual([
    `The ids in ${key} could not be read. Inbounds that the platform repeats may be handled twice.`,
    `The ids in ${key} could not be written. After a restart, repeated inbounds may be handled twice.`,
  ])
})

test('a text that is not a list of ids counts as a failure to read', async () => {
  const { start, errors, store } = open()
  await store.write(key, '{"version":9}')
  expect(await start().add('1')).toBe(true)
  expect(errors).toHaveLength(1)
})
