import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import type { Operation } from '../src/deliver/operation.ts'
import { createWake } from '../src/deliver/schedule.ts'
import { beginning } from './timeline.ts'

const operation = { type: 'remove' } as Operation

function setUp(readyAt: number) {
  const clock = createHandClock(beginning)
  const room = { readyAt: beginning + readyAt }
  const works: number[] = []
  const wake = createWake(
    clock,
    () => room.readyAt,
    () => works.push(clock.now() - beginning),
  )
  return { clock, room, works, wake }
}

test('a reply is looked at when its operation may be sent, not when others took the room that it waited for', async () => {
  const { clock, room, works, wake } = setUp(1000)
  wake.wakeAt(undefined, [operation])
  await clock.advance(999)
  room.readyAt = beginning + 3000
  await clock.advance(2000)
  expect(works).toEqual([])
  await clock.advance(1000)
  expect(works).toEqual([3000])
})

test('it is looked at when its own time has come, whether or not an operation may be sent', async () => {
  const { clock, works, wake } = setUp(60_000)
  wake.wakeAt(beginning + 2000, [operation])
  await clock.advance(10_000)
  expect(works).toEqual([2000])
})

test('the last call counts, and none after a stop', async () => {
  const { clock, works, wake } = setUp(1000)
  wake.wakeAt(beginning + 500, [operation])
  wake.wakeAt(undefined, [operation])
  await clock.advance(600)
  expect(works).toEqual([])
  wake.stop()
  wake.wakeAt(undefined, [])
  await clock.advance(10_000)
  expect(works).toEqual([])
})
