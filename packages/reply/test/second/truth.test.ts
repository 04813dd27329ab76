import { openCode2Version } from '@reply/testing'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Reply, replay, textOf } from '../../src/index.ts'
import { observing } from '../observing.ts'
import { tellOutcomes } from '../outcomes.ts'
import { allReplies, plus, repliesIn, spentOn } from '../truth.ts'
import { outcomes } from './outcomes.ts'
import { asStable, readTape, secondRecordings, type Tape } from './recorded.ts'
import { ourMessage, spentAside, toldMessage, toldMessages, toldSpent, toldText } from './truth.ts'

test('at least 60 scenarios are recorded, and the outcome of each is stated', () => {
  expect(secondRecordings.length).toBeGreaterThanOrEqual(60)
  expect(secondRecordings.map(({ scenario }) => scenario).sort()).toEqual(Object.keys(outcomes).sort())
})

describe.each(secondRecordings.map(({ scenario }) => scenario))(`${openCode2Version}/%s`, (scenario) => {
  let tape: Tape
  let replies: readonly Reply[]
  const errors: string[] = []
  let ends = 0

  beforeAll(async () => {
    tape = readTape(scenario)
    const observe = () => [observing(({ type }) => (ends += type === 'replySettled' ? 1 : 0))]
    replies = await replay(tape.bytes, { observe, onError: (error) => errors.push(error.message) })
  })

  test('nothing in it is malformed', () => expect(errors).toEqual([]))

  test('its replies end as stated, each once', () => {
    expect(tellOutcomes(replies)).toBe(outcomes[scenario])
    expect(ends).toBe(replies.length)
  })

  test("every step, text, thought and tool call equals the server's", () => {
    const all = allReplies(replies)
    for (const told of tape.sessions) {
      const own = repliesIn(all, told.id)
      const ours = own.flatMap((reply) => reply.messages.map((message) => ({ message, reply })))
      const theirs = toldMessages(told)
      expect(ours.map(({ message }) => message.id)).toEqual(theirs.map(({ id }) => id))
      for (const [index, { message, reply }] of ours.entries())
        expect(ourMessage(message)).toEqual(toldMessage(theirs[index] ?? {}, { reply, frames: tape.frames }))
      expect(own.flatMap(({ children }) => children.map((child) => child.reply.sessionID))).toEqual(
        expect.arrayContaining([...told.children]),
      )
    }
  })

  test("its tokens and cost are the server's, but for titles and what was reverted", () => {
    for (const told of tape.sessions) {
      const ours = spentOn(repliesIn(allReplies(replies), told.id))
      const { cost, ...tokens } = plus(ours, ...spentAside(told, tape.frames))
      const { cost: theirCost, ...theirTokens } = toldSpent(told.info)
      expect(tokens).toEqual(theirTokens)
      expect(cost).toBeCloseTo(theirCost, 9)
    }
  })

  test('its text is what the model said', () => {
    for (const told of tape.sessions) {
      const said = repliesIn(allReplies(replies), told.id).map(textOf)
      expect(said.filter((text) => text !== '').join('\n\n')).toBe(toldText(told, tape.frames))
    }
  })

  test('it gives the same replies under the names of 2.0', async () => {
    expect(lastingly(await replay(asStable(tape.frames)))).toEqual(lastingly(replies))
  })
})

/** Drops the wire's own objects and the times of reading. */
function lastingly(replies: readonly Reply[]): unknown {
  const own = /^(raw|(started|settled|asked|closed|ended)At)$/
  return JSON.parse(JSON.stringify(replies, (key, value) => (own.test(key) ? undefined : value)))
}
