import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import type { HeldLease } from '../src/members/membership.ts'
import { createOwnedShards } from '../src/shards/owned-shards.ts'
import type { Shard } from '../src/shards/shard.ts'

const rest = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Shards that take `stopMs` to stop, and follow as many runs as their names say. */
async function scene({ names, stopMs }: { readonly names: readonly string[]; readonly stopMs: number }) {
  const clock = createHandClock()
  const released: string[] = []
  const dropped: string[] = []
  const create = (lease: HeldLease): Shard =>
    ({
      name: lease.name.slice('shard/'.length),
      restore: async () => {},
      runs: () => Number(lease.name.slice('shard/'.length)),
      stop: async () => await new Promise<void>((resolve) => clock.after(stopMs, resolve)),
      ...{ whenPosted: async () => {}, undoTries: async () => {} },
    }) as unknown as Shard
  const shards = createOwnedShards({
    ...{ create, clock, onRestored: () => {}, onError: () => {} },
    onDropped: ({ name }) => dropped.push(name),
  })
  for (const name of names) {
    let isOver = false
    shards.add({
      name: `shard/${name}`,
      current: () => (isOver ? undefined : { name: `shard/${name}`, holder: 'me', fence: 1, validForMs: 4000 }),
      release: async () => {
        isOver = true
        released.push(name)
      },
    } as HeldLease)
  }
  await shards.whenRestored()
  return { clock, shards, released, dropped }
}

test('a process whose shards stop slowly gives back no more than its excess, the idle ones first', async () => {
  const { clock, shards, released, dropped } = await scene({ names: ['05', '00', '03', '01'], stopMs: 3000 })
  // The store counts a shard until its lease is released, so each beat says the same.
  for (let beat = 0; beat < 3; beat++) {
    shards.giveBack(2)
    await clock.advance(900, rest)
  }
  expect(dropped.toSorted()).toEqual(['00', '01'])
  await clock.advance(1000, rest)
  expect(released.toSorted()).toEqual(['00', '01'])
  expect(
    shards
      .all()
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual(['03', '05'])
  shards.giveBack(1)
  await clock.advance(4000, rest)
  expect(released.at(-1)).toBe('03')
})

test('a process that hands over releases each shard as soon as it has stopped, and the others at the end of the time', async () => {
  const names = Array.from({ length: 10 }, (_, index) => `0${index}`)
  const { clock, shards, released } = await scene({ names, stopMs: 100 })
  let isDone = false
  void shards.handOver(10_000).then(() => {
    isDone = true
  })
  await clock.advance(100, rest)
  // Not all at once, so that no chat waits long.
  expect(released).toEqual(['00', '01', '02', '03'])
  await clock.advance(200, rest)
  expect([released.length, isDone]).toEqual([10, true])
})
