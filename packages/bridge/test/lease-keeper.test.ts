import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createLeaseKeeper } from '../src/lease-keeper.ts'
import { createState } from '../src/state.ts'
import { createMemoryStore } from '../src/testing.ts'

async function scene() {
  const clock = createHandClock()
  const store = createMemoryStore({ clock })
  const lost: string[] = []
  const keeper = createLeaseKeeper({ store, clock, holder: 'me', onWaiting: () => {}, onLost: () => lost.push('lost') })
  const onFenced = (): unknown => lost.push('fenced')
  const state = createState({ store, clock, lease: keeper.lease, retake: keeper.retake, onFenced })
  await keeper.take()
  return { clock, store, keeper, state, lost }
}

test('a write with a lease that ran out while no other process wanted it takes it again', async () => {
  const { store, state, keeper, lost } = await scene()
  const held = keeper.lease()
  if (held) await store.release(held)
  expect(await state.commit([{ type: 'put', key: 'a', value: '1' }])).toBe(true)
  expect(await state.read('a')).toBe('1')
  expect(lost).toEqual([])
  await keeper.release()
})

test('a lease that another process had in between is lost, and nothing is written', async () => {
  const { store, state, keeper, lost } = await scene()
  const held = keeper.lease()
  if (held) await store.release(held)
  const other = await store.lease({ name: 'bridge', holder: 'other', forMs: 1000 })
  if (other) await store.release(other)
  await expect(state.commit([{ type: 'put', key: 'a', value: '1' }])).rejects.toThrow('Another process took over')
  expect(await state.read('a')).toBeUndefined()
  expect(lost).toContain('lost')
  // It gives back what it took to find that out.
  expect(await store.lease({ name: 'bridge', holder: 'third', forMs: 1000 })).toBeDefined()
})

test('the lease of a process that died is taken over within 5 s', async () => {
  const clock = createHandClock()
  const store = createMemoryStore({ clock })
  const next = createLeaseKeeper({ store, clock, holder: 'next', onWaiting: () => {}, onLost: () => {} })
  await store.lease({ name: 'bridge', holder: 'dead', forMs: 4000 })
  let isTaken = false
  const taking = next.take().then(() => {
    isTaken = true
  })
  for (let passed = 0; passed < 5000 && !isTaken; passed += 250) await clock.advance(250)
  expect(isTaken).toBe(true)
  await taking
  await next.release()
})
