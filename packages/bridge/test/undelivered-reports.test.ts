import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createUndeliveredReports } from '../src/shards/undelivered-reports.ts'

const place = { channel: 'wa', chat: { id: '1' } }

function open() {
  const clock = createHandClock()
  const errors: Error[] = []
  const shown: string[] = []
  const shards = new Map<string, ReturnType<typeof shardOf>>()
  const reports = createUndeliveredReports({
    find: (name) => shards.get(name),
    clock: { ...clock, wall: clock.now },
    onError: (error) => errors.push(error),
  })
  const restore = (name: string): void => {
    const shard = shardOf(name)
    shards.set(name, shard)
    reports.passTo(shard)
  }
  return { clock, errors, shown, shards, reports, restore }

  function shardOf(name: string) {
    const showUndelivered = async (_: unknown, { id }: { readonly id: string }): Promise<void> => {
      if (id === 'bad') throw new Error('It is bad.')
      shown.push(`${name} ${id}`)
    }
    return { name, showUndelivered }
  }
}

test('a report reaches a shard that takes messages at once, and any other shard once it does, one time', () => {
  const { shown, shards, reports, restore } = open()
  restore('a')
  reports.add('a', place, { id: '1' })
  reports.add('b', place, { id: '2' })
  reports.add('c', place, { id: '3' })
  expect(shown).toEqual(['a 1'])
  restore('b')
  expect(shown).toEqual(['a 1', 'b 2'])
  shards.delete('b')
  restore('b')
  restore('c')
  expect(shown).toEqual(['a 1', 'b 2', 'c 3'])
})

test('a report is kept for a minute, because an owner elsewhere has handled it by then', async () => {
  const { clock, shown, reports, restore } = open()
  reports.add('a', place, { id: 'old' })
  await clock.advance(59_999)
  reports.add('b', place, { id: 'new' })
  await clock.advance(1)
  restore('a')
  restore('b')
  expect(shown).toEqual(['b new'])
})

test('the oldest of more than 1000 kept reports are dropped', () => {
  const { shown, reports, restore } = open()
  for (let index = 0; index <= 1000; index++) reports.add('a', place, { id: `${index}` })
  restore('a')
  expect([shown.length, shown[0]]).toEqual([1000, 'a 1'])
})

test('a shard that fails to show one is reported', async () => {
  const { errors, reports, restore } = open()
  reports.add('a', place, { id: 'bad' })
  restore('a')
  await expect.poll(() => errors.length).toBe(1)
  reports.add('a', place, { id: 'bad' })
  await expect.poll(() => errors.length).toBe(2)
})
