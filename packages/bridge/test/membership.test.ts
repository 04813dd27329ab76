import { pause, steadyClock } from '@reply/core/internal'
import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createMembership, type HeldLease, type Membership } from '../src/members/membership.ts'
import { createState, createStoreReports, type State } from '../src/state/state.ts'
import { type Beat, type BeatRequest, type Store, StoreError } from '../src/store/store.ts'
import { createMemoryStore, createStoreMemory } from '../src/testing.ts'

const put = { type: 'put', key: 'a', value: '1' } as const
const first = 'shard/00'
const both = [first, 'shard/01']

/** A member with two leases, whose store fails while `broken.with` is set, and others that beat by hand. */
async function scene({ earlyMs = 0, mostMembers }: { earlyMs?: number; mostMembers?: number } = {}) {
  const hand = createHandClock()
  const after: typeof hand.after = (ms, run) => hand.after(ms > earlyMs ? ms - earlyMs : ms, run)
  // As the bridge does.
  const clock = { ...hand, ...steadyClock({ ...hand, after }) }
  const memory = createStoreMemory()
  const broken: { with?: StoreError | undefined; afterMs?: number; answersAfterMs?: number } = {}
  const store = createMemoryStore({ clock, memory, mostMembers })
  const working = createMemoryStore({ clock, memory, mostMembers })
  const failing =
    <Given extends readonly unknown[], Result>(call: (...given: Given) => Promise<Result>) =>
    async (...given: Given): Promise<Result> => {
      const { answersAfterMs } = broken
      if (broken.afterMs) await pause(clock, broken.afterMs)
      if (broken.with) throw broken.with
      const result = await call(...given)
      if (answersAfterMs) await pause(clock, answersAfterMs)
      return result
    }
  const { beat, release, commit, read } = working
  const own: Store = {
    ...{ ...working, beat: failing(beat), release: failing(release) },
    ...{ commit: failing(commit), read: failing(read) },
  }
  const told: string[] = []
  const excesses: number[] = []
  const granted: HeldLease[] = []
  const wants: { shard: readonly string[] } = { shard: both }
  const membership = createMembership({
    ...{ store: own, clock, member: 'me' },
    request: () => ({ layout: 'one', wants: { ...wants }, budgets: {} }),
    onGranted: (lease) => {
      granted.push(lease)
      told.push(`granted ${lease.name}`)
    },
    onLost: ({ name }) => told.push(`lost ${name}`),
    onExcess: ({ shard }) => shard !== undefined && excesses.push(shard),
    onWaiting: (reason) => told.push(`waiting: ${reason}`),
    onStalled: ({ message }) => told.push(message),
    onBack: () => told.push('back'),
    onLeft: () => told.push('left'),
    onJoined: () => told.push('joined'),
  })
  const stopping = new AbortController()
  const reports = createStoreReports(({ message }) => told.push(`failed: ${message}`))
  await membership.join()
  const [lease] = granted
  if (!lease) throw new Error('The member got no lease.')
  expect(told.splice(0)).toEqual(['joined', ...both.map((name) => `granted ${name}`)])
  const stateUnder = (one: HeldLease): State =>
    createState({ store: own, shard: '00', lease: one, clock, stopping: stopping.signal, reports })
  return {
    ...{ clock, store, broken, membership, lease, granted, wants, state: stateUnder(lease), stateUnder },
    ...{ told, excesses, stopping, rest },
  }
}

async function rest(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Another process beats once, and takes what is free of these leases. Returns those that it has. */
async function otherBeats(
  store: Pick<Store, 'beat'>,
  { names = [first], ...request }: Partial<BeatRequest> & { readonly names?: readonly string[] } = {},
): Promise<readonly string[] | Beat> {
  const beat = await store.beat({
    ...{ member: 'other', forMs: 4000, layout: 'one', wants: { shard: names }, budgets: {} },
    ...request,
  })
  return beat.type === 'admitted' ? beat.leases.map(({ name }) => name) : beat
}

/** Ends the member's lease in the store, as if it had expired there. */
async function expire(store: Pick<Store, 'release'>, lease: HeldLease): Promise<void> {
  const held = lease.current()
  if (held) await store.release(held)
}

test('a write with a lease that ran out while no other process wanted it takes it again', async () => {
  const { store, state, lease, membership, told } = await scene()
  await expire(store, lease)
  expect(await state.commit([put])).toBe(true)
  expect(await state.read('a')).toBe('1')
  expect(told).toEqual([])
  await membership.leave()
})

test('a lease that another process had in between is lost, nothing is written, and the process may have it anew', async () => {
  const { store, state, stateUnder, lease, granted, membership, told } = await scene()
  await expire(store, lease)
  expect(await otherBeats(store)).toEqual([first])
  await store.leave('other')
  await expect(state.commit([put])).rejects.toThrow('Another process took over')
  await expect(lease.whenHeld()).rejects.toMatchObject({ type: 'taken-over' })
  expect([lease.isHeld(), lease.current(), await state.read('a')]).toEqual([false, undefined, undefined])
  expect(told).toEqual([`lost ${first}`, `granted ${first}`])
  const anew = granted.at(-1) ?? expect.fail()
  expect(await stateUnder(anew).commit([put])).toBe(true)
  await membership.leave()
})

test('one lease that is lost leaves the others as they are', async () => {
  const { store, clock, lease, granted, membership, told } = await scene()
  const [, second] = granted
  const calls = await Promise.all([lease.whenHeld(), second?.whenHeld()])
  await expire(store, lease)
  expect(await otherBeats(store)).toEqual([first])
  await clock.advance(1000, rest)
  expect(told).toEqual([`lost ${first}`])
  expect([lease.isHeld(), second?.isHeld(), membership.isHeld()]).toEqual([false, true, true])
  expect(calls.map((signal) => signal?.aborted)).toEqual([true, false])
  expect(await second?.renew()).toBe(true)
  await membership.leave()
})

test('a lease that another process releases is granted later', async () => {
  const { store, clock, lease, granted, membership, told } = await scene()
  await expire(store, lease)
  expect(await otherBeats(store)).toEqual([first])
  await clock.advance(1000, rest)
  told.length = 0
  await store.leave('other')
  await clock.advance(1000, rest)
  expect(told).toEqual([`granted ${first}`])
  expect([granted.at(-1)?.name, granted.at(-1)?.isHeld(), lease.isHeld()]).toEqual([first, true, false])
  await membership.leave()
})

test('a member is told how many leases it has had above its share for 4 s, until it released them', async () => {
  const { store, clock, lease, granted, membership, told, excesses } = await scene()
  expect(await otherBeats(store, { names: both, forMs: 20_000 })).toEqual([])
  await clock.advance(4999, rest)
  expect([excesses, membership.others()]).toEqual([[], 1])
  await clock.advance(1, rest)
  expect(excesses).toEqual([1])
  await lease.release()
  expect(await otherBeats(store, { names: both, forMs: 20_000 })).toEqual([first])
  await clock.advance(6000, rest)
  expect(excesses).toEqual([1])
  // A lease that it released is not reported as lost.
  expect([told, granted.length]).toEqual([[], 2])
  await membership.leave()
})

test('a member keeps its leases if a process is started again before it counts as dead', async () => {
  const { store, clock, wants, membership, excesses } = await scene()
  const names = [...both, 'shard/02']
  wants.shard = names
  expect(await otherBeats(store, { member: 'dead', names })).toEqual(['shard/02'])
  const next = silentMember({
    ...{ store, clock, request: () => ({ layout: 'one', wants: { shard: names }, budgets: {} }) },
  })
  await next.join()
  await clock.advance(10_000, rest)
  expect([excesses, membership.others(), next.others()]).toEqual([[], 1, 1])
  await Promise.all([membership.leave(), next.leave()])
})

test('members whose store failed for all of them keep the leases that they had, in whatever order they come back', async () => {
  const clock = createHandClock()
  const memory = createStoreMemory()
  const names = Array.from({ length: 8 }, (_, index) => `shard/0${index}`)
  const told: string[] = []
  const failing = new Set<number>()
  const members = [0, 1, 2, 3].map((at) => {
    const store = createMemoryStore({ clock, memory })
    const beat: Store['beat'] = async (request) => {
      if (failing.has(at)) throw new StoreError('failed', 'The server is starting.')
      return await store.beat(request)
    }
    const held = new Map<string, HeldLease>()
    const membership = silentMember({
      ...{ store: { ...store, beat }, clock, member: `member ${at}` },
      request: () => ({ layout: 'one', wants: { shard: names }, budgets: {} }),
      onGranted: (lease) => held.set(lease.name, lease),
      onLost: ({ name }) => told.push(`${at} lost ${name}`),
      onExcess: ({ shard = 0 }) => {
        for (const [name, lease] of [...held].slice(0, shard)) {
          told.push(`${at} gives ${name} back`)
          held.delete(name)
          void lease.release()
        }
      },
    })
    return { membership, held, at }
  })
  const leasesOf = () => members.map(({ held }) => [...held.keys()].toSorted())
  for (const { membership } of members) await membership.join()
  await clock.advance(10_000, rest)
  const before = leasesOf()
  expect([told.splice(0).length, before.map(({ length }) => length)]).toEqual([6, [2, 2, 2, 2]])
  for (const { at } of members) failing.add(at)
  await clock.advance(6000, rest)
  for (const at of [2, 0, 3, 1]) {
    failing.delete(at)
    await clock.advance(300, rest)
  }
  await clock.advance(10_000, rest)
  expect([told, leasesOf()]).toEqual([[], before])
  for (const { membership } of members) await membership.leave()
})

test('the leases of a process that died are taken over within 5 s', async () => {
  const clock = createHandClock()
  for (const mostMembers of [1, undefined]) {
    const store = createMemoryStore({ clock, mostMembers })
    await otherBeats(store, { member: 'dead', names: both })
    const granted: string[] = []
    const next = silentMember({ store, clock, onGranted: ({ name }) => granted.push(name) })
    const joining = next.join()
    for (let passed = 0; passed < 5000 && granted.length < both.length; passed += 250) await clock.advance(250, rest)
    expect(granted).toEqual(both)
    await joining
    await next.leave()
  }
})

/** A member with defaults for what a test does not need. */
function silentMember(
  options: Partial<Parameters<typeof createMembership>[0]> & { readonly store: Store },
): Membership {
  const nothing = (): void => {}
  return createMembership({
    ...{ clock: createHandClock(), member: 'next', onGranted: nothing, onLost: nothing, onExcess: nothing },
    ...{ onWaiting: nothing, onStalled: nothing, onBack: nothing, onLeft: nothing, onJoined: nothing },
    request: () => ({ layout: 'one', wants: { shard: both }, budgets: {} }),
    ...options,
  })
}

test.each([
  { reason: 'full', mostMembers: 1, other: {} },
  { reason: 'layout', mostMembers: undefined, other: { layout: 'two' } },
  { reason: 'alone', mostMembers: undefined, other: { isAlone: true } },
] as const)('a process that is refused as $reason waits, says so once, and joins then', async (one) => {
  const clock = createHandClock()
  const store = createMemoryStore({ clock, mostMembers: one.mostMembers })
  await otherBeats(store, { forMs: 60_000, ...one.other })
  const waitings: string[] = []
  const next = silentMember({ store, clock, onWaiting: (reason) => waitings.push(reason) })
  const joining = next.join()
  await clock.advance(3000, rest)
  expect([waitings, next.isWaiting(), next.isHeld()]).toEqual([[one.reason], true, false])
  await store.leave('other')
  await clock.advance(250, rest)
  await joining
  expect([next.isWaiting(), next.isHeld()]).toEqual([false, true])
  await next.leave()
})

test('a process that stops waiting to join never joins', async () => {
  const clock = createHandClock()
  const store = createMemoryStore({ clock, mostMembers: 1 })
  await otherBeats(store)
  const next = silentMember({ store, clock })
  const stopping = new AbortController()
  const joining = next.join(stopping.signal)
  await rest()
  stopping.abort(new Error('Stopped.'))
  await expect(joining).rejects.toThrow('Stopped.')
  await store.leave('other')
  await clock.advance(10_000, rest)
  expect([next.isHeld(), await otherBeats(store)]).toEqual([false, [first]])
})

test('a member whose store fails stops by itself before its leases end, says why, and goes on with the same fences', async () => {
  const { clock, broken, membership, lease, granted, told } = await scene()
  const fences = granted.map((one) => one.current()?.fence)
  await clock.advance(1000, rest)
  const held = await lease.whenHeld()
  const free = await membership.whenHeld()
  broken.with = new StoreError('failed', 'The disk is full.')
  // The last beat was at 1,000 ms, so it stops at 4,500.
  await clock.advance(3499, rest)
  expect([lease.isHeld(), held.aborted, free.aborted, told]).toEqual([true, false, false, []])
  await clock.advance(1, rest)
  expect([lease.isHeld(), held.aborted, free.aborted]).toEqual([false, true, true])
  expect(membership.problem()).toContain('is full.')
  broken.with = undefined
  // It asks at once.
  expect((await lease.whenHeld()).aborted).toBe(false)
  expect(granted.map((one) => one.current()?.fence)).toEqual(fences)
  expect([membership.problem(), membership.isWaiting()]).toEqual([undefined, false])
  expect(told).toEqual(["The state can't be written, so no calls are made until it can: The disk is full.", 'back'])
  await membership.leave()
})

test('a member whose timers are early stops when its leases end, and not before', async () => {
  const { clock, broken, membership, lease, told } = await scene({ earlyMs: 1 })
  await clock.advance(999, rest)
  const held = await lease.whenHeld()
  broken.with = new StoreError('failed', 'The disk is full.')
  // The last beat was at 999 ms.
  await clock.advance(3499, rest)
  expect([lease.isHeld(), held.aborted, told]).toEqual([true, false, []])
  await clock.advance(1, rest)
  expect([lease.isHeld(), held.aborted, told.length]).toEqual([false, true, 1])
  await membership.leave()
})

test('a member whose store rejects only after its leases ended says why', async () => {
  const { clock, broken, membership, lease, told } = await scene()
  const held = await lease.whenHeld()
  broken.afterMs = 4000
  broken.with = new StoreError('failed', 'No answer.')
  // It beats at 1,000 ms, and that fails at 5,000.
  await clock.advance(4999, rest)
  expect([held.aborted, membership.problem()]).toEqual([true, undefined])
  await clock.advance(1, rest)
  expect(membership.problem()).toContain('No answer.')
  expect(told).toEqual([membership.problem()])
})

test('a member whose store failed for long goes on if no other process had its leases', async () => {
  const { clock, broken, membership, state, told } = await scene()
  broken.with = new StoreError('failed', 'The disk is full.')
  await clock.advance(600_000, rest)
  await expect(state.commit([put])).rejects.toThrow('The disk is full.')
  expect(told).toHaveLength(1)
  broken.with = undefined
  await clock.advance(1000, rest)
  expect(await state.commit([put])).toBe(true)
  expect(told.at(-1)).toBe('back')
  await membership.leave()
})

test('a member whose store failed for long first takes the leases again that it had, and then those that are free', async () => {
  const { store, clock, broken, wants, membership, granted, told, excesses } = await scene()
  const others = ['shard/02', 'shard/03']
  const all = [...both, ...others]
  expect(await otherBeats(store, { names: all })).toEqual(others)
  wants.shard = all
  broken.with = new StoreError('failed', 'The disk is full.')
  await clock.advance(10_000, rest)
  broken.with = undefined
  await clock.advance(1000, rest)
  // As after a hint.
  await membership.beat()
  // The other one comes back a moment later.
  expect(await otherBeats(store, { names: all })).toEqual(others)
  await clock.advance(1000, rest)
  expect([told.at(-1), granted.length]).toEqual(['back', 2])
  // It does not come back again.
  await clock.advance(5000, rest)
  expect(granted.map(({ name }) => name)).toEqual(all)
  expect(excesses).toEqual([])
  await membership.leave()
})

test('a lease that another process took while the store failed is lost, and what waits to be called is not', async () => {
  const { clock, broken, store, membership, lease, granted, told } = await scene()
  broken.with = new StoreError('failed', 'The disk is full.')
  await clock.advance(4000, rest)
  const waiting = lease.whenHeld().catch(({ type }) => type)
  const waitingOther = granted[1]?.whenHeld()
  expect(await otherBeats(store)).toEqual([first])
  broken.with = undefined
  await clock.advance(1000, rest)
  expect(await waiting).toBe('taken-over')
  expect((await waitingOther)?.aborted).toBe(false)
  expect(told.slice(1)).toEqual(['back', `lost ${first}`])
  await membership.leave()
})

test('a member that is refused after it failed for too long loses all, waits, and joins again by itself', async () => {
  const { clock, broken, store, membership, lease, granted, told } = await scene({ mostMembers: 1 })
  broken.with = new StoreError('failed', 'The disk is full.')
  await clock.advance(4000, rest)
  const waiting = [...granted].map(async (one) => await one.whenHeld().catch(({ type }) => type))
  const waitingFree = membership.whenHeld()
  expect(await otherBeats(store, { names: both })).toEqual(both)
  told.length = 0
  broken.with = undefined
  await clock.advance(1000, rest)
  expect(told).toEqual([...both.map((name) => `lost ${name}`), 'left', 'waiting: full'])
  expect(await Promise.all(waiting)).toEqual(['taken-over', 'taken-over'])
  expect([membership.isWaiting(), membership.isHeld(), membership.problem()]).toEqual([true, false, undefined])
  await store.leave('other')
  told.length = 0
  await clock.advance(250, rest)
  expect(told).toEqual(['joined', ...both.map((name) => `granted ${name}`)])
  expect([(await waitingFree).aborted, membership.isWaiting(), lease.isHeld()]).toEqual([false, false, false])
  expect(granted.slice(2).map((one) => one.isHeld())).toEqual([true, true])
  await membership.leave()
})

test('a member that slept past its leases asks before its next call', async () => {
  const { clock, store, lease, granted } = await scene()
  await lease.whenHeld()
  // As after SIGSTOP: time passed, and no timer has run yet.
  const monotonic = clock.monotonic() + 5000
  Object.assign(clock, { monotonic: () => monotonic, now: () => monotonic, wall: () => monotonic })
  expect(lease.isHeld()).toBe(false)
  expect(await otherBeats(store)).toEqual([first])
  await expect(lease.whenHeld()).rejects.toMatchObject({ type: 'taken-over' })
  expect((await granted[1]?.whenHeld())?.aborted).toBe(false)
})

test('a member on a computer that slept past its leases asks before its next call', async () => {
  const { clock, store, lease, granted } = await scene()
  const { aborted } = await lease.whenHeld()
  // The monotonic clock stood still, and so did the timers.
  clock.step(5000)
  expect([aborted, lease.isHeld()]).toEqual([false, false])
  expect(await otherBeats(store)).toEqual([first])
  await expect(lease.whenHeld()).rejects.toMatchObject({ type: 'taken-over' })
  expect((await granted[1]?.whenHeld())?.aborted).toBe(false)
})

test('a member on a computer whose clock was set back and that then slept past its leases asks before its next call', async () => {
  const { clock, lease } = await scene()
  clock.step(-3_600_000)
  await clock.advance(1000, rest)
  expect(lease.isHeld()).toBe(true)
  clock.step(5000)
  expect(lease.isHeld()).toBe(false)
  expect((await lease.whenHeld()).aborted).toBe(false)
})

test("a correction of the computer's clock ends the time in which calls are made until the next beat, or not at all, and never prolongs it", async () => {
  const { clock, broken, membership, lease, told } = await scene()
  clock.step(600_000)
  expect([(await lease.whenHeld()).aborted, lease.isHeld()]).toEqual([false, true])
  clock.step(-1_200_000)
  expect([lease.isHeld(), told]).toEqual([true, []])
  broken.with = new StoreError('failed', 'The disk is full.')
  await clock.advance(3500, rest)
  expect(lease.isHeld()).toBe(false)
  await membership.leave()
})

test('what must not be lost is written once the store works, and each outage is reported once', async () => {
  const { clock, broken, membership, state, told } = await scene()
  broken.with = new StoreError('failed', 'No.')
  const written = state.withRetries(() => state.commit([put]))
  await clock.advance(3000, rest)
  broken.with = undefined
  await clock.advance(5000, rest)
  expect(await written).toBe(true)
  expect(told.filter((one) => one.startsWith('failed: '))).toEqual(['failed: No.'])
  await membership.leave()
})

test('what waits for a store that fails ends when the bridge stops', async () => {
  const { clock, broken, membership, lease, state, stopping } = await scene()
  broken.with = new StoreError('failed', 'No.')
  const written = state.withRetries(() => state.commit([put])).catch(({ message }) => message)
  await clock.advance(4000, rest)
  const calls = [lease.whenHeld(), membership.whenHeld()].map((call) => call.catch(({ type }) => type))
  stopping.abort()
  membership.quit()
  expect(await written).toBe('No.')
  expect(await Promise.all(calls)).toEqual(['unreachable', 'unreachable'])
  await membership.leave()
})

test('a member that stops keeps its leases for what is still to be done, and takes no more', async () => {
  const { clock, store, wants, membership, lease, granted, told } = await scene()
  expect(await otherBeats(store, { names: ['shard/02'] })).toEqual(['shard/02'])
  membership.quit()
  wants.shard = [...both, 'shard/02']
  await store.leave('other')
  await clock.advance(10_000, rest)
  expect((await lease.whenHeld()).aborted).toBe(false)
  expect([granted.length, granted.every((one) => one.isHeld()), told]).toEqual([2, true, []])
  // It no longer counts where leases are shared.
  const beat = await store.beat({ member: 'other', forMs: 4000, layout: 'one', wants: {}, budgets: {} })
  expect(beat).toMatchObject({ others: 0 })
  await membership.leave()
})

test('a lease that a beat in flight brings to a member that stops is not passed on', async () => {
  const { clock, broken, wants, store, membership, granted, told } = await scene()
  wants.shard = [...both, 'shard/02']
  broken.answersAfterMs = 500
  await clock.advance(1000, rest)
  membership.quit()
  broken.answersAfterMs = 0
  await clock.advance(3000, rest)
  expect([granted.length, told]).toEqual([2, []])
  await membership.leave()
  expect(await otherBeats(store, { names: [...both, 'shard/02'] })).toHaveLength(3)
})

test('a read waits for a store that is busy, and reports one that failed', async () => {
  const { clock, broken, membership, state } = await scene()
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
  await membership.leave()
})

test('a lease that is released is not granted by a beat that was answered before', async () => {
  const { clock, store, broken, membership, lease, granted, wants, told } = await scene()
  broken.answersAfterMs = 500
  // The beat lists the lease. The release comes before its answer.
  await clock.advance(1000, rest)
  const released = lease.release()
  wants.shard = ['shard/01']
  await clock.advance(1000, rest)
  await released
  expect([lease.current(), lease.isHeld(), granted.length, told]).toEqual([undefined, false, 2, []])
  expect(await otherBeats(store)).toEqual([first])
  await membership.leave()
})

test('what changes while a beat is on its way counts at once: one more beat follows, however often it is asked for', async () => {
  const { clock, store, broken, membership, lease, told } = await scene()
  await expire(store, lease)
  expect(await otherBeats(store)).toEqual([first])
  // It has reached the store, which has not answered yet.
  broken.answersAfterMs = 300
  await clock.advance(1000, rest)
  await store.leave('other')
  const beats = [membership.beat(), membership.beat(), membership.beat()]
  await clock.advance(300, rest)
  expect(told.splice(0)).toEqual([`lost ${first}`])
  await clock.advance(300, rest)
  await Promise.all(beats)
  expect(told).toEqual([`granted ${first}`])
  broken.answersAfterMs = 0
  await membership.leave()
})

test('a lease whose release failed is granted again, because no other process can take it', async () => {
  const { clock, broken, membership, lease, granted, told } = await scene()
  broken.with = new StoreError('failed', 'The disk is full.')
  await expect(lease.release()).rejects.toThrow('The disk is full.')
  broken.with = undefined
  await clock.advance(2000, rest)
  expect(told).toEqual([`granted ${first}`])
  expect([lease.isHeld(), granted.at(-1)?.isHeld()]).toEqual([false, true])
  await membership.leave()
})

test('leases that a beat renews while the member leaves are free then, and it does not beat any more', async () => {
  const { clock, store, broken, membership, lease, told } = await scene()
  broken.afterMs = 500
  // The beat begins, and reaches the store later than leaving would.
  await clock.advance(1000, rest)
  const left = membership.leave()
  expect(lease.current()).toBeUndefined()
  await clock.advance(500, rest)
  await left
  expect(await otherBeats(store, { names: both })).toEqual(both)
  await clock.advance(10_000, rest)
  expect([lease.isHeld(), membership.isHeld(), told]).toEqual([false, false, []])
  await expect(lease.whenHeld()).rejects.toMatchObject({ type: 'taken-over' })
  await expect(membership.whenHeld()).rejects.toMatchObject({ type: 'taken-over' })
})

test('a beat that fails after the member left is not reported', async () => {
  const { clock, broken, membership, told } = await scene()
  broken.afterMs = 4000
  broken.with = new StoreError('closed', 'The store is closed.')
  await clock.advance(1000, rest)
  const left = membership.leave()
  await clock.advance(4000, rest)
  await left
  expect([membership.problem(), told]).toEqual([undefined, []])
})
