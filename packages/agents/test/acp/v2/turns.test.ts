import type { LocalRun } from '@reply/core/source'
import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createTurns, longestHoldMs } from '../../../src/acp/turns.ts'

const run: LocalRun = {
  sessionID: 'ses',
  directory: undefined,
  promptID: 'p',
  isOpen: () => true,
  write: () => {},
  ask: () => {},
  closeAsk: () => {},
  child: () => run,
  end: () => {},
}

test.each([true, false])('what is held is applied in its time, unless the agent has ended (%s)', async (hasEnded) => {
  const clock = createHandClock()
  const applied: unknown[] = []
  const nothing = (): void => {}
  const turns = createTurns(
    () => run,
    nothing,
    nothing,
    nothing,
    (params) => applied.push(params),
    clock,
  )
  turns.expect(run)
  expect([turns.hold('ses', 'message', 'm'), turns.hold('ses', 'text', undefined)]).toEqual([true, true])
  if (hasEnded) turns.close()
  clock.advance(longestHoldMs)
  await turns.decided('ses')
  expect(applied).toEqual(hasEnded ? [] : ['message', 'text'])
})
