import type { Demand } from '@reply/core/testing'
import type { Store, Write } from '../../store/store.ts'
import { commitDone, dequeue, enqueue, idsIn, put, requireConflict, requireEqual, type StoreStage } from './stage.ts'

/** Clauses about commits. */
export const commitClauses = [
  {
    name: 'makes writes in their order, each seeing those before it',
    run: async (stage) => {
      const store = await stage.open()
      await commitDone(store, [
        put('key', 'one'),
        { type: 'compare-and-set', key: 'key', expected: 'one', value: 'two' },
        { type: 'remove', key: 'key' },
        { type: 'put-if-absent', key: 'key', value: 'three' },
        enqueue('1'),
        enqueue('2'),
        { type: 'replace', queue: 'chat', id: '1', value: 'other' },
        dequeue('2'),
      ])
      requireEqual(await store.read('key'), 'three', 'The key')
      requireEqual(await store.queue('chat'), [{ id: '1', value: 'other' }], 'The queue')
    },
  },
  {
    name: 'makes none if one conflicts, and names the first',
    run: async (stage) => {
      const store = await stage.open()
      await commitDone(store, [put('kept', 'before'), put('gone', 'before'), enqueue('1'), enqueue('2'), enqueue('3')])
      const before = [await store.list(''), await store.queue('chat'), await store.queues('')]
      const changes: Write[] = [
        put('kept', 'after'),
        put('kept', 'once more'),
        { type: 'remove', key: 'gone' },
        { type: 'put-if-absent', key: 'new', value: 'after', expiresInMs: 1000 },
        { type: 'compare-and-set', key: 'kept', expected: 'once more', value: undefined },
        dequeue('1'),
        { type: 'replace', queue: 'chat', id: '2', value: 'after' },
        enqueue('4'),
        enqueue('1', 'again'),
        enqueue('1', '', 'new queue'),
        dequeue('3'),
      ]
      const wrong: Write[] = [
        { type: 'put-if-absent', key: 'new', value: '' },
        { type: 'compare-and-set', key: 'gone', expected: 'before', value: '' },
        enqueue('4'),
        dequeue('3'),
        { type: 'replace', queue: 'chat', id: '3', value: '' },
      ]
      for (const write of wrong) {
        await requireConflict(store, [...changes, write, dequeue('none')], changes.length)
        requireEqual([await store.list(''), await store.queue('chat'), await store.queues('')], before, write.type)
      }
      await commitDone(store, changes)
      requireEqual(await idsIn(store), ['2', '4', '1'], 'The queue after the same changes alone')
    },
  },
  {
    name: 'makes no commit whose time is over, also not one that conflicts, and each other one',
    run: async (stage) => {
      const store = await stage.open()
      const inTime = await store.commit([put('key', 'in time')], undefined, { withinMs: 60_000 })
      requireEqual(inTime, { type: 'done' }, 'A commit in time')
      for (const writes of [[put('key', 'late')], [dequeue('none')], []])
        requireEqual(await store.commit(writes, undefined, { withinMs: -1 }), { type: 'late' }, 'A late commit')
      requireEqual(await store.read('key'), 'in time', 'The key')
    },
  },
  {
    name: 'shows a commit to each call that is made after it, also before it has resolved',
    run: async (stage) => {
      const store = await stage.open()
      await commitDone(store, [
        put('kept', 'before'),
        put('gone', 'before'),
        enqueue('1'),
        enqueue('2'),
        enqueue('1', '', 'b'),
      ])
      const first = store.commit([put('kept', 'one'), { type: 'remove', key: 'gone' }, dequeue('1')])
      const before = [
        store.read('kept'),
        store.read('gone'),
        store.list(''),
        store.queue('chat'),
        store.queues(''),
      ] as const
      const more: readonly Write[] = [
        { type: 'compare-and-set', key: 'kept', expected: 'one', value: 'two' },
        { type: 'put-if-absent', key: 'new', value: 'two' },
        { type: 'replace', queue: 'chat', id: '2', value: 'two' },
        dequeue('1', 'b'),
        enqueue('1', 'two', 'c'),
      ]
      const second = store.commit(more)
      const conflict = store.commit([put('kept', 'three'), dequeue('none')])
      const after = [store.read('kept'), store.list('n'), store.queue('chat'), store.queue('c'), store.queues('')]
      requireEqual(
        (await Promise.all([first, second, conflict])).map(({ type }) => type),
        ['done', 'done', 'conflict'],
        'Commits',
      )
      const [kept, gone, list, queue, queues] = await Promise.all(before)
      // They may be made after the second commit, too.
      requireEqual([kept === 'one' || kept === 'two', gone], [true, null], 'Whether the keys between are new')
      const keptIn = list.flatMap(({ key, value }) => (key === 'kept' && value !== 'before' ? [key] : []))
      requireEqual([keptIn, list.some(({ key }) => key === 'gone')], [['kept'], false], 'The list between')
      requireEqual(
        queue.map(({ id }) => id),
        ['2'],
        'The queue between',
      )
      requireEqual(queues.includes('chat'), true, 'Whether the queues between have the one that is not empty')
      const [last, added, rest, other, names] = await Promise.all(after)
      requireEqual([last, added], ['two', [{ key: 'new', value: 'two' }]], 'The keys after')
      requireEqual([rest, other], [[{ id: '2', value: 'two' }], [{ id: '1', value: 'two' }]], 'The queues after')
      requireEqual([...(names ?? [])].toSorted(), ['c', 'chat'], 'The names of the queues after')
    },
  },
  {
    name: 'is done without writes',
    run: async (stage) => await commitDone(await stage.open(), []),
  },
  {
    name: 'makes two thousand writes at once',
    run: async (stage) => {
      const store = await stage.open()
      const ids = Array.from({ length: 1000 }, (_, index) => `${index}`)
      await commitDone(store, [...ids.map((id) => enqueue(id)), ...ids.map((id) => put(`key${id}`, id))])
      requireEqual(await idsIn(store), ids, 'The queue')
      requireEqual((await store.list('key')).length, ids.length, 'The number of keys')
    },
  },
  {
    name: 'lets one of many at the same time put if absent',
    run: async (stage) => {
      const stores = [await stage.open(), await stage.open()]
      const tries = Array.from({ length: 20 }, (_, index) =>
        stores[index % 2]?.commit([{ type: 'put-if-absent', key: 'seen', value: `${index}` }, enqueue(`${index}`)]),
      )
      const results = await Promise.all(tries)
      requireEqual(results.filter((result) => result?.type === 'done').length, 1, 'The number of commits that are done')
      requireEqual(
        await idsIn(await stage.open()),
        [`${results.findIndex((result) => result?.type === 'done')}`],
        'The queue',
      )
    },
  },
  {
    name: 'loses no step of a counter that two increase',
    run: async (stage) => {
      const one = await stage.open()
      const other = await stage.open()
      /** Increases the counter by one. Tries again if the other store was faster. */
      const increase = async (store: Store): Promise<void> => {
        const expected = await store.read('count')
        const value = `${Number(expected ?? 0) + 1}`
        const { type } = await store.commit([{ type: 'compare-and-set', key: 'count', expected, value }])
        if (type !== 'done') await increase(store)
      }
      for (let round = 0; round < 10; round++) await Promise.all([increase(one), increase(other), increase(one)])
      requireEqual(await one.read('count'), '30', 'The counter')
    },
  },
] as const satisfies readonly Demand<StoreStage>[]
