import { createHandClock, type HandClock } from '@reply/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import { type HeldLease, takenOverError } from '../src/members/membership.ts'
import { createOwnedShards, type OwnedShards } from '../src/shards/owned-shards.ts'
import type { Shard } from '../src/shards/shard.ts'

let clock: HandClock
let shards: OwnedShards
/** The errors that were reported. */
let errors: Error[]
/** By shard: ends its restoring. */
let ends: Map<string, { readonly resolve: () => void; readonly reject: (error: Error) => void }>

beforeEach(() => {
  clock = createHandClock()
  errors = []
  ends = new Map()
  shards = createOwnedShards({
    create: ({ name }) => shardOf(name),
    clock,
    ...{ onRestored: () => {}, onDropped: () => {} },
    onError: (error) => errors.push(error),
  })
})

/** A shard that is restored when a test says so. It stops at once, and its restoring then rejects. */
function shardOf(name: string): Shard {
  let stop = (_: Error): void => {}
  const restored = new Promise<void>((resolve, reject) => {
    ends.set(name, { resolve, reject })
    stop = reject
  })
  const shard: Partial<Shard> = {
    name,
    restore: async () => await restored,
    ...{ runs: () => 0, unshownForMs: () => 0 },
    stop: async () => stop(new DOMException('It stops.', 'AbortError')),
    whenPosted: async () => {},
    undoTries: async () => {},
  }
  return shard as Shard
}

function leaseOf(name: string): HeldLease {
  let isOver = false
  const lease: Partial<HeldLease> = {
    name,
    current: () => (isOver ? undefined : ({ fence: 1 } as never)),
    release: async () => {
      isOver = true
    },
  }
  return lease as HeldLease
}

describe('a start that waits for the shards of a process', () => {
  test('waits until each is restored', async () => {
    for (const name of ['a', 'b']) shards.add(leaseOf(name))
    let isOver = false
    const restored = shards.whenRestored().then(() => {
      isOver = true
    })
    await clock.advance(0)
    ends.get('a')?.resolve()
    await clock.advance(0)
    expect(isOver).toBe(false)
    ends.get('b')?.resolve()
    await restored
    expect(shards.all().map(({ name }) => name)).toEqual(['a', 'b'])
  })

  test('goes on without one that is given back meanwhile, because another process joined', async () => {
    for (const name of ['a', 'b']) shards.add(leaseOf(name))
    await clock.advance(0)
    const restored = shards.whenRestored()
    shards.giveBack(1)
    ends.get('b')?.resolve()
    await restored
    expect(shards.all().map(({ name }) => name)).toEqual(['b'])
    expect(errors).toEqual([])
  })

  test('goes on without one that another process took', async () => {
    for (const name of ['a', 'b']) shards.add(leaseOf(name))
    await clock.advance(0)
    const restored = shards.whenRestored()
    ends.get('a')?.reject(takenOverError())
    ends.get('b')?.resolve()
    await restored
    expect(errors).toEqual([])
  })

  test('fails with one that could not be restored', async () => {
    shards.add(leaseOf('a'))
    await clock.advance(0)
    const restored = shards.whenRestored()
    ends.get('a')?.reject(new Error('The disk is full.'))
    await expect(restored).rejects.toThrow('The disk is full.')
    expect(errors.map(({ message }) => message)).toEqual(['The disk is full.'])
  })
})
