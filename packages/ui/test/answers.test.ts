import type { Ask, Reply } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { statesOf } from '../../reply/test/web/recorded-states.ts'
import { createUIProjection, readAnswers, type UIAsk } from '../src/index.ts'
import { messageOf } from './recorded.ts'

/** The reply of a recording where it waits for a person, and what the page shows then. */
async function waitingIn(
  scenario: string,
): Promise<{ reply: Reply; ask: Ask; data: UIAsk; approvalId: string; message: { id: string } }> {
  const [states = []] = await statesOf({ version: '1.18.33', scenario, global: false })
  const projection = createUIProjection()
  const chunks = []
  for (const reply of states) {
    chunks.push(...projection.next(reply))
    if (!projection.ended) continue
    const shown = chunks.findLast((chunk) => chunk.type === 'data-ask')
    const request = chunks.findLast((chunk) => chunk.type === 'tool-approval-request')
    const ask = reply.asks.find(({ requestID }) => requestID === shown?.id)
    if (!shown || !ask) break
    return { reply, ask, data: shown.data, approvalId: request?.approvalId ?? '', message: await messageOf(chunks) }
  }
  throw new Error(`${scenario} asks nothing.`)
}

/** The body of a POST after an approval was answered in the page. */
function approving(id: string, answer: { approved: boolean; reason?: string } = { approved: true }) {
  const part = { type: 'dynamic-tool', toolName: 'bash', toolCallId: 'any', state: 'approval-responded' }
  return { messages: [{ role: 'assistant', parts: [{ ...part, approval: { id, ...answer } }] }] }
}

/** The body of a POST with an answer beside the messages. */
function answering(id: string, answer: unknown): unknown {
  return { messages: [], answers: [{ id, answer }] }
}

const refusal = (type: string): unknown => expect.objectContaining({ name: 'ReplyError', type })

describe('an approval', () => {
  test('is read as once, always or reject, with the ask of the reply', async () => {
    const { reply, ask, approvalId } = await waitingIn('permission-always')
    expect(readAnswers(approving(approvalId), reply)).toEqual([{ ask, answer: 'once' }])
    expect(readAnswers(approving(approvalId, { approved: true, reason: 'always' }), reply)).toEqual([
      { ask, answer: 'always' },
    ])
    expect(readAnswers(approving(approvalId, { approved: false, reason: 'Not now.' }), reply)).toEqual([
      { ask, answer: 'reject', message: 'Not now.' },
    ])
  })

  test('with the id of no ask is refused, however it was made up', async () => {
    const { reply, ask } = await waitingIn('permission-once')
    for (const id of [
      '',
      '.',
      ask.requestID,
      `x${ask.requestID}.AAAAAAAAAAAAAAAA`,
      'per_other.AAAAAAAAAAAAAAAA',
      '__proto__.x',
    ])
      expect(() => readAnswers(approving(id), reply), id).toThrow(refusal('gone'))
  })

  test('with another digest is refused, so that an old click never allows a changed command', async () => {
    const { reply, ask, approvalId } = await waitingIn('permission-once')
    if (ask.type !== 'permission') throw new Error('It is a question.')
    expect(() => readAnswers(approving(`${ask.requestID}.AAAAAAAAAAAAAAAA`), reply)).toThrow(refusal('invalid'))
    const changed = { ...ask, call: { tool: 'bash', input: { command: 'rm -rf /' } } }
    const later = { ...reply, asks: reply.asks.map((each) => (each === ask ? changed : each)) }
    for (const body of [
      approving(approvalId),
      approving(approvalId, { approved: false }),
      answering(approvalId, 'once'),
    ])
      expect(() => readAnswers(body, later)).toThrow(refusal('invalid'))
  })

  test('of a closed ask is refused, and left out beside one that counts', async () => {
    const { reply, ask, approvalId } = await waitingIn('permission-once')
    const closed = { ...ask, requestID: 'per_before', status: 'answered' } as const
    const later = { ...reply, asks: [closed, ...reply.asks] }
    const repeated = approving('per_before.AAAAAAAAAAAAAAAA')
    expect(() => readAnswers(repeated, later)).toThrow(refusal('already-resolved'))
    const both = { ...repeated, answers: [{ id: approvalId, answer: 'once' }] }
    expect(readAnswers(both, later)).toEqual([{ ask, answer: 'once' }])
  })

  test('can’t be given twice in one body', async () => {
    const { reply, approvalId } = await waitingIn('permission-once')
    const both = { ...approving(approvalId), answers: [{ id: approvalId, answer: 'reject' }] }
    expect(() => readAnswers(both, reply)).toThrow(refusal('invalid'))
  })

  test('is taken only as far as the ask allows it', async () => {
    const { reply, ask } = await waitingIn('permission-once')
    if (ask.type !== 'permission') throw new Error('It is a question.')
    const withAsk = (changed: Ask): { later: Reply; id: string } => {
      const later = { ...reply, asks: [changed] }
      const projection = createUIProjection({ stopAtAsks: false })
      const shown = projection.next(later).find((chunk) => chunk.type === 'data-ask')
      return { later, id: shown?.data.id ?? '' }
    }
    const unknown = withAsk({ ...ask, call: undefined })
    expect(() => readAnswers(answering(unknown.id, 'once'), unknown.later)).toThrow(refusal('invalid'))
    expect(readAnswers(answering(unknown.id, 'reject'), unknown.later)).toMatchObject([{ answer: 'reject' }])
    const wide = withAsk({ ...ask, always: ['*'] })
    expect(() => readAnswers(answering(wide.id, 'always'), wide.later)).toThrow(refusal('invalid'))
    expect(() => readAnswers(answering(wide.id, [['yes']]), wide.later)).toThrow(refusal('invalid'))
  })

  test('believes nothing else of a body', async () => {
    const { reply, ask, approvalId } = await waitingIn('permission-once')
    const part = {
      type: 'dynamic-tool',
      toolName: 'other',
      toolCallId: 'other',
      input: { command: 'rm -rf /' },
      state: 'approval-responded',
      approval: { id: approvalId, approved: true, ask: { call: { tool: 'bash', input: {} } } },
    }
    const body = { messages: [{ id: 'other', role: 'assistant', parts: [part] }], reply: {}, sessionID: 'ses_other' }
    const answers = readAnswers(body, reply)
    expect(answers).toEqual([{ ask, answer: 'once' }])
    expect(answers[0]?.ask).toBe(ask)
  })
})

describe('an answer to questions', () => {
  test('comes as the output of their tool part', async () => {
    const { reply, ask, data } = await waitingIn('question')
    if (ask.type !== 'question') throw new Error('It is a permission.')
    const label = ask.questions[0]?.options[0]?.label ?? ''
    const part = { type: 'dynamic-tool', toolCallId: data.toolCallId, state: 'output-available', output: [[label]] }
    const body = (changed: object): unknown => ({ messages: [{ role: 'assistant', parts: [{ ...part, ...changed }] }] })
    expect(readAnswers(body({}), reply)).toEqual([{ ask, answer: [[label]] }])
    expect(readAnswers(body({ state: 'output-error', errorText: 'no' }), reply)).toEqual([{ ask, answer: 'reject' }])
    for (const output of [[], [[]], [['']], { answers: [[label]] }, [[label], [label]], null])
      expect(() => readAnswers(body({ output }), reply), JSON.stringify(output)).toThrow(refusal('invalid'))
    const answered = { ...reply, asks: [{ ...ask, status: 'answered' as const }] }
    expect(() => readAnswers(body({}), answered)).toThrow(refusal('already-resolved'))
    expect(readAnswers(body({ output: 'The agent’s own output.' }), answered)).toEqual([])
  })

  test('comes in the body by the id of its data', async () => {
    const { reply, ask, data } = await waitingIn('question')
    if (ask.type !== 'question') throw new Error('It is a permission.')
    expect(readAnswers(answering(data.id, [['1']]), reply)).toEqual([{ ask, answer: [['1']] }])
    expect(readAnswers(answering(data.id, 'reject'), reply)).toEqual([{ ask, answer: 'reject' }])
    for (const answer of ['once', [['1'], ['1']], [[]]])
      expect(() => readAnswers(answering(data.id, answer), reply), JSON.stringify(answer)).toThrow(refusal('invalid'))
    expect(() => readAnswers(approving(data.id), reply)).toThrow(refusal('gone'))
  })
})

test('a permission of a sub-agent is answered in the body', async () => {
  const { reply, ask, data } = await waitingIn('subagent-permission')
  expect(ask.path.length).toBeGreaterThan(1)
  expect(data).toMatchObject({ type: 'permission', status: 'pending', sessionID: ask.sessionID })
  expect(data.toolCallId).toBeUndefined()
  expect(readAnswers(answering(data.id, 'once'), reply)).toEqual([{ ask, answer: 'once' }])
})

test('a body of many parts is refused, and parts of other types are not looked into', async () => {
  const { reply } = await waitingIn('permission-once')
  const many = (count: number, part: unknown) => ({
    messages: [{ id: 'msg_1-reply', role: 'assistant', parts: Array.from({ length: count }, () => part) }],
  })
  let reads = 0
  const watched = new Proxy(
    { type: 'other' },
    {
      get: (target, field) => {
        reads += 1
        return Reflect.get(target, field)
      },
    },
  )
  const body = many(1000, watched)
  expect(readAnswers(body, reply)).toEqual([])
  expect(reads).toBeLessThanOrEqual(3000)
  reads = 0
  const have = body.messages[0]
  expect(createUIProjection({ have }).next(reply).length).toBeGreaterThan(0)
  expect(reads).toBeLessThanOrEqual(3000)
  expect(() => readAnswers(many(10_001, 7), reply)).toThrow(refusal('invalid'))
})

test('bodies that answer nothing have no answers, and others are refused', async () => {
  const { reply, message } = await waitingIn('permission-once')
  const person = { role: 'user', parts: [{ type: 'text', text: 'Hello' }] }
  const old = approving('per_old.x')
  for (const body of [
    {},
    { messages: [] },
    { messages: [person] },
    { messages: [...old.messages, person] },
    { messages: [message] },
  ])
    expect(readAnswers(body, reply), JSON.stringify(body)).toEqual([])
  for (const body of [
    undefined,
    null,
    7,
    'text',
    { messages: 7 },
    answering('x', 'allow'),
    { answers: [7] },
    answering('x', [[7]]),
  ])
    expect(() => readAnswers(body, reply), JSON.stringify(body)).toThrow(refusal('invalid'))
})
