import { describe, expect, test } from 'vitest'
import { albumMs, albumWaitMs, isSurelyOlder, type QueuedPrompt } from '../src/state/queued-prompt.ts'

const prompt = (more: Partial<QueuedPrompt>): QueuedPrompt => ({
  ...{ id: '1', channel: 'own', chat: { id: '1' }, actor: { id: '1', name: 'Ann' }, text: 'Also this', files: [] },
  ...{ isCommand: false, receivedAt: 100_000, messageRef: { id: '1' } },
  ...more,
})

describe('whether a prompt was sent before a run began', () => {
  const now = 100_000
  const ageMs = 10_000

  test('is told by the platform’s time, with two seconds of doubt for its steering', () => {
    const isOld = (postedAt: number): boolean =>
      isSurelyOlder(prompt({ messageRef: { id: '1', postedAt } }), ageMs, now)
    expect([87_999, 88_000, 90_000, 100_000].map(isOld)).toEqual([true, false, false, false])
  })

  test('is never sure without one: it steers what runs when it is heard', () => {
    expect(isSurelyOlder(prompt({}), ageMs, now)).toBe(false)
    expect(isSurelyOlder(prompt({ receivedAt: 0 }), ageMs, now)).toBe(false)
  })
})

test('an album waits until its last message has been known for a second', () => {
  const album = prompt({ albumID: 'a' })
  expect([0, 400, 1000, 100_000].map((knownForMs) => albumWaitMs(album, knownForMs))).toEqual([albumMs, 600, 0, 0])
  expect(albumWaitMs(prompt({}), 0)).toBe(0)
})
