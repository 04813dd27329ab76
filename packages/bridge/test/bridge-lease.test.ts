import { pause } from '@reply/core/internal'
import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createBridgeLease } from '../src/state/bridge-lease.ts'
import { createState } from '../src/state/state.ts'
import { type Store, StoreError } from '../src/store/store.ts'
import { createMemoryStore, createStoreMemory } from '../src/testing.ts'

const put = { type: 'put', key: 'a', value: '1' } as const

/** A lease whose store fails while `broken.with` is set. */
async function scene({ earlyMs = 0 } = {}) {
  const hand = createHandClock()
  const after: typeof hand.after = (ms, run) => hand.after(ms > earlyMs ? ms - earlyMs : ms, run)
  const clock = { ...hand, after }
  const memory = createStoreMemory()
  const broken: { with?: StoreError | undefined; afterMs?: number } = {}
  const others = createMemoryStore({ clock, memory })
  const working = createMemoryStore({ clock, memory })
  const failing =
    <Given extends readonly unknown[], Result>(call: (...given: Given) => Promise<Result>) =>
    async (...given: Given): Promise<Result> => {
      if (broken.afterMs) await pause(clock, broken.afterMs)
      if (broken.with) throw broken.with
      return await call(...given)
    }
  const { lease: ask, commit, read } = working
  const store: Store = { ...working, lease: failing(ask), commit: failing(commit), read: failing(read) }
  const told: string[] = []
  const lease = createBridgeLease({
    ...{ store, clock, holder: 'me', onWaiting: () => {} },
    onStalled: ({ message }) => told.push(message),
    onBack: () => told.push('back'),
    onLost: () => told.push('lost'),
  })
  const stopping = new AbortController()
  const onError = ({ message }: Error): unknown => told.push(`failed: ${message}`)
  const state = createState({ store, lease, clock, stopping: stopping.signal, onError })
  await lease.takeLease()
  return { clock, store: others, broken, lease, state, told, stopping, rest }

  async function rest(): Promise<void> {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
}

test('a write with a lease that ran out while no other process wanted it takes it again', async () => {
  const { store, state, lease, told } = await scene()
  const held = lease.current()
  if (held) await store.release(held)
  expect(await state.commit([put])).toBe(true)
  expect(await state.read('a')).toBe('1')
  expect(told).toEqual([])
  await lease.release()
})

test('a lease that another process had in between is lost, and nothing is written', async () => {
  const { store, state, lease, told } = await scene()
  const held = lease.current()
  if (held) await store.release(held)
  const other = await store.lease({ name: 'bridge', holder: 'other', forMs: 1000 })
  if (other) await store.release(other)
  await expect(state.commit([put])).rejects.toThrow('Another process took over')
  await expect(lease.whenHeld()).rejects.toMatchObject({ type: 'taken-over' })
  expect(await state.read('a')).toBeUndefined()
  expect(told).toEqual(['lost'])
  // It gives back what it took to find that out.
  expect(await store.lease({ name: 'bridge', holder: 'third', forMs: 1000 })).toBeDefined()
})

test('the lease of a process that died is taken over within 5 s', async () => {
  const clock = createHandClock()
  const store = createMemoryStore({ clock })
  const ignored = { onWaiting: () => {}, onStalled: () => {}, onBack: () => {}, onLost: () => {} }
  const next = createBridgeLease({ store, clock, holder: 'next', ...ignored })
  await store.lease({ name: 'bridge', holder: 'dead', forMs: 4000 })
  let isTaken = false
  const taking = next.takeLease().then(() => {
    isTaken = true
  })
  for (let passed = 0; passed < 5000 && !isTaken; passed += 250) await clock.advance(250)
  expect(isTaken).toBe(true)
  await taking
  await next.release()
})

test('a holder whose store fails stops by itself before its lease ends, says why, and goes on with the same fence', async () => {
  const { clock, broken, lease, told, rest } = await scene()
  const { fence } = lease.current() ?? {}
  await clock.advance(1000, rest)
  const held = await lease.whenHeld()
  broken.with = new StoreError('failed', 'The disk is full.')
  // The last renewal was at 1,000 ms, so it stops at 4,500.
  await clock.advance(3499, rest)
  expect([lease.isHeld(), held.aborted, told]).toEqual([true, false, []])
  await clock.advance(1, rest)
  expect([lease.isHeld(), held.aborted, lease.problem()]).toEqual([false, true, expect.stringContaining('is full.')])
  broken.with = undefined
  // It asks at once.
  expect((await lease.whenHeld()).aborted).toBe(false)
  expect([lease.current()?.fence, lease.problem()]).toEqual([fence, undefined])
  expect(told).toEqual(["The state can't be written, so no calls are made until it can: The disk is full.", 'back'])
  await lease.release()
})

test('a holder whose timers are early stops when its lease ends, and not before', async () => {
  const { clock, broken, lease, told, rest } = await scene({ earlyMs: 1 })
  await clock.advance(999, rest)
  const held = await lease.whenHeld()
  broken.with = new StoreError('failed', 'The disk is full.')
  // The last renewal was at 999 ms.
  await clock.advance(3499, rest)
  expect([lease.isHeld(), held.aborted, told]).toEqual([true, false, []])
  await clock.advance(1, rest)
  expect([lease.isHeld(), held.aborted, told.length]).toEqual([false, true, 1])
  await lease.release().catch(() => {})
})

test('a holder whose store rejects only after its lease ended says why', async () => {
  const { clock, broken, lease, told, rest } = await scene()
  const held = await lease.whenHeld()
  broken.afterMs = 4000
  broken.with = new StoreError('failed', 'No answer.')
  // It renews at 1,000 ms, and that fails at 5,000.
  await clock.advance(4999, rest)
  expect([held.aborted, lease.problem()]).toEqual([true, undefined])
  await clock.advance(1, rest)
  expect(lease.problem()).toContain('No answer.')
  expect(told).toEqual([lease.problem()])
})

test('a holder whose store failed for long goes on if no other process had the lease', async () => {
  const { clock, broken, lease, state, told, rest } = await scene()
  broken.with = new StoreError('failed', 'The disk is full.')
  await clock.advance(600_000, rest)
  await expect(state.commit([put])).rejects.toThrow('The disk is full.')
  expect(told).toHaveLength(1)
  broken.with = undefined
  await clock.advance(1000, rest)
  expect(await state.commit([put])).toBe(true)
  expect(told.at(-1)).toBe('back')
  await lease.release()
})

test('a holder whose store failed while another process took over is lost, and what waits to be called is not', async () => {
  const { clock, broken, store, lease, told, rest } = await scene()
  broken.with = new StoreError('failed', 'The disk is full.')
  await clock.advance(4000, rest)
  const waiting = lease.whenHeld().catch(({ type }) => type)
  await store.lease({ name: 'bridge', holder: 'other', forMs: 4000 })
  broken.with = undefined
  await clock.advance(1000, rest)
  expect(await waiting).toBe('taken-over')
  expect(told.at(-1)).toBe('lost')
})

test('a holder that slept past its lease asks before its next call', async () => {
  const { clock, store, lease } = await scene()
  await lease.whenHeld()
  // As after SIGSTOP: time passed, and no timer has run yet.
  const monotonic = clock.monotonic() + 5000
  Object.assign(clock, { monotonic: () => monotonic, now: () => monotonic })
  expect(lease.isHeld()).toBe(false)
  await store.lease({ name: 'bridge', holder: 'other', forMs: 4000 })
  await expect(lease.whenHeld()).rejects.toMatchObject({ type: 'taken-over' })
})

test("a correction of the computer's clock neither ends nor prolongs the time in which calls are made", async () => {
  const { clock, broken, lease, rest } = await scene()
  clock.step(600_000)
  expect(lease.isHeld()).toBe(true)
  clock.step(-1_200_000)
  broken.with = new StoreError('failed', 'The disk is full.')
  await clock.advance(3500, rest)
  expect(lease.isHeld()).toBe(false)
  await lease.release()
})

test('what must not be lost is written once the store works, and each outage is reported once', async () => {
  const { clock, broken, lease, state, told, rest } = await scene()
  broken.with = new StoreError('failed', 'No.')
  const written = state.withRetries(() => state.commit([put]))
  await clock.advance(3000, rest)
  broken.with = undefined
  await clock.advance(5000, rest)
  expect(await written).toBe(true)
  expect(told.filter((one) => one.startsWith('failed: '))).toEqual(['failed: No.'])
  await lease.release()
})

test('what waits for a store that fails ends when the bridge stops', async () => {
  const { clock, broken, lease, state, stopping, rest } = await scene()
  broken.with = new StoreError('failed', 'No.')
  const written = state.withRetries(() => state.commit([put])).catch(({ message }) => message)
  await clock.advance(4000, rest)
  const call = lease.whenHeld().catch(({ type }) => type)
  stopping.abort()
  lease.quit()
  expect(await written).toBe('No.')
  expect(await call).toBe('unreachable')
  await lease.release()
})

test('a read waits for a store that is busy, and reports one that failed', async () => {
  const { clock, broken, lease, state, rest } = await scene()
  await state.commit([put])
  broken.with = new StoreError('busy', 'Not now.')
  const read = state.read('a')
  await clock.advance(30_000, rest)
  broken.with = undefined
  await clock.advance(5000, rest)
  expect(await read).toBe('1')
  broken.with = new StoreError('failed', 'No.')
  await expect(state.read('a')).rejects.toThrow('No.')
  broken.with = undefined
  await lease.release()
})

test('a lease that is renewed while it is released is free then, and is not renewed any more', async () => {
  const { clock, store, broken, lease, told, rest } = await scene()
  broken.afterMs = 500
  // The renewal begins, and reaches the store later than the release would.
  await clock.advance(1000, rest)
  const released = lease.release()
  await clock.advance(500, rest)
  await released
  expect(lease.current()).toBeUndefined()
  expect(await store.lease({ name: 'bridge', holder: 'other', forMs: 4000 })).toBeDefined()
  await clock.advance(10_000, rest)
  expect([lease.isHeld(), told]).toEqual([false, []])
})

test('a renewal that fails after the release is not reported', async () => {
  const { clock, broken, lease, told, rest } = await scene()
  broken.afterMs = 4000
  broken.with = new StoreError('closed', 'The store is closed.')
  await clock.advance(1000, rest)
  const released = lease.release()
  await clock.advance(4000, rest)
  await released
  expect([lease.problem(), told]).toEqual([undefined, []])
})
