import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createMirrors } from '../src/config/mirrors.ts'
import type { ChatPlace } from '../src/place.ts'
import { placeKey } from '../src/place.ts'
import { moveRows } from '../src/shards/move-rows.ts'
import { keyInShard, shardOf } from '../src/state/shard-of.ts'
import type { Store } from '../src/store/store.ts'
import { createMemoryStore } from '../src/testing.ts'
import { stateOf } from './state-of.ts'

const slack: ChatPlace = { channel: 'sl', chat: { id: 'C1' } }
const apart = createMirrors([])
const together = createMirrors([['tg:1', 'sl:C1']])
/** The channel posts only where it listens. */
const bound = createMirrors([], undefined, (channel) => channel === 'sl')
const prompt = {
  ...{ ...slack, id: '9', actor: { id: 'U1', name: 'Ann' }, text: 'Go on', files: [], isCommand: false },
  ...{ messageRef: { id: '9' }, receivedAt: 1 },
}
const execution = JSON.stringify({
  ...{ id: 'abc123', prompt, server: 'home', sessionID: 'ses_1', phase: 'done', status: 'complete', startedAt: 1 },
})
const delivery = JSON.stringify({
  ...{ type: 'delivery', id: 'abc123', ...slack, server: 'home', text: 'Done.', missing: 1, reason: 'Gone.', at: 1 },
})
const notice = JSON.stringify({
  ...{ id: 'abc', kind: 'final', title: 'Done', text: 'abc123', to: 'phone', executionID: 'abc123', ...slack },
  ...{ at: 1, doubtful: 0 },
})

/** All that a chat has in its shard, each key and queue without the shard. */
const rows = {
  [`execution/${placeKey(slack)}/abc123`]: execution,
  [`log/${placeKey(slack)}/abc123`]: '[]',
  'newest/home/ses_1': execution,
  'stopping/tg/1//abc123': execution,
  [`unknown/${placeKey(slack)}/abc123`]: JSON.stringify(prompt),
  [`failed/delivery/${placeKey(slack)}/abc123`]: delivery,
  [`notice/${placeKey(slack)}/abc`]: notice,
}
const queues = ['inbox', 'prompts', 'backlog'].map((kind) => `${kind}/${placeKey(slack)}`)

async function everythingOf(store: Store) {
  const values = (await store.list('')).map(({ key, value, expiresInMs }) => [key, value, expiresInMs] as const)
  const names = (await store.queues('')).toSorted()
  const entries = await Promise.all(names.map(async (name) => [name, await store.queue(name)] as const))
  return { values, entries }
}

/** Stores all rows of the chat in the shard that it has with these mirrors. */
async function stored(mirrors: typeof apart): Promise<Store> {
  const store = createMemoryStore({ clock: createHandClock() })
  const shard = shardOf(slack, mirrors)
  for (const [key, value] of Object.entries(rows))
    await store.commit([{ type: 'put', key: keyInShard(shard, key), value, expiresInMs: 1000 }])
  await store.commit([{ type: 'put', key: 'home/home/ses_1', value: shard, expiresInMs: 1000 }])
  for (const queue of queues)
    for (const id of ['9', '10'])
      await store.commit([
        { type: 'enqueue', queue: keyInShard(shard, queue), id, value: JSON.stringify({ ...prompt, id }) },
      ])
  return store
}

const committing = (store: Store) => async (writes: Parameters<Store['commit']>[0]) =>
  (await store.commit(writes)).type === 'done'

test('all that a chat has is in its new shard once the mirrors of the config changed, or where its channel posts', async () => {
  expect(shardOf(slack, together)).not.toBe(shardOf(slack, apart))
  for (const [before, after] of [
    [apart, together],
    [together, apart],
    [apart, bound],
    [bound, apart],
  ] as const) {
    const store = await stored(before)
    await moveRows({ state: stateOf(store), commit: committing(store), mirrors: after })
    expect(await everythingOf(store)).toEqual(await everythingOf(await stored(after)))
  }
})

test('a move that was interrupted after any write goes on with the rest', async () => {
  const expected = await everythingOf(await stored(together))
  let isWhole = false
  for (let most = 0; !isWhole; most++) {
    const store = await stored(apart)
    let count = 0
    const interrupted = moveRows({
      state: stateOf(store),
      commit: async (writes) => {
        if (count++ === most) throw new Error('The process was killed.')
        return await committing(store)(writes)
      },
      mirrors: together,
    })
    isWhole = await interrupted.then(
      () => true,
      () => false,
    )
    await moveRows({ state: stateOf(store), commit: committing(store), mirrors: together })
    expect(await everythingOf(store)).toEqual(expected)
    expect(most).toBeLessThan(100)
  }
})

test('rows that belong where they are, and those that can not be read, stay there', async () => {
  const store = await stored(apart)
  await store.commit([
    { type: 'put', key: 'execution/05/sl/C1//broken', value: 'oops' },
    {
      type: 'put',
      key: 'failed/05/row/route/sl/C1/',
      value: '{"type":"row","key":"route/sl/C1/","value":"x","reason":"r","at":1}',
    },
    { type: 'enqueue', queue: 'inbox/05/sl/C1/', id: '1', value: 'oops' },
  ])
  const before = await everythingOf(store)
  await moveRows({ state: stateOf(store), commit: async () => expect.fail('It was moved.'), mirrors: apart })
  expect(await everythingOf(store)).toEqual(before)
})
