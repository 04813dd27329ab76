import type { EventType, Event as PeerEvent } from '@ag-ui/core'
import { emptyReply, type Reply } from '@reply/core'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { type AgUiEvent, type AgUiMessage, createAgUiProjection } from '../src/index.ts'
import { callPart, messageOf, permissionOf, questionOf, replyOf, settled, textPart } from './make.ts'
import { show, shownText } from './peer.ts'

const run = { threadId: 'thread', runId: 'run' }

/** The events of each state, without those of the run and its steps. */
function said(states: readonly Reply[], options: Partial<Parameters<typeof createAgUiProjection>[0]> = {}) {
  const projection = createAgUiProjection({ ...run, ...options })
  return states.map((state) => projection.next(state).filter(({ type }) => !/^(?:RUN|STEP)_/.test(type)))
}

const typesOf = (events: readonly AgUiEvent[]): readonly string[] => events.map(({ type }) => type)

test('every event fits an event of the protocol', () => {
  /** The peer names types by an enum. Over the wire they are its values. */
  type Wire<E> = E extends { readonly type: infer T extends EventType } ? Omit<E, 'type'> & { type: `${T}` } : never
  type Mutable<T> = T extends readonly (infer I)[]
    ? Mutable<I>[]
    : T extends object
      ? { -readonly [K in keyof T]: Mutable<T[K]> }
      : T
  type Plain = Exclude<AgUiEvent, { type: 'MESSAGES_SNAPSHOT' }>
  expectTypeOf<Mutable<Plain>>().toExtend<Wire<PeerEvent>>()
})

describe('texts', () => {
  test('grow by deltas, and white space at an open end waits', () => {
    const [first, second, third] = said([
      replyOf([messageOf('m', [textPart('t', 'One ')])]),
      replyOf([messageOf('m', [textPart('t', 'One two')])]),
      replyOf([messageOf('m', [textPart('t', 'One two\n', 'sealed')])]),
    ])
    expect(first).toEqual([
      { type: 'TEXT_MESSAGE_START', messageId: 't', role: 'assistant' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 't', delta: 'One' },
    ])
    expect(second).toEqual([{ type: 'TEXT_MESSAGE_CONTENT', messageId: 't', delta: ' two' }])
    expect(third).toEqual([
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 't', delta: '\n' },
      { type: 'TEXT_MESSAGE_END', messageId: 't' },
    ])
  })

  test('a text that is taken back is replaced by a snapshot of the whole conversation', async () => {
    const history = [{ id: 'u', role: 'user', content: 'Hi' } as const]
    const before = replyOf([messageOf('m', [textPart('t', 'Wrong'), textPart('t2', 'Kept')])])
    const after = settled(replyOf([messageOf('m', [textPart('t', 'Wrong', 'abandoned'), textPart('t2', 'Kept more')])]))
    const { messages, events } = await show([before, after], history)
    expect(messages).toEqual([...history, { id: 't2', role: 'assistant', content: 'Kept more' }])
    expect(events.filter(({ type }) => type === 'MESSAGES_SNAPSHOT')).toHaveLength(1)
  })

  test('a text that comes before others takes two snapshots, because a client keeps its order', async () => {
    const late = messageOf('m2', [textPart('t2', 'Second')])
    const { messages, events } = await show([
      replyOf([late]),
      settled(replyOf([messageOf('m1', [textPart('t1', 'First')]), late])),
    ])
    expect(shownText(messages)).toBe('First\n\nSecond')
    expect(events.filter(({ type }) => type === 'MESSAGES_SNAPSHOT')).toHaveLength(2)
  })

  test('a client shows no thought that was taken back', async () => {
    const thought = { type: 'reasoning', id: 'r', messageID: 'm', status: 'open', raw: undefined, text: 'Hm' } as const
    const { messages } = await show([
      replyOf([messageOf('m', [thought])]),
      settled(replyOf([messageOf('m', [{ ...thought, status: 'abandoned' }, textPart('t', 'Yes')])])),
    ])
    expect(messages.filter(({ content }) => content !== '')).toEqual([{ id: 't', role: 'assistant', content: 'Yes' }])
  })

  test('a text that ended grows in the same message', async () => {
    const { messages } = await show([
      replyOf([messageOf('m', [textPart('t', 'One', 'sealed')])]),
      settled(replyOf([messageOf('m', [textPart('t', 'One more', 'sealed')])])),
    ])
    expect(messages).toEqual([{ id: 't', role: 'assistant', content: 'One more' }])
  })
})

test('messages that did not change are not read again', () => {
  let reads = 0
  const old = Object.defineProperty(messageOf('m1', []), 'parts', {
    get: () => {
      reads += 1
      return [textPart('t1', 'One', 'sealed')]
    },
  })
  const projection = createAgUiProjection(run)
  const begun = replyOf([old])
  projection.next(begun)
  const afterFirst = reads
  for (const text of ['T', 'Tw', 'Two'])
    projection.next({ ...begun, messages: [old, messageOf('m2', [textPart('t2', text)])] })
  expect(reads).toBe(afterFirst)
})

describe('tools', () => {
  test('a call is said once its input is known, and its result with how it ended', () => {
    const input = { command: 'npm test' }
    const [pending, running, done] = said([
      replyOf([messageOf('m', [callPart('c', { status: 'pending' })])]),
      replyOf([messageOf('m', [callPart('c', { input })])]),
      replyOf([messageOf('m', [callPart('c', { status: 'completed', input, output: 'ok', title: 'Tests' })])]),
    ])
    expect(pending).toEqual([])
    expect(running).toEqual([
      { type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'bash' },
      { type: 'TOOL_CALL_ARGS', toolCallId: 'c', delta: '{"command":"npm test"}' },
      { type: 'TOOL_CALL_END', toolCallId: 'c' },
    ])
    expect(done).toEqual([
      {
        type: 'TOOL_CALL_RESULT',
        messageId: 'c.result',
        toolCallId: 'c',
        role: 'tool',
        content: 'ok',
        metadata: { reply: { status: 'completed', title: 'Tests' } },
      },
    ])
  })

  test('a snapshot has the error of a failed call', () => {
    const failed = callPart('c', { status: 'error', error: 'ENOENT' })
    const [events] = said([replyOf([messageOf('m', [failed])])], { have: [] })
    const snapshot = events?.find((event) => event.type === 'MESSAGES_SNAPSHOT')
    expect(snapshot).toMatchObject({ messages: [{ id: 'c' }, { role: 'tool', content: 'ENOENT', error: 'ENOENT' }] })
  })

  test('a call that the end of the run interrupted has a result, so that no page waits for it', async () => {
    const call = { ...callPart('c', { interrupted: true }), status: 'sealed' as const }
    const { messages } = await show([settled(replyOf([messageOf('m', [call])]), 'aborted')])
    expect(messages).toMatchObject([{ id: 'c' }, { role: 'tool', metadata: { reply: { status: 'interrupted' } } }])
  })

  test('files are activities, with addresses that a page can open', () => {
    const file = { id: 'f', mime: 'image/png', filename: 'plots/a.png', url: 'data:image/png;base64,AA==' }
    const attachments = [file, { ...file, id: 'g', url: 'file:///home/me/a.png' }]
    const [events = []] = said([
      replyOf([messageOf('m', [callPart('c', { status: 'completed', output: '', attachments })])]),
    ])
    const contents = events.flatMap((event) => (event.type === 'ACTIVITY_SNAPSHOT' ? [event.content] : []))
    expect(contents).toEqual([
      { id: 'f', name: 'a.png', mime: 'image/png', url: file.url },
      { id: 'g', name: 'a.png', mime: 'image/png' },
    ])
  })
})

test('todos of the run are one activity, changed by patches', async () => {
  const todos = (...contents: string[]) => contents.map((content) => ({ content, status: 'pending' }))
  const fields = { wroteTodos: true } as const
  const states = [todos('a', 'b', 'c'), todos('a', 'x'), todos('a', 'x', 'y')].map((list) =>
    replyOf([messageOf('m', [])], { ...fields, todos: list }),
  )
  const { messages, events } = await show([...states, settled(states.at(-1) ?? emptyReply('ses'))])
  expect(typesOf(events.filter(({ type }) => type.startsWith('ACTIVITY')))).toEqual([
    'ACTIVITY_SNAPSHOT',
    'ACTIVITY_DELTA',
    'ACTIVITY_DELTA',
  ])
  expect(messages).toMatchObject([{ activityType: 'reply.todos', content: { todos: todos('a', 'x', 'y') } }])
})

describe('asks', () => {
  const command = 'git status'
  const blocked = (...asks: Reply['asks']): Reply =>
    replyOf([messageOf('m', [callPart('c1', { input: { command } })])], { phase: 'blocked', asks })

  const interruptsOf = (reply: Reply) => {
    const last = createAgUiProjection(run).next(reply).at(-1)
    return last?.type === 'RUN_FINISHED' && last.outcome.type === 'interrupt' ? last.outcome.interrupts : undefined
  }

  test('a permission ends the run with all that it would allow', () => {
    expect(interruptsOf(blocked(permissionOf('per_1', command)))).toEqual([
      {
        id: expect.stringMatching(/^per_1~[\w-]{16}$/),
        reason: 'tool_call',
        message: expect.stringContaining(command),
        toolCallId: 'c1',
        responseSchema: { type: 'string', enum: ['once', 'always', 'reject'] },
        metadata: { reply: expect.objectContaining({ type: 'permission', always: ['git status *'] }) },
      },
    ])
  })

  test('"always" is not offered for everything, and allowing is not offered unseen', () => {
    const [wide] = interruptsOf(blocked(permissionOf('per_1', command, { always: ['*'] }))) ?? []
    const [unseen] = interruptsOf(blocked(permissionOf('per_1', command, { call: undefined, callID: undefined }))) ?? []
    expect(wide?.responseSchema).toEqual({ type: 'string', enum: ['once', 'reject'] })
    expect(unseen).toMatchObject({ reason: 'confirmation', responseSchema: { enum: ['reject'] } })
  })

  test('a permission waits until its call is known', () => {
    const known = permissionOf('per_1', command)
    const projection = createAgUiProjection(run)
    projection.next(blocked({ ...known, call: undefined }))
    expect(projection.ended).toBe(false)
    projection.next(blocked(known))
    expect(projection.ended).toBe(true)
  })

  test('a permission whose call stays unknown waits for 3 s, and can only be rejected', () => {
    const unknown = blocked(permissionOf('per_1', command, { call: undefined, askedAt: 1000 }))
    const projection = createAgUiProjection(run)
    projection.next(unknown, 4000)
    expect(projection.ended).toBe(false)
    expect(projection.next(unknown, 4001).at(-1)).toMatchObject({
      outcome: { interrupts: [{ responseSchema: { enum: ['reject'] } }] },
    })
  })

  test('another command gives another id', () => {
    const [one] = interruptsOf(blocked(permissionOf('per_1', command))) ?? []
    const [other] = interruptsOf(blocked(permissionOf('per_1', 'rm -rf /'))) ?? []
    expect(one?.id).not.toBe(other?.id)
  })

  test('questions are a list of answers for each', () => {
    expect(interruptsOf(blocked(questionOf('que_1')))).toMatchObject([
      {
        reason: 'input_required',
        responseSchema: {
          type: 'array',
          minItems: 2,
          maxItems: 2,
          prefixItems: [
            { type: 'array', minItems: 1, maxItems: 1, items: { type: 'string', enum: ['red', 'blue'] } },
            { type: 'array', minItems: 1, items: { anyOf: [{ enum: ['red', 'blue'] }, { type: 'string' }] } },
          ],
        },
      },
    ])
  })

  test('a client that may not answer goes on, and sees the ask as an activity', () => {
    const ask = permissionOf('per_1', command)
    const [, waiting, answered] = said([replyOf([]), blocked(ask), blocked({ ...ask, status: 'answered' })], {
      splitAtAsks: false,
    })
    expect(waiting?.at(-1)).toMatchObject({
      activityType: 'reply.ask',
      content: { status: 'pending', toolCallId: 'c1' },
    })
    expect(answered).toMatchObject([{ activityType: 'reply.ask', content: { status: 'answered' } }])
  })
})

describe('sub-agents', () => {
  const childReply: Reply = { ...replyOf([messageOf('cm', [textPart('ct', 'Looking')])]), sessionID: 'ses_child' }
  const child = { callID: 'call_c1', agent: 'explore', title: 'Look', background: false, reply: childReply }
  const parent = replyOf([messageOf('m', [callPart('c1', { input: {} }, 'task')])], { children: [child] })

  test('what they do belongs to their run, which their call started', () => {
    const [events = []] = said([parent])
    const attributed = { subagentRunId: 'ses_child' }
    expect(events.slice(3)).toEqual([
      { type: 'SUBAGENT_STARTED', ...attributed, name: 'explore', description: 'Look', parentToolCallId: 'c1' },
      { type: 'TEXT_MESSAGE_START', messageId: 'ct', role: 'assistant', ...attributed },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'ct', delta: 'Looking', ...attributed },
    ])
  })

  test('an ask of a sub-agent suspends it, and the next run announces it again', async () => {
    const ask = permissionOf('per_1', 'ls', { sessionID: 'ses_child', path: ['ses', 'ses_child'], callID: undefined })
    const blocked: Reply = { ...parent, phase: 'blocked', asks: [ask] }
    const ended: Reply = { ...parent, children: [{ ...child, reply: settled(childReply) }] }
    const { events, runs } = await show([parent, blocked, parent, settled(ended)])
    const lifecycle = events.filter(({ type }) => type.startsWith('SUBAGENT_'))
    expect(runs).toBe(2)
    expect(lifecycle).toMatchObject([
      { type: 'SUBAGENT_STARTED' },
      { type: 'SUBAGENT_FINISHED', outcome: { type: 'suspended', interruptIds: [expect.stringMatching(/^per_1~/)] } },
      { type: 'SUBAGENT_STARTED' },
      { type: 'SUBAGENT_FINISHED', outcome: { type: 'success' } },
    ])
  })

  test('a second run of a session is another sub-agent', () => {
    const again = { ...child, callID: 'call_c2', reply: { ...childReply, messages: [messageOf('cm2', [])] } }
    const [events = []] = said([{ ...parent, children: [{ ...child, reply: settled(childReply) }, again] }])
    const started = events.flatMap((event) => (event.type === 'SUBAGENT_STARTED' ? [event.subagentRunId] : []))
    expect(started).toEqual(['ses_child', 'ses_child#2'])
  })

  test('one in the background is suspended when the run ends', () => {
    const events = createAgUiProjection(run).next(settled(parent))
    expect(events).toContainEqual({
      type: 'SUBAGENT_FINISHED',
      subagentRunId: 'ses_child',
      outcome: { type: 'suspended' },
    })
  })
})

describe('prompts', () => {
  const prompts = { m1: 'Mine', m2: 'Of another client' }
  const reply = settled(
    replyOf([messageOf('m', [textPart('t', 'Done', 'sealed')], { parentID: 'm2' })], {
      promptIDs: ['m1', 'm2'],
      prompt: { text: prompts.m1, files: [], parts: [] },
      joinedPrompts: { m2: { text: prompts.m2, files: [], parts: [] } },
    }),
  )
  const mine: AgUiMessage = { id: 'u', role: 'user', content: [{ type: 'text', text: 'Mine' }] }

  test('those of other clients are messages of people, and the own ones are not repeated', () => {
    const [events = []] = said([reply], { history: [mine] })
    expect(events.filter((event) => event.type === 'TEXT_MESSAGE_START')).toMatchObject([
      { messageId: 'm2', role: 'user' },
      { messageId: 't', role: 'assistant' },
    ])
  })

  test('a snapshot keeps the own messages as they are, and what follows the reply', () => {
    const next: AgUiMessage = { id: 'u2', role: 'user', content: 'Next' }
    const stale: AgUiMessage = { id: 'old', role: 'assistant', content: 'Taken back' }
    const have = [mine, stale, { id: 't', role: 'assistant', content: 'Do' } as const, next]
    const [events = []] = said([reply], { history: have, have })
    const snapshot = events.findLast((event) => event.type === 'MESSAGES_SNAPSHOT')
    expect(snapshot?.messages).toMatchObject([mine, { id: 'm2' }, { id: 't', content: 'Done' }, next])
  })
})

describe('the end', () => {
  test.each([
    ['completed', { type: 'RUN_FINISHED', outcome: { type: 'success' } }],
    ['stopped', { type: 'RUN_FINISHED', outcome: { type: 'success' } }],
    ['aborted', { type: 'RUN_FINISHED', outcome: { type: 'cancelled' } }],
    ['failed', { type: 'RUN_ERROR', code: 'failed', message: 'Overloaded' }],
    ['timed-out', { type: 'RUN_ERROR', code: 'timed-out' }],
    ['lost', { type: 'RUN_ERROR', code: 'lost' }],
  ] as const)('%s', (outcome, event) => {
    const error = { name: 'APIError', message: 'Overloaded', raw: undefined }
    const projection = createAgUiProjection(run)
    const events = projection.next(settled(replyOf([messageOf('m', [textPart('t', 'Hi')])], { error }), outcome))
    expect(events.at(-1)).toMatchObject({ ...event, metadata: { reply: { outcome } } })
    expect(projection.ended).toBe(true)
    expect(projection.next(replyOf([]))).toEqual([])
  })

  test('a run that goes on with a reply counts its own tokens, and the metadata those of the reply', () => {
    const usage = { input: 1, output: 2, reasoning: 3, cacheRead: 4, cacheWrite: 5, cost: 0.5, steps: 1 }
    const projection = createAgUiProjection({ ...run, have: [] })
    projection.next(replyOf([], { usage }))
    const [end] = projection.next(settled(replyOf([], { usage: { ...usage, output: 12, cost: 0.75 } })))
    expect(end).toMatchObject({
      usage: [{ inputTokens: 0, outputTokens: 10, totalTokens: 10 }],
      metadata: { reply: { usage: { cost: 0.75, output: 12 } } },
    })
  })
})
