import { expect, test } from 'vitest'
import { untilShared } from '../scripts/scale/stage.ts'
import { allShards } from '../src/state/shard-of.ts'

/** Returns members that take this many shards in turn, the next ones each time they are looked at. */
function membersWith(counts: readonly (readonly number[])[]) {
  return counts.map((ofMember) => {
    const left = [...ofMember]
    return { taking: () => allShards.slice(0, left.length > 1 ? left.shift() : left[0]), left }
  })
}

test('shards are even once those that others hand over are taken', async () => {
  const members = membersWith([
    [40, 32, 32],
    [0, 24, 32],
  ])
  await untilShared(members)
  expect(members.map(({ left }) => left)).toEqual([[32], [32]])
})

test('shards that never become even are an error, which says who has how many', async () => {
  const members = membersWith([[22], [22], [20], [0]])
  await expect(untilShared(members, 1)).rejects.toThrow(
    'The members have 22, 22, 20, 0 shards after 1 ms. Each is to have at most 16, and all 64.',
  )
})
