import { type Change, type Reply, replay, textOf } from '@reply/core'
import { beforeAll, describe, expect, test } from 'vitest'
import { observing } from './observing.ts'
import { outcomesOf, scenarios, tellOutcomes } from './outcomes.ts'
import { framesOf, recorded, type Tape } from './recorded.ts'
import {
  allReplies,
  copiesIn,
  lastTold,
  ourMessage,
  plus,
  remembered,
  repliesIn,
  spentOn,
  takenBack,
  toldMessage,
  toldMessages,
  toldSpent,
  toldText,
} from './truth.ts'
import { hiddenWords, wordsOf } from './words.ts'

/** The scenarios with recordings of both streams. */
const bothStreams = recorded.flatMap((all) => {
  const own = recorded.find((one) => `${one.name} global` === all.name)
  return own ? [[own.name, own, all] as const] : []
})

test('there are recordings of five versions', () => {
  expect(new Set(recorded.map((one) => one.version)).size).toBeGreaterThanOrEqual(5)
})

test('the outcome of every recorded scenario is stated', () => {
  const unknown = recorded.filter((one) => !scenarios.includes(one.scenario))
  expect(unknown.map((one) => one.name)).toEqual([])
})

test.each(bothStreams)('%s gives the same replies over /event and /global/event', async (_, own, all) => {
  const [ours, theirs] = await Promise.all([own, all].map(async (one) => timeless(await replay(one.read().bytes))))
  expect(theirs).toEqual(ours)
})

/** Drops receive times: the two streams have separate clocks. */
function timeless(replies: readonly Reply[]): unknown {
  const isStamp = /^(raw|(started|settled|asked|closed|ended)At)$/
  return JSON.parse(JSON.stringify(replies), (key, value) => (isStamp.test(key) ? undefined : value))
}

describe.each(recorded)('$name', ({ version, scenario, read }) => {
  let tape: Tape
  let frames: ReturnType<typeof framesOf>
  let replies: readonly Reply[]
  const heard: Change[][] = []
  const errors: string[] = []

  beforeAll(async () => {
    tape = read()
    frames = framesOf(tape.bytes)
    const observe = () => {
      const changes: Change[] = []
      heard.push(changes)
      return [observing((change) => changes.push(change))]
    }
    replies = await replay(tape.bytes, { observe, onError: (error) => errors.push(error.message) })
  })

  test('nothing in it is malformed', () => {
    expect(errors).toEqual([])
  })

  test('its replies end as the scenario says, each once', () => {
    expect(tellOutcomes(replies)).toBe(outcomesOf(version, scenario))
    const ends = heard.map((changes) => changes.filter((change) => change.type === 'replySettled').length)
    expect(ends).toEqual(replies.map(() => 1))
  })

  test("every message and part equals the server's", () => {
    for (const { told, ours } of pairs()) {
      expect(ours.map(({ message }) => message.id)).toEqual(toldMessages(told).map(({ head }) => head.id))
      for (const [index, { head, parts }] of toldMessages(told).entries()) {
        const { message, reply } = ours[index] ?? expect.fail()
        const whole = parts.map((part) => remembered(part, message, reply, frames))
        expect(ourMessage(message)).toEqual(toldMessage(lastTold(head, reply, frames), whole))
      }
    }
  })

  test('it has no session that the server does not have', () => {
    const deleted = frames.filter((frame) => frame.type === 'session.deleted').map((frame) => frame.properties.info.id)
    const known = [...tape.sessions.map((told) => told.id), ...deleted]
    for (const reply of allReplies(replies)) expect(known).toContain(reply.sessionID)
  })

  test('exactly the parts that a retry replaced are abandoned', () => {
    const parts = allReplies(replies).flatMap((reply) => reply.messages.flatMap((message) => message.parts))
    const abandoned = parts.filter((part) => part.status === 'abandoned').map((part) => part.id)
    const expected = tape.sessions.flatMap((told) => toldMessages(told).flatMap(({ parts }) => takenBack(parts)))
    expect(abandoned).toEqual(expected)
  })

  test("the checklist and the sub-agents are the server's", () => {
    for (const { told, own } of pairs()) {
      const todos = own.at(-1)?.todos.map(({ content, status, priority }) => ({ content, status, priority })) ?? []
      expect(todos).toEqual(told.todos.map(({ content, status, priority }) => ({ content, status, priority })))
      const children = own.flatMap((reply) => reply.children.map((child) => child.reply.sessionID))
      expect(new Set(children)).toEqual(new Set(told.children))
    }
  })

  test("its tokens and cost are the server's", () => {
    for (const { told, own } of pairs()) {
      const { tokens, cost } = told.info
      // Servers count a session from 1.17 on. A fork's count includes the copies that it begins with.
      if (tokens) expect(plus(spentOn(own), ...copiesIn(told).map(toldSpent))).toEqual(toldSpent({ tokens, cost }))
    }
  })

  test('its text is what the model said, and no word of anything else', () => {
    const hidden = hiddenWords(tape.sessions, frames)
    for (const { told, own, ours } of pairs()) {
      const said = own.map(textOf).filter((text) => text !== '')
      expect(said.flatMap(wordsOf).filter((word) => hidden.has(word))).toEqual([])
      const texts = toldMessages(told).map(({ parts }, index) => {
        const { message, reply } = ours[index] ?? expect.fail()
        return toldText(parts.map((part) => remembered(part, message, reply, frames)))
      })
      expect(said.join('\n\n')).toBe(texts.filter((text) => text !== '').join('\n\n'))
    }
  })

  /** Each session of the server with our replies of it and their messages. */
  function pairs() {
    const all = allReplies(replies)
    return tape.sessions.map((told) => {
      const own = repliesIn(all, told.id)
      return { told, own, ours: own.flatMap((reply) => reply.messages.map((message) => ({ message, reply }))) }
    })
  }
})
