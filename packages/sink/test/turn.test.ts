import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createPacer } from '../src/deliver/pace.ts'
import { waitForTurn } from '../src/deliver/wait-for-turn.ts'
import { fakeLimits } from '../src/testing/fake-options.ts'
import { rest } from './scene.ts'
import { beginning } from './timeline.ts'

const limits = { ...fakeLimits, perChat: { calls: 1, perMs: 3000 } }

test('a waiting caller does not block others meanwhile', async () => {
  const clock = createHandClock(beginning)
  const pace = createPacer({ clock }).chat({ id: 'chat' }, limits)
  pace.startCall()?.()
  await clock.advance(1000)
  const said: number[] = []
  void waitForTurn(pace, clock, async () => void said.push(clock.now() - beginning))
  await clock.advance(10_000, rest)
  expect(said).toEqual([3000])
})

test('a waiting caller can be aborted', async () => {
  const clock = createHandClock(beginning)
  const pace = createPacer({ clock }).chat({ id: 'chat' }, limits)
  pace.freeze(600_000, 'chat')
  const abort = new AbortController()
  const said = waitForTurn(pace, clock, async () => 'said', { signal: abort.signal })
  abort.abort()
  await expect(said).rejects.toThrow()
  expect(clock.pending).toBe(0)
})
