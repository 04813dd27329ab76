import type { Demand } from '@reply/core/testing'
import type { Store, StoreLease } from '../../store/store.ts'
import { beatForLease, commitDone, put, requireEqual, type StoreStage, takeFreeLease } from './stage.ts'

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
      requireEqual(await beatForLease(other, 'other'), undefined, 'What another gets')
      await stage.pass(999)
      requireEqual(await beatForLease(other, 'other'), undefined, 'What another gets 1 ms early')
    },
  },
  {
    name: 'ends a lease earlier that is renewed for a shorter time',
    run: async (stage) => {
      const store = await stage.open()
      const first = await takeFreeLease(store, 'one')
      const second = await takeFreeLease(store, 'one', 10)
      requireEqual([second.fence, second.validForMs], [first.fence, 10], 'The fence and time of a shorter renewal')
      await stage.pass(9)
      await commitDone(store, [put('key', 'by the lease from before')], first)
      await stage.pass(1)
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
      requireEqual(await beatForLease(one, 'one'), undefined, 'What the first gets')
    },
  },
  {
    name: 'tells by the fence whether another held a lease in between',
    run: async (stage) => {
      const one = await stage.open()
      const other = await stage.open()
      const first = await takeFreeLease(one, 'one')
      await stage.pass(1000)
      await takeFreeLease(other, 'other')
      await other.leave('other')
      requireEqual((await takeFreeLease(one, 'one')).fence, first.fence + 2, 'The fence after another had the lease')
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
      await store.leave('one')
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
      const [member, name] = ['\0one', '\ud83dbridge%']
      const wants = { '\0group\ude00': ['bridge', name] }
      const beat = await store.beat({ member, forMs: 1000, layout: '', wants, budgets: {} })
      const [lease, other] = beat.type === 'admitted' ? beat.leases : []
      requireEqual([lease?.name, other?.name, other?.holder], ['bridge', name, member], 'The leases')
      if (other) await store.release(other)
      await commitDone(store, [put('key', 'value')], lease)
      if (other) await requireFenced(store, other)
    },
  },
  {
    name: 'gives a free lease to one of many that ask at the same time',
    run: async (stage) => {
      const stores = [await stage.open(), await stage.open()]
      const requests = Array.from({ length: 5 }, (_, index) =>
        stores.map((store, place) => beatForLease(store, `${index}.${place}`)),
      )
      requireEqual(
        (await Promise.all(requests.flat())).filter((lease) => lease !== undefined).length,
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
