import type { Demand } from '@reply/core/testing'
import { type Store, StoreError } from '../../store/store.ts'
import { dequeue, done, enqueue, idsIn, leaseOf, put, type StoreStage, same } from './stage.ts'

const calls: readonly ((store: Store) => Promise<unknown>)[] = [
  (store) => store.read('key'),
  (store) => store.list(''),
  (store) => store.queue('chat'),
  (store) => store.queues(''),
  (store) => store.commit([]),
  (store) => store.lease({ name: 'bridge', holder: 'one', forMs: 1 }),
  (store) => store.release({ name: 'bridge', holder: 'one', fence: 1, validForMs: 1 }),
  (store) => store.sweep(),
]

/** Clauses about durability, and about several stores on one state. */
export const lasting = [
  {
    name: 'has everything again when it is opened again',
    run: async (stage) => {
      const before = await stage.open()
      const lease = await leaseOf(before, 'one')
      await done(before, [put('key', 'value'), put('short', 'value', stage.now() + 500)], lease)
      await done(before, [enqueue('b'), enqueue('a'), enqueue('c')], lease)
      await done(before, [dequeue('c')], lease)
      await before.close()
      const after = await stage.open()
      same(
        (await after.list('')).map(({ key }) => key),
        ['key', 'short'],
        'The keys',
      )
      await done(after, [enqueue('0')], lease)
      same(await idsIn(after), ['b', 'a', '0'], 'The queue')
      same(await after.lease({ name: 'bridge', holder: 'other', forMs: 1 }), undefined, 'A lease that another holds')
      await stage.pass(500)
      same(await after.read('short'), undefined, 'A value at its end')
      await stage.pass(500)
      const next = await leaseOf(after, 'other')
      same(next.fence > lease.fence, true, 'That the fence grows')
    },
  },
  {
    name: 'shows what is done to others at once',
    run: async (stage) => {
      const one = await stage.open()
      const other = await stage.open()
      for (let round = 0; round < 5; round++) {
        await done(one, [put('key', `${round}`), enqueue(`one${round}`)])
        same(await other.read('key'), `${round}`, 'The key in the other')
        await done(other, [put('key', `${round}!`), enqueue(`other${round}`)])
        same(await one.read('key'), `${round}!`, 'The key in the first')
      }
      const ids = [0, 1, 2, 3, 4].flatMap((round) => [`one${round}`, `other${round}`])
      same([await idsIn(one), await idsIn(other)], [ids, ids], 'The queues')
    },
  },
  {
    name: 'makes commits that survive less in their order with the others',
    run: async (stage) => {
      const one = await stage.open()
      const other = await stage.open()
      const lease = await leaseOf(one, 'one')
      const survives = 'process'
      const soon = one.commit([put('key', '0'), enqueue('a')], lease, { survives })
      const safe = one.commit([put('key', '1'), dequeue('a')], lease)
      const last = one.commit([{ type: 'put-if-absent', key: 'key', value: '2' }], lease, { survives })
      same(await Promise.all([soon, safe]), [{ type: 'done' }, { type: 'done' }], 'The commits')
      same(await last, { type: 'conflict', index: 0 }, 'A commit that conflicts')
      same([await other.read('key'), await idsIn(other)], ['1', []], 'What the other reads')
      same(
        await other.commit([put('key', '3')], { ...lease, fence: 0 }, { survives }),
        { type: 'fenced' },
        'A late commit',
      )
      same(await one.commit([put('key', '4')], lease, { survives }), { type: 'done' }, 'The last commit')
      same(await other.read('key'), '4', 'The key in the other')
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
        same(error instanceof StoreError ? error.type : String(error), 'closed', `The error of ${call}`)
      }
      await done(other, [put('key', 'value')])
    },
  },
] as const satisfies readonly Demand<StoreStage>[]
