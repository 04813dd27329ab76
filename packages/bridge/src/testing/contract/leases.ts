import type { Demand } from '@reply/core/testing'
import type { Store, StoreLease } from '../../store/store.ts'
import { commitDone, put, requireEqual, type StoreStage, takeFreeLease } from './stage.ts'

/** Clauses about leases. */
export const leaseClauses = [
  {
    name: 'gives a lease to one holder at a time',
    run: async (stage) => {
      const one = await stage.open()
      const other = await stage.open()
      const lease = await takeFreeLease(one, 'one')
      const expected: StoreLease = { name: 'bridge', holder: 'one', fence: lease.fence, validForMs: 1000 }
      requireEqual(sortedFields(lease), sortedFields(expected), 'The lease')
      requireEqual(await other.lease({ name: 'bridge', holder: 'other', forMs: 1000 }), undefined, "Another's request")
      await stage.pass(999)
      requireEqual(
        await other.lease({ name: 'bridge', holder: 'other', forMs: 1000 }),
        undefined,
        'A request 1 ms early',
      )
    },
  },
  {
    name: 'renews with the same fence, from now on',
    run: async (stage) => {
      const store = await stage.open()
      const first = await takeFreeLease(store, 'one')
      await stage.pass(900)
      const second = await takeFreeLease(store, 'one')
      requireEqual(sortedFields(second), sortedFields(first), 'The renewed lease')
      await stage.pass(900)
      await commitDone(store, [put('key', 'by the lease from before')], first)
      requireEqual((await takeFreeLease(store, 'one', 10)).validForMs, 10, 'The time of a shorter renewal')
      await stage.pass(10)
      await requireFenced(store, first)
    },
  },
  {
    name: 'gives a lease that ran out to another, with a greater fence',
    run: async (stage) => {
      const one = await stage.open()
      const other = await stage.open()
      const first = await takeFreeLease(one, 'one')
      await stage.pass(1000)
      const second = await takeFreeLease(other, 'other')
      requireNextFence(first, second)
      requireEqual(
        await one.lease({ name: 'bridge', holder: 'one', forMs: 1000 }),
        undefined,
        'The request of the first',
      )
    },
  },
  {
    name: 'tells by the fence whether another held a lease in between',
    run: async (stage) => {
      const one = await stage.open()
      const other = await stage.open()
      const first = await takeFreeLease(one, 'one')
      await stage.pass(1000)
      const second = await takeFreeLease(other, 'other')
      await other.release(second)
      requireEqual((await takeFreeLease(one, 'one')).fence, first.fence + 2, 'The fence after another had the lease')
    },
  },
  {
    name: 'gives a lease that ran out to its last holder, with a greater fence',
    run: async (stage) => {
      const store = await stage.open()
      const first = await takeFreeLease(store, 'one')
      await stage.pass(1000)
      const second = await takeFreeLease(store, 'one')
      requireNextFence(first, second)
      await requireFenced(store, first)
      await commitDone(store, [put('key', 'value')], second)
    },
  },
  {
    name: 'frees what is given back, and goes on with its fence',
    run: async (stage) => {
      const store = await stage.open()
      const first = await takeFreeLease(store, 'one')
      await store.release(first)
      await requireFenced(store, first)
      const second = await takeFreeLease(store, 'one')
      requireNextFence(first, second)
      await store.release(second)
      requireNextFence(second, await takeFreeLease(store, 'other'))
    },
  },
  {
    name: 'ignores the return of a lease that is not held',
    run: async (stage) => {
      const store = await stage.open()
      const first = await takeFreeLease(store, 'one')
      await stage.pass(1000)
      await store.release(first)
      const second = await takeFreeLease(store, 'other')
      await store.release(first)
      await store.release({ ...second, holder: 'one' })
      await store.release({ ...second, name: 'none' })
      await commitDone(store, [put('key', 'value')], second)
    },
  },
  {
    name: 'fences a holder from the moment that its lease runs out',
    run: async (stage) => {
      const store = await stage.open()
      const lease = await takeFreeLease(store, 'one')
      await stage.pass(999)
      await commitDone(store, [put('key', 'in time')], lease)
      await stage.pass(1)
      await requireFenced(store, lease)
      requireEqual(await store.read('key'), 'in time', 'The key')
    },
  },
  {
    name: 'fences a holder that was replaced, and writes nothing of it',
    run: async (stage) => {
      const one = await stage.open()
      const other = await stage.open()
      const first = await takeFreeLease(one, 'one')
      await stage.pass(1000)
      const second = await takeFreeLease(other, 'other')
      await commitDone(other, [put('key', 'of the other')], second)
      await requireFenced(one, first)
      requireEqual(
        (await one.list('')).map(({ value }) => value),
        ['of the other'],
        'The values',
      )
    },
  },
  {
    name: 'fences a lease that was never given',
    run: async (stage) => {
      const store = await stage.open()
      const lease = await takeFreeLease(store, 'one')
      await requireFenced(store, { ...lease, fence: lease.fence + 1 })
      await requireFenced(store, { ...lease, holder: 'other' })
      await requireFenced(store, { ...lease, name: 'none' })
      await requireFenced(store, { ...lease, fence: lease.fence - 1, validForMs: 9999 })
    },
  },
  {
    name: 'is fenced rather than in conflict, also without writes',
    run: async (stage) => {
      const store = await stage.open()
      const lease = await takeFreeLease(store, 'one')
      requireEqual(await store.commit([], lease), { type: 'done' }, 'A commit without writes')
      await stage.pass(1000)
      requireEqual(await store.commit([], lease), { type: 'fenced' }, 'A late commit without writes')
      const wrong = { type: 'dequeue', queue: 'none', id: 'none' } as const
      requireEqual(await store.commit([wrong], lease), { type: 'fenced' }, 'A late commit that would conflict')
    },
  },
  {
    name: 'keeps leases of other names apart',
    run: async (stage) => {
      const store = await stage.open()
      const lease = await takeFreeLease(store, 'one')
      const other = await store.lease({ name: '\ud83dbridge%', holder: '\0other', forMs: 10 })
      requireEqual(other?.holder, '\0other', 'The holder of another lease')
      await stage.pass(10)
      await commitDone(store, [put('key', 'value')], lease)
      if (other) await requireFenced(store, other)
    },
  },
  {
    name: 'gives a free lease to one of many that ask at the same time',
    run: async (stage) => {
      const stores = [await stage.open(), await stage.open()]
      const requests = Array.from({ length: 10 }, (_, index) =>
        stores[index % 2]?.lease({ name: 'bridge', holder: `${index}`, forMs: 1000 }),
      )
      requireEqual(
        (await Promise.all(requests)).filter((lease) => lease !== undefined).length,
        1,
        'The number of leases',
      )
    },
  },
] as const satisfies readonly Demand<StoreStage>[]

/** Throws unless a commit with the lease is fenced and writes nothing. */
async function requireFenced(store: Store, lease: StoreLease): Promise<void> {
  requireEqual(await store.commit([put('fenced', 'value')], lease), { type: 'fenced' }, 'A commit without its lease')
  requireEqual(await store.read('fenced'), undefined, 'What a fenced commit wrote')
}

/**
 * Throws unless the second fence is the next one. The fence increases by one, so that a holder can tell whether another
 * process held the lease in between.
 */
function requireNextFence(first: StoreLease, second: StoreLease): void {
  requireEqual(second.fence, first.fence + 1, 'The next fence')
}

/** Returns the fields of a lease by name, because engines may order them differently. */
function sortedFields(lease: StoreLease): readonly (readonly [string, unknown])[] {
  return Object.entries(lease).toSorted(([one], [other]) => (one < other ? -1 : 1))
}
