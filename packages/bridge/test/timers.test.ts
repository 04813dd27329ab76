import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createTimers, waitAtMost } from '../src/timers.ts'

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

test('a limit leaves no timer behind, whether its call resolves, rejects or is late', async () => {
  const clock = createHandClock()
  await waitAtMost(Promise.resolve(), 1000, clock)
  expect(clock.pending).toBe(0)
  await expect(waitAtMost(Promise.reject(new Error('The call failed.')), 1000, clock)).rejects.toThrow(
    'The call failed.',
  )
  expect(clock.pending).toBe(0)
  const late = waitAtMost(new Promise(() => {}), 1000, clock)
  await clock.advance(1000)
  await late
  expect(clock.pending).toBe(0)
})
