import type { Demand } from '@reply/core/testing'
import { type Store, StoreError } from '../../store/store.ts'
import {
  beatForLease,
  commitDone,
  dequeue,
  enqueue,
  idsIn,
  put,
  requireEqual,
  type StoreStage,
  takeFreeLease,
} from './stage.ts'

const calls: readonly ((store: Store) => Promise<unknown>)[] = [
  (store) => store.read('key'),
  (store) => store.list(''),
  (store) => store.queue('chat'),
  (store) => store.queues(''),
  (store) => store.commit([]),
  (store) => store.beat({ member: 'one', forMs: 1, layout: '1', wants: {}, budgets: {} }),
  (store) => store.leave('one'),
  async (store) => store.watch(() => {}),
  (store) => store.release({ name: 'bridge', holder: 'one', fence: 1, validForMs: 1 }),
  (store) => store.sweep(),
]

/** Clauses about durability, and about several stores on one state. */
export const durabilityClauses = [
  {
    name: 'has everything again when it is opened again',
    run: async (stage) => {
      const before = await stage.open()
      const lease = await takeFreeLease(before, 'one')
      await commitDone(before, [put('key', 'value'), put('short', 'value', 500)], lease)
      await commitDone(before, [enqueue('b'), enqueue('a'), enqueue('c')], lease)
      await commitDone(before, [dequeue('c')], lease)
      await before.close()
      const after = await stage.open()
      requireEqual(
        (await after.list('')).map(({ key }) => key),
        ['key', 'short'],
        'The keys',
      )
      await commitDone(after, [enqueue('0')], lease)
      requireEqual(await idsIn(after), ['b', 'a', '0'], 'The queue')
      requireEqual(await beatForLease(after, 'other', 1), undefined, 'A lease that another holds')
      await stage.pass(500)
      requireEqual(await after.read('short'), undefined, 'A value at its end')
      await stage.pass(500)
      const next = await takeFreeLease(after, 'other')
      requireEqual(next.fence > lease.fence, true, 'That the fence grows')
    },
  },
  {
    name: 'shows what is done to others at once',
    run: async (stage) => {
      const one = await stage.open()
      const other = await stage.open()
      for (let round = 0; round < 5; round++) {
        await commitDone(one, [put('key', `${round}`), enqueue(`one${round}`)])
        requireEqual(await other.read('key'), `${round}`, 'The key in the other')
        await commitDone(other, [put('key', `${round}!`), enqueue(`other${round}`)])
        requireEqual(await one.read('key'), `${round}!`, 'The key in the first')
      }
      const ids = [0, 1, 2, 3, 4].flatMap((round) => [`one${round}`, `other${round}`])
      requireEqual([await idsIn(one), await idsIn(other)], [ids, ids], 'The queues')
    },
  },
  {
    name: 'makes commits that survive less in their order with the others',
    run: async (stage) => {
      const one = await stage.open()
      const other = await stage.open()
      const lease = await takeFreeLease(one, 'one')
      const survives = 'process'
      const soon = one.commit([put('key', '0'), enqueue('a')], lease, { survives })
      const safe = one.commit([put('key', '1'), dequeue('a')], lease)
      const last = one.commit([{ type: 'put-if-absent', key: 'key', value: '2' }], lease, { survives })
      requireEqual(await Promise.all([soon, safe]), [{ type: 'done' }, { type: 'done' }], 'The commits')
      requireEqual(await last, { type: 'conflict', index: 0 }, 'A commit that conflicts')
      requireEqual([await other.read('key'), await idsIn(other)], ['1', []], 'What the other reads')
      requireEqual(
        await other.commit([put('key', '3')], { ...lease, fence: 0 }, { survives }),
        { type: 'fenced' },
        'A late commit',
      )
      requireEqual(await one.commit([put('key', '4')], lease, { survives }), { type: 'done' }, 'The last commit')
      requireEqual(await other.read('key'), '4', 'The key in the other')
    },
  },
  {
    name: 'rejects every call once it is closed',
    run: async (stage) => {
      const store = await stage.open()
      const other = await stage.open()
      await store.close()
      await store.close()
      for (const call of calls) {
        const error: unknown = await call(store).then(
          () => 'none',
          (reason: unknown) => reason,
        )
        requireEqual(error instanceof StoreError ? error.type : String(error), 'closed', `The error of ${call}`)
      }
      await commitDone(other, [put('key', 'value')])
    },
  },
] as const satisfies readonly Demand<StoreStage>[]
