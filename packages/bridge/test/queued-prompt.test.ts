import { describe, expect, test } from 'vitest'
import { albumMs, albumWaitMs, isOlder, type QueuedPrompt } from '../src/state/queued-prompt.ts'

const prompt = (more: Partial<QueuedPrompt>): QueuedPrompt => ({
  ...{ id: '1', channel: 'own', chat: { id: '1' }, actor: { id: '1', name: 'Ann' }, text: 'Also this', files: [] },
  ...{ isCommand: false, receivedAt: 100_000, messageRef: { id: '1' } },
  ...more,
})

describe('whether a prompt was sent before a run began', () => {
  const at = { now: 100_000, ageMs: 10_000 }

  test('is told by the platform’s time, with two seconds of doubt for its steering', () => {
    const isOld = (postedAt: number): boolean => isOlder(prompt({ messageRef: { id: '1', postedAt } }), at)
    expect([87_999, 88_000, 90_000, 100_000].map(isOld)).toEqual([true, false, false, false])
  })

  test('is never sure without one: it steers what runs when it is heard', () => {
    expect(isOlder(prompt({}), at)).toBe(false)
    expect(isOlder(prompt({ receivedAt: 0 }), at)).toBe(false)
  })
})

test('an album waits a second for its next message, and no longer if the clock was set back', () => {
  const album = prompt({ albumID: 'a' })
  expect([100_000, 100_400, 101_000, 200_000].map((now) => albumWaitMs(album, now))).toEqual([1000, 600, 0, 0])
  expect(albumWaitMs(album, 0)).toBe(albumMs)
  expect(albumWaitMs(prompt({}), 100_000)).toBe(0)
})
