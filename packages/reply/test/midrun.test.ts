import { type Reply, reasoningOf, replay, textOf, toolsOf } from '@reply/core'
import { describe, expect, test } from 'vitest'

/** A stream that was joined mid-run, or that kept only some events: it names no session, message or role. */
const ids = { sessionID: 's', messageID: 'm1' }
const event = (type: string, properties: object) => ({ type, properties: { sessionID: 's', ...properties } })
const delta = (partID: string, text: string, more: object = {}) =>
  event('message.part.delta', { ...ids, partID, field: 'text', delta: text, ...more })
const part = (id: string, type: string, more: object) =>
  event('message.part.updated', { part: { ...ids, id, type, ...more } })
const idle = event('session.status', { status: { type: 'idle' } })
const oldIdle = event('session.idle', {})

async function replayed(...frames: readonly object[]): Promise<Reply> {
  const replies = await replay(frames.map((frame) => JSON.stringify(frame)).join('\n'), {
    onError: (error) => {
      throw error
    },
  })
  expect(replies).toHaveLength(1)
  return replies[0] ?? expect.fail()
}

describe('a stream that begins in mid-run gives a reply', () => {
  test('of deltas and an idle', async () => {
    for (const end of [idle, oldIdle]) {
      const reply = await replayed(delta('p', 'All '), delta('p', 'green.'), end)
      expect({ outcome: reply.outcome, text: textOf(reply) }).toEqual({ outcome: 'completed', text: 'All green.' })
    }
  })

  test('of deltas, their whole part and an idle', async () => {
    const reply = await replayed(delta('p', 'All gre'), part('p', 'text', { text: 'All is green.' }), idle)
    expect({ outcome: reply.outcome, text: textOf(reply) }).toEqual({ outcome: 'completed', text: 'All is green.' })
  })

  test('of reasoning and text, each by its kind', async () => {
    const reply = await replayed(
      delta('r', 'Which tests', { field: 'reasoning' }),
      part('r', 'reasoning', { text: 'Which tests are there?' }),
      delta('t', 'Two.'),
      idle,
    )
    expect([reasoningOf(reply), textOf(reply)]).toEqual(['Which tests are there?', 'Two.'])
  })

  test('of an event that is not known, deltas and an idle', async () => {
    expect(textOf(await replayed(event('server.next', { payload: {} }), delta('p', 'Fine.'), idle))).toBe('Fine.')
  })

  test('of steps that end without a reason, or all their tokens', async () => {
    const finish = (id: string, messageID: string, input: number) =>
      part(id, 'step-finish', { messageID, cost: 0.25, tokens: { input, output: 2 } })
    const last = delta('p', 'Done.', { messageID: 'm2' })
    const reply = await replayed(finish('f1', 'm1', 10), finish('f2', 'm2', 20), last, idle)
    expect(reply).toMatchObject({
      outcome: 'completed',
      usage: { cost: 0.5, input: 30, output: 4, reasoning: 0, steps: 2 },
    })
    expect(textOf(reply)).toBe('Done.')
  })

  test('of asks that are answered, one with its asking, and their call', async () => {
    const call = (state: object) =>
      part('c', 'tool', { tool: 'question', callID: 'c1', state: { input: {}, ...state } })
    const question = { questions: [{ header: 'Go', question: 'Go on?', options: [{ label: 'Yes' }] }] }
    const reply = await replayed(
      event('question.asked', { id: 'q1', ...question, tool: { messageID: 'm1', callID: 'c1' } }),
      call({ status: 'running' }),
      event('permission.replied', { requestID: 'p1', reply: 'once' }),
      event('question.replied', { requestID: 'q1', answers: [['Yes']] }),
      call({ status: 'completed', output: 'answered' }),
      idle,
    )
    expect(toolsOf(reply).map(({ tool, state }) => [tool, state.status])).toEqual([['question', 'completed']])
    expect(reply.asks).toMatchObject([
      { requestID: 'q1', status: 'answered', answers: [['Yes']] },
      { requestID: 'p1', status: 'answered', reply: 'once' },
    ])
    expect(reply.asks[1]?.askedAt).toBeUndefined()
    expect(reply.outcome).toBe('completed')
  })
})
