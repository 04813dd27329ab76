import type { BeatRequest, Store, StoreLease, Write } from '@reply/bridge'

/** How long a lease and a budget's window are, in ms. */
const forMs = 4000

/**
 * Makes every kind of call that a bridge makes, with every kind of outcome, one after the other. `pass` lets the time of the server go
 * on. Extend it when a store sends something new, and record the newest version again.
 */
export async function playCalls(store: Store, pass: (ms: number) => Promise<void>): Promise<void> {
  await playWrites(store, pass)
  await playMembers(store, pass)
  await pass(60_000)
  await store.sweep()
  await store.list('')
}

async function playWrites(store: Store, pass: (ms: number) => Promise<void>): Promise<void> {
  const batches: readonly (readonly Write[])[] = [
    [{ type: 'put', key: 'a/1', value: 'one' }],
    [{ type: 'put', key: 'a/1', value: 'two\0\ud800' }],
    [{ type: 'put', key: 'a/é', value: '', expiresInMs: 1000 }],
    [{ type: 'put-if-absent', key: 'a/2', value: 'first', expiresInMs: 1000 }],
    [{ type: 'put-if-absent', key: 'a/2', value: 'conflicts' }],
    [{ type: 'compare-and-set', key: 'a/1', expected: 'another', value: 'conflicts' }],
    [{ type: 'compare-and-set', key: 'a/2', expected: 'first', value: 'second', expiresInMs: 5000 }],
    [{ type: 'compare-and-set', key: 'a/3', expected: undefined, value: 'new' }],
    [{ type: 'compare-and-set', key: 'a/3', expected: 'new', value: undefined }],
    [{ type: 'compare-and-set', key: 'a/3', expected: undefined, value: undefined }],
    [
      { type: 'enqueue', queue: 'q/1', id: 'x', value: 'X' },
      { type: 'enqueue', queue: 'q/1', id: 'y', value: 'Y' },
    ],
    [
      { type: 'put', key: 'a/4', value: 'is not written' },
      { type: 'enqueue', queue: 'q/1', id: 'x', value: 'conflicts' },
    ],
    [{ type: 'replace', queue: 'q/1', id: 'x', value: 'Z' }],
    [{ type: 'replace', queue: 'q/1', id: 'none', value: 'conflicts' }],
    [{ type: 'enqueue', queue: 'q/2', id: 'x', value: 'X' }],
    [{ type: 'dequeue', queue: 'q/1', id: 'y' }],
    [{ type: 'dequeue', queue: 'q/1', id: 'y' }],
    [{ type: 'remove', key: 'a/none' }],
  ]
  for (const writes of batches) await store.commit(writes)
  await store.commit([{ type: 'put', key: 'a/hint', value: '' }], undefined, { hint: 'inbox/1' })
  await store.commit([{ type: 'put', key: 'a/late', value: '' }], undefined, { withinMs: 60_000 })
  await store.commit([{ type: 'put', key: 'a/late', value: 'is not written' }], undefined, { withinMs: -60_000 })
  await Promise.all(
    ['b/1', 'b/2', 'b/3'].map(async (key) => await store.commit([{ type: 'put-if-absent', key, value: 'together' }])),
  )
  await pass(2000)
  for (const key of ['a/1', 'a/2', 'a/é', 'a/none']) await store.read(key)
  await store.list('a/')
  await store.queue('q/1')
  await store.queues('q/')
}

async function playMembers(store: Store, pass: (ms: number) => Promise<void>): Promise<void> {
  const request = (member: string, more: Partial<BeatRequest> = {}): BeatRequest => ({
    ...{ member, forMs, layout: '1' },
    wants: { shard: ['shard/1', 'shard/2', 'shard/3', 'shard/4'], channel: ['channel/tg'] },
    budgets: { tg: { total: 25, windowMs: 1000, demand: 40, growing: 10, mostGrowing: 15, used: 0 } },
    ...more,
  })
  const leaseOf = async (member: string, more?: Partial<BeatRequest>): Promise<StoreLease | undefined> => {
    const beat = await store.beat(request(member, more))
    return beat.type === 'admitted' ? beat.leases.find(({ name }) => name === 'shard/1') : undefined
  }
  const put = async (lease: StoreLease | undefined, value: string): Promise<void> => {
    if (lease) await store.commit([{ type: 'put', key: 'c/1', value }], lease)
  }
  const lease = await leaseOf('one')
  await put(lease, 'held')
  await leaseOf('one')
  await leaseOf('two')
  await leaseOf('three', { layout: '2' })
  await leaseOf('three', { isAlone: true })
  const { tg } = request('one').budgets
  if (tg) await leaseOf('one', { budgets: { tg: { ...tg, used: 12, freezeForMs: 500 } } })
  await leaseOf('two', { budgets: { tg: { total: 25, windowMs: 1000, demand: 5, used: 3 } } })
  await pass(1500)
  await leaseOf('one')
  await leaseOf('two')
  if (lease) await store.release(lease)
  await put(lease, 'is fenced')
  await leaseOf('two', { wants: {} })
  await store.leave('one', { tg: [{ calls: 7, forMs: 800 }] })
  const taken = await leaseOf('two')
  await put(taken, 'held by another member')
  await pass(forMs + 1)
  await put(taken, 'is fenced')
  const slack = { total: 49, windowMs: 60_500, demand: 3, growing: 1, used: 9, usedFor: [{ calls: 9, forMs: 30_250 }] }
  await leaseOf('four', { budgets: { slack } })
  await pass(forMs + 1)
  await leaseOf('five', { budgets: { slack: { ...slack, used: 0, usedFor: [] } } })
  await store.leave('five', { slack: [] })
}
