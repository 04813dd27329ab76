import { type Change, type Message, type Reply, reduce, type Usage } from '@reply/core'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { SessionScopedEvent } from '../../src/event.ts'
import { longFrom } from '../../src/reduce/long-parts.ts'
import { message, part, root, running, stepFinish, text } from '../make.ts'
import { fold } from './long-message.ts'

/** Costs whose sum has other last digits when they are added in another order. */
function step(messageID: string, at: number, order?: readonly string[]): SessionScopedEvent {
  const told = stepFinish(messageID, at, `s${at}`)
  const costly = part({ ...told.part, ...(told.part.type === 'step-finish' ? { cost: 0.1 + at / 7 } : {}) })
  return { ...costly, order }
}

/** Added up from the first step to the last, one by one. */
function added(messages: readonly Message[]): Usage {
  let usage: Usage = { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0, cost: 0, steps: 0 }
  for (const one of messages.flatMap(({ parts }) => parts)) {
    if (one.type !== 'step-finish') continue
    const { input, output } = one.tokens
    usage = { ...usage, input: usage.input + input, output: usage.output + output, cost: usage.cost + one.cost }
    usage = { ...usage, steps: usage.steps + 1, contextTokens: input + output }
  }
  return usage
}

const steps = (messageID: string, length: number): SessionScopedEvent[] =>
  Array.from({ length }, (_, at) => step(messageID, at))

const names = fc.constantFrom('m1', 'm2', 'm3')
const event: fc.Arbitrary<SessionScopedEvent> = fc.oneof(
  fc.tuple(names, fc.nat(2 * longFrom)).map(([name, at]) => step(name, at)),
  fc.tuple(names, fc.nat(9)).map(([name, at]) => step(name, 5000 + at, [`${name}.s${5000 + at}`, `${name}.s20`])),
  names.map((name) => text(name, 'Done.', { status: 'sealed' })),
  fc.tuple(names, fc.nat(longFrom)).map(([messageID, at]): SessionScopedEvent => {
    return { type: 'part-removed', at: 1, sessionID: root, messageID, partID: `${messageID}.s${at}` }
  }),
)
const start = fold([
  ...running,
  ...['m2', 'm3'].map((id) => message(id)),
  ...steps('m1', 20),
  ...steps('m2', longFrom + 40),
  ...steps('m3', 30),
])

test('usage is the sum from the first step to the last, to the last digit', () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 20 }), (events) => {
      let reply: Reply = start
      for (const one of events) {
        reply = fold([one], reply)
        expect(reply.usage).toEqual(added(reply.messages))
      }
    }),
    { numRuns: 30 },
  )
})

test.each(['m1', 'm2', 'm3'])('each step that goes with message %s takes the usage back by one', (messageID) => {
  const { reply, changes } = reduce(start, { type: 'message-removed', at: 1, sessionID: root, messageID })
  const told = changes.filter(
    (change): change is Extract<Change, { type: 'usageChanged' }> => change.type === 'usageChanged',
  )
  const at = start.messages.findIndex(({ id }) => id === messageID)
  const left = start.messages[at]?.parts.map((_, place) =>
    added(start.messages.map((one, index) => (index === at ? { ...one, parts: one.parts.slice(0, place) } : one))),
  )
  expect(told.map(({ usage }) => usage)).toEqual(left?.toReversed())
  expect(reply.usage).toEqual(added(reply.messages))
})
