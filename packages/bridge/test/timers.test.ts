import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createTimers } from '../src/timers.ts'

test('a timer takes the place of the one before, and none runs after a stop', async () => {
  const clock = createHandClock()
  const timers = createTimers(clock)
  const ran: string[] = []
  timers.restart('a', 1000, () => ran.push('first'))
  timers.restart('a', 2000, () => ran.push('second'))
  timers.restart('b', 1000, () => ran.push('cleared'))
  timers.clear('b')
  await clock.advance(2000)
  expect(ran).toEqual(['second'])
  timers.restart('c', 1000, () => ran.push('stopped'))
  timers.stop()
  timers.restart('d', 1000, () => ran.push('late'))
  await clock.advance(2000)
  expect(ran).toEqual(['second'])
})
