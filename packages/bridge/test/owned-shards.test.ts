import { createHandClock, type HandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import type { HeldLease } from '../src/members/membership.ts'
import { createOwnedShards } from '../src/shards/owned-shards.ts'
import type { Shard } from '../src/shards/shard.ts'

const rest = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

interface SlowShards {
  readonly names: readonly string[]
  readonly stopMs: number
  /** The name of the only one that takes that long. Default: all do. */
  readonly slowest?: string
  /** The name of one that is never restored. Default: none. */
  readonly restoring?: string
  /** For how long the chats of a shard lack something, by the name of its lease, in ms. Default: none does. */
  readonly unshownForMs?: (name: string) => number
  readonly clock?: HandClock
}

/** Shards that take `stopMs` to stop, and follow as many runs as their names say. */
async function scene({
  names,
  stopMs,
  slowest,
  restoring,
  unshownForMs = () => 0,
  clock = createHandClock(),
}: SlowShards) {
  const released: string[] = []
  const dropped: string[] = []
  const create = (lease: HeldLease): Shard =>
    ({
      name: lease.name.slice('shard/'.length),
      restore: async () => {
        if (lease.name === `shard/${restoring}`) await new Promise(() => {})
      },
      runs: () => Number(lease.name.slice('shard/'.length)),
      stop: async (mostMs: number) => {
        const needsMs = lease.name === `shard/${slowest}` || slowest === undefined ? stopMs : 0
        await new Promise<void>((resolve) => clock.after(Math.min(needsMs, mostMs), resolve))
      },
      ...{ unshownForMs: () => unshownForMs(lease.name), whenPosted: async () => {}, undoTries: async () => {} },
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
  await rest()
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

test('a shard that is being restored is given back last, because its runs are not known yet', async () => {
  const { clock, shards, released } = await scene({ names: ['00', '05', '03'], stopMs: 100, restoring: '00' })
  shards.giveBack(2)
  await clock.advance(1000, rest)
  expect(released).toEqual(['03', '05'])
})

test('the shard of channels that post only where they listen is not counted, and never given back as excess', async () => {
  const { clock, shards, released } = await scene({ names: ['listener', '00', '01'], stopMs: 100 })
  expect([shards.owned().length, shards.takeChanges()?.taken]).toEqual([2, 2])
  shards.giveBack(3)
  await clock.advance(1000, rest)
  expect([released.toSorted(), shards.all().map(({ name }) => name)]).toEqual([['00', '01'], ['listener']])
  void shards.handOver(10_000)
  await clock.advance(1000, rest)
  expect([released.at(-1), shards.takeChanges()?.givenBack]).toEqual(['listener', 2])
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

test('a shard whose chat waits for an edit is handed over right after it, and does not hold up the others', async () => {
  const clock = createHandClock()
  // A chat that is edited each 1.1 s, the last time 300 ms ago.
  const editedAt = clock.now() - 300
  const unshownForMs = (name: string): number => (name === 'shard/01' ? (clock.now() - editedAt) % 1100 : 0)
  const { shards, released } = await scene({ names: ['01', '00', '02'], stopMs: 0, unshownForMs, clock })
  void shards.handOver(9000)
  await clock.advance(775, rest)
  expect(released).toEqual(['00', '02'])
  await clock.advance(50, rest)
  expect(released).toEqual(['00', '02', '01'])
})

test('a shard whose chat waits for an edit is not stopped while it would wait for a turn behind idle ones', async () => {
  const clock = createHandClock()
  const began = clock.now()
  // It is edited in 100 ms, and then each 1.1 s. The idle ones have all begun to stop after 300 ms.
  const unshownForMs = (name: string): number => (name === 'shard/01' ? (clock.now() - began + 1000) % 1100 : 0)
  const idle = Array.from({ length: 8 }, (_, index) => '0'.repeat(index + 1))
  const { shards, released } = await scene({ names: ['01', ...idle], stopMs: 300, unshownForMs, clock })
  void shards.handOver(9000)
  await clock.advance(1475, rest)
  expect(released.toSorted()).toEqual(idle)
  await clock.advance(50, rest)
  expect(released.at(-1)).toBe('01')
})

test('a shard with two chats that are edited at different times waits until both lack little', async () => {
  const clock = createHandClock()
  const began = clock.now()
  const unshownForMs = (): number => Math.max((clock.now() - began + 700) % 1100, (clock.now() - began + 300) % 1100)
  const { shards, released } = await scene({ names: ['01'], stopMs: 0, unshownForMs, clock })
  void shards.handOver(9000)
  await clock.advance(775, rest)
  expect(released).toEqual([])
  // One was edited 400 ms ago, and the other one now.
  await clock.advance(50, rest)
  expect(released).toEqual(['01'])
})

test('a shard whose chats never show what they lack is handed over after two seconds', async () => {
  const { clock, shards, released } = await scene({ names: ['01'], stopMs: 0, unshownForMs: () => 60_000 })
  void shards.handOver(9000)
  await clock.advance(1975, rest)
  expect(released).toEqual([])
  await clock.advance(50, rest)
  expect(released).toEqual(['01'])
})

/** Lets time pass in small steps, until the stop is done. Resolves with how much did, in ms. */
async function msOf(stop: Promise<void>, clock: HandClock): Promise<number> {
  const began = clock.now()
  let isDone = false
  void stop.then(() => {
    isDone = true
  })
  await rest()
  while (!isDone) await clock.advance(100, rest)
  return clock.now() - began
}

test.each([
  ['handOver', 9000, { slow: 8000, instant: 100 }],
  ['stopAll', 9000, { slow: 8000, instant: 100 }],
] as const)(
  '%s takes no longer than it may, however slowly shards stop, and no longer than they need',
  async (how, mostMs, expected) => {
    const names = Array.from({ length: 64 }, (_, index) => String(index))
    const slow = await scene({ names, stopMs: 60_000 })
    const instant = await scene({ names, stopMs: 0 })
    const took = {
      slow: await msOf(slow.shards[how](mostMs), slow.clock),
      instant: await msOf(instant.shards[how](mostMs), instant.clock),
    }
    expect(took).toEqual(expected)
  },
)

test.each(['handOver', 'stopAll'] as const)(
  '%s waits for a shard that is being given back, whose lease other processes expect',
  async (how) => {
    const { clock, shards, released } = await scene({ names: ['00', '01'], stopMs: 3000, slowest: '00' })
    shards.giveBack(1)
    await rest()
    expect(await msOf(shards[how](9000), clock)).toBe(3000)
    expect(released.at(-1)).toBe('00')
  },
)
