import type { Demand } from '@reply/core/testing'
import {
  commitDone,
  dequeue,
  enqueue,
  idsIn,
  oddTexts,
  put,
  requireConflict,
  requireEqual,
  type StoreStage,
  takeFreeLease,
} from './stage.ts'

/** Clauses about queues. */
export const queueClauses = [
  {
    name: 'keeps entries in the order of their arrival',
    run: async (stage) => {
      const store = await stage.open()
      requireEqual(await store.queue('chat'), [], 'A queue before its first entry')
      await commitDone(store, [enqueue('c'), enqueue('a')])
      await commitDone(store, [enqueue('x', 'of another', 'other')])
      await commitDone(store, [enqueue('b')])
      const entries = ['c', 'a', 'b'].map((id) => ({ id, value: `value of ${id}` }))
      requireEqual(await store.queue('chat'), entries, 'The queue')
    },
  },
  {
    name: 'adds behind what is left, whatever was removed',
    run: async (stage) => {
      const store = await stage.open()
      await commitDone(store, [enqueue('1'), enqueue('2'), enqueue('3')])
      await commitDone(store, [dequeue('3')])
      await commitDone(store, [enqueue('4')])
      await commitDone(store, [dequeue('1')])
      await commitDone(store, [enqueue('5'), enqueue('1')])
      requireEqual(await idsIn(store), ['2', '4', '5', '1'], 'The queue')
    },
  },
  {
    name: 'replaces an entry in its place',
    run: async (stage) => {
      const store = await stage.open()
      await commitDone(store, [enqueue('1', 'one'), enqueue('2', 'two'), enqueue('3', 'three')])
      await commitDone(store, [{ type: 'replace', queue: 'chat', id: '2', value: 'other' }])
      requireEqual(
        (await store.queue('chat')).map(({ id, value }) => id + value),
        ['1one', '2other', '3three'],
        'The queue',
      )
    },
  },
  {
    name: 'conflicts for an id that is queued already',
    run: async (stage) => {
      const store = await stage.open()
      await commitDone(store, [enqueue('1', 'one'), enqueue('2')])
      await requireConflict(store, [enqueue('1', 'again')])
      await commitDone(store, [enqueue('1', 'one', 'other')])
      requireEqual((await store.queue('chat'))[0]?.value, 'one', 'The entry')
    },
  },
  {
    name: 'conflicts for an entry that is not there',
    run: async (stage) => {
      const store = await stage.open()
      await commitDone(store, [enqueue('1'), enqueue('2', '', 'other')])
      await requireConflict(store, [dequeue('2')])
      await requireConflict(store, [{ type: 'replace', queue: 'chat', id: '2', value: '' }])
      await requireConflict(store, [dequeue('1', 'missing')])
      await commitDone(store, [dequeue('1')])
      await requireConflict(store, [dequeue('1')])
    },
  },
  {
    name: 'names the queues that begin with a prefix and have entries',
    run: async (stage) => {
      const store = await stage.open()
      await commitDone(store, [enqueue('1', '', 'a%1'), enqueue('2', '', 'a%1'), enqueue('1', '', 'a%2')])
      await commitDone(store, [enqueue('1', '', 'axx'), enqueue('1', '', 'b'), enqueue('1', '', '\uffff')])
      await commitDone(store, [dequeue('1', 'a%2'), dequeue('1', 'a%1')])
      const named = async (prefix: string) => (await store.queues(prefix)).toSorted()
      requireEqual(await named('a%'), ['a%1'], 'The queues with "a%"')
      requireEqual(await named('a'), ['a%1', 'axx'], 'The queues with "a"')
      requireEqual(await named('\uffff'), ['\uffff'], 'The queues with U+FFFF')
      requireEqual(await named(''), ['a%1', 'axx', 'b', '\uffff'], 'All queues')
    },
  },
  {
    name: 'keeps every text as it is, in queues, ids and values',
    run: async (stage) => {
      const store = await stage.open()
      for (const queue of oddTexts)
        await commitDone(
          store,
          [...oddTexts].map((text) => enqueue(text, text, queue)),
        )
      const expected = oddTexts.map((text) => ({ id: text, value: text }))
      for (const queue of oddTexts)
        requireEqual(await store.queue(queue), expected, `The queue ${JSON.stringify(queue)}`)
      requireEqual((await store.queues('')).toSorted(), oddTexts.toSorted(), 'The queues')
    },
  },
  {
    name: 'keeps queues, keys and leases of one name apart',
    run: async (stage) => {
      const store = await stage.open()
      await commitDone(store, [put('bridge', 'value'), enqueue('bridge', 'entry', 'bridge')])
      const lease = await takeFreeLease(store, 'bridge')
      requireEqual(lease.fence, 1, 'The first fence')
      await commitDone(store, [{ type: 'remove', key: 'bridge' }], lease)
      requireEqual(await idsIn(store, 'bridge'), ['bridge'], 'The queue')
    },
  },
] as const satisfies readonly Demand<StoreStage>[]
