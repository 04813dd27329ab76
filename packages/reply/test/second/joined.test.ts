import { expect, test } from 'vitest'
import type { MessageHead } from '../../src/event.ts'
import { addPromptsAndTimes } from '../../src/source/opencode2/decode/rest-responses.ts'
import { runStarts } from '../../src/track/run-boundaries.ts'

const head = { summary: false, raw: undefined }
const prompt = (id: string, createdAt: number): MessageHead => ({ ...head, id, role: 'user', createdAt })
const step = (id: string, createdAt: number, completedAt: number): MessageHead => {
  return { ...head, id, role: 'assistant', createdAt, completedAt, finish: 'stop' }
}

/** Where runs start, given when the second prompt was accepted and delivered. The step took from 9,000 to 9,100. */
function starts(accepted: number, delivered: number): readonly number[] {
  const heads = [prompt('u1', 8900), step('m1', 9000, 9100), prompt('u2', delivered)]
  const messages = heads.map((one) => ({ head: one, parts: [] }))
  return runStarts(addPromptsAndTimes(messages, new Map([['u2', accepted]])))
}

test.each([
  ['accepted during the step', 9050, 9150, [0]],
  ['accepted before the step', 8950, 9150, [0]],
  ['accepted after the step', 9120, 9150, [0, 2]],
  ['accepted after the clock was set back', 400, 410, [0, 2]],
])('a prompt that was %s: runs start at its messages', (_, accepted, delivered, wanted) => {
  expect(starts(accepted, delivered)).toEqual(wanted)
})
