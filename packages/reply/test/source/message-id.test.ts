import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createMessageIDs, timeOfID } from '../../src/source/message-id.ts'

/** An id of OpenCode 2, and when it arrived. */
const [recorded, arrivedAt] = ['evt_2270d4028001Ms27I0e5BAuz8s', Date.UTC(2026, 10, 29, 11, 25, 9, 547)]

test('the time of an id is when its server made it, to the millisecond', () => {
  const time = timeOfID(recorded, arrivedAt)
  expect(arrivedAt - (time ?? 0)).toBeGreaterThanOrEqual(0)
  expect(arrivedAt - (time ?? 0)).toBeLessThan(10)
})

test.each([0, 1, -1])('the time of an id is found %d years from now, though the clock in it wraps around', (years) => {
  const clock = createHandClock()
  const id = createMessageIDs({ clock })()
  expect(timeOfID(id, clock.now() + years * 365 * 86_400_000)).toBe(clock.now())
})

test.each(['', 'msg_', 'evt_1', 'msg_xyz', '2270d4028001'])('"%s" has no time', (id) => {
  expect(timeOfID(id, arrivedAt)).toBeUndefined()
})
