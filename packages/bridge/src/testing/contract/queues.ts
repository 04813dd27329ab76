import type { Demand } from '@reply/core/testing'
import { conflicts, dequeue, done, enqueue, idsIn, oddTexts, put, type StoreStage, same } from './stage.ts'

/** Clauses about queues. */
export const queueing = [
  {
    name: 'keeps entries in the order of their arrival',
    run: async (stage) => {
      const store = await stage.open()
      same(await store.queue('chat'), [], 'A queue before its first entry')
      await done(store, [enqueue('c'), enqueue('a')])
      await done(store, [enqueue('x', 'of another', 'other')])
      await done(store, [enqueue('b')])
      const entries = ['c', 'a', 'b'].map((id) => ({ id, value: `value of ${id}` }))
      same(await store.queue('chat'), entries, 'The queue')
    },
  },
  {
    name: 'adds behind what is left, whatever was removed',
    run: async (stage) => {
      const store = await stage.open()
      await done(store, [enqueue('1'), enqueue('2'), enqueue('3')])
      await done(store, [dequeue('3')])
      await done(store, [enqueue('4')])
      await done(store, [dequeue('1')])
      await done(store, [enqueue('5'), enqueue('1')])
      same(await idsIn(store), ['2', '4', '5', '1'], 'The queue')
    },
  },
  {
    name: 'replaces an entry in its place',
    run: async (stage) => {
      const store = await stage.open()
      await done(store, [enqueue('1', 'one'), enqueue('2', 'two'), enqueue('3', 'three')])
      await done(store, [{ type: 'replace', queue: 'chat', id: '2', value: 'other' }])
      same(
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
      await done(store, [enqueue('1', 'one'), enqueue('2')])
      await conflicts(store, [enqueue('1', 'again')])
      await done(store, [enqueue('1', 'one', 'other')])
      same((await store.queue('chat'))[0]?.value, 'one', 'The entry')
    },
  },
  {
    name: 'conflicts for an entry that is not there',
    run: async (stage) => {
      const store = await stage.open()
      await done(store, [enqueue('1'), enqueue('2', '', 'other')])
      await conflicts(store, [dequeue('2')])
      await conflicts(store, [{ type: 'replace', queue: 'chat', id: '2', value: '' }])
      await conflicts(store, [dequeue('1', 'missing')])
      await done(store, [dequeue('1')])
      await conflicts(store, [dequeue('1')])
    },
  },
  {
    name: 'names the queues that begin with a prefix and have entries',
    run: async (stage) => {
      const store = await stage.open()
      await done(store, [enqueue('1', '', 'a%1'), enqueue('2', '', 'a%1'), enqueue('1', '', 'a%2')])
      await done(store, [enqueue('1', '', 'axx'), enqueue('1', '', 'b'), enqueue('1', '', '\uffff')])
      await done(store, [dequeue('1', 'a%2'), dequeue('1', 'a%1')])
      const named = async (prefix: string) => (await store.queues(prefix)).toSorted()
      same(await named('a%'), ['a%1'], 'The queues with "a%"')
      same(await named('a'), ['a%1', 'axx'], 'The queues with "a"')
      same(await named('\uffff'), ['\uffff'], 'The queues with U+FFFF')
      same(await named(''), ['a%1', 'axx', 'b', '\uffff'], 'All queues')
    },
  },
  {
    name: 'keeps every text as it is, in queues, ids and values',
    run: async (stage) => {
      const store = await stage.open()
      for (const queue of oddTexts)
        await done(
          store,
          [...oddTexts].map((text) => enqueue(text, text, queue)),
        )
      const expected = oddTexts.map((text) => ({ id: text, value: text }))
      for (const queue of oddTexts) same(await store.queue(queue), expected, `The queue ${JSON.stringify(queue)}`)
      same((await store.queues('')).toSorted(), oddTexts.toSorted(), 'The queues')
    },
  },
  {
    name: 'keeps queues, keys and leases of one name apart',
    run: async (stage) => {
      const store = await stage.open()
      await done(store, [put('bridge', 'value'), enqueue('bridge', 'entry', 'bridge')])
      const lease = await store.lease({ name: 'bridge', holder: 'bridge', forMs: 1000 })
      same(lease?.fence, 1, 'The first fence')
      await done(store, [{ type: 'remove', key: 'bridge' }], lease)
      same(await idsIn(store, 'bridge'), ['bridge'], 'The queue')
    },
  },
] as const satisfies readonly Demand<StoreStage>[]
