import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createTimers } from '../src/timers.ts'

test('a timer takes the place of the one before, and none runs after a stop', async () => {
  const clock = createHandClock()
  const timers = createTimers(clock)
  const ran: string[] = []
  timers.set('a', 1000, () => ran.push('first'))
  timers.set('a', 2000, () => ran.push('second'))
  timers.set('b', 1000, () => ran.push('cleared'))
  timers.clear('b')
  await clock.advance(2000)
  expect(ran).toEqual(['second'])
  timers.set('c', 1000, () => ran.push('stopped'))
  timers.stop()
  timers.set('d', 1000, () => ran.push('late'))
  await clock.advance(2000)
  expect(ran).toEqual(['second'])
})
