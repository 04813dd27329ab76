import { partsOf, promptOf, type Reply, textOf, toolsOf } from '@reply/core'
import { describe, expect, test } from 'vitest'
import {
  busy,
  delta,
  ended,
  failed,
  idle,
  message,
  part,
  reasoning,
  reduced,
  root,
  running,
  stepFinish,
  stepStart,
  text,
  tool,
  typesOf,
  user,
} from './make.ts'

const sealed = { status: 'sealed' } as const
const after = (...events: Parameters<typeof reduced>[0]) => reduced([...running, ...events])
const lastChange = (...events: Parameters<typeof reduced>[0]) => after(...events).changes.at(-1)

describe('text', () => {
  test('deltas append', () => {
    const { reply, changes } = after(text('m1', ''), delta('m1', 'Hel'), delta('m1', 'lo'))
    expect(textOf(reply)).toBe('Hello')
    expect(changes.at(-1)).toMatchObject({ type: 'partChanged', delta: 'lo', index: 0, part: { text: 'Hello' } })
  })

  test('overlapping deltas are not treated as repetitions', () => {
    expect(textOf(after(text('m1', ''), delta('m1', 'reset'), delta('m1', 'ting')).reply)).toBe('resetting')
    expect(textOf(after(text('m1', ''), delta('m1', 'ha'), delta('m1', 'ha')).reply)).toBe('haha')
  })

  test('a seal replaces the text, even if it is shorter', () => {
    const { reply, changes } = after(text('m1', ''), delta('m1', 'Hello  \n'), text('m1', 'Hello', sealed))
    expect(textOf(reply)).toBe('Hello')
    expect(changes.slice(-2)).toMatchObject([
      { type: 'partChanged', delta: undefined, part: { text: 'Hello' } },
      { type: 'partFinalized', part: { text: 'Hello', status: 'sealed' } },
    ])
  })

  test('a seal that says nothing new still finalizes', () => {
    const { changes } = reduced([text('m1', 'Hello', sealed)], after(text('m1', 'Hello')).reply)
    expect(typesOf(changes)).toEqual(['partFinalized'])
  })

  test('a seal that only adds to the text brings the rest as a delta', () => {
    const { changes } = reduced([text('m1', 'Hello', sealed)], after(text('m1', 'Hel')).reply)
    expect(changes[0]).toMatchObject({ type: 'partChanged', delta: 'lo' })
  })

  test('an unsealed snapshot never shortens', () => {
    const { reply, changes } = reduced([text('m1', '')], after(text('m1', ''), delta('m1', 'Hello')).reply)
    expect(textOf(reply)).toBe('Hello')
    expect(changes).toEqual([])
  })

  test('an unsealed snapshot that is longer replaces', () => {
    expect(lastChange(text('m1', 'Hel'), text('m1', 'Hello'))).toMatchObject({ type: 'partChanged', delta: 'lo' })
    expect(lastChange(text('m1', 'Hel'), text('m1', 'Jello'))).toMatchObject({ type: 'partChanged', delta: undefined })
  })

  test('an unsealed snapshot does not open what is sealed', () => {
    const { reply } = after(text('m1', 'Hello', sealed), text('m1', 'Hello, you'))
    expect(partsOf(reply)[0]).toMatchObject({ text: 'Hello', status: 'sealed' })
  })

  test('a sealed part ignores a late delta', () => {
    const before = after(text('m1', 'Hello', sealed)).reply
    expect(reduced([delta('m1', ' again')], before).reply).toBe(before)
  })

  test('a part that arrives whole is added, then finalized', () => {
    const { changes } = reduced([text('m1', 'Hello', sealed)], after().reply)
    expect(typesOf(changes)).toEqual(['partAdded', 'partFinalized'])
  })

  test('a delta of another field changes nothing', () => {
    const before = after(text('m1', '')).reply
    expect(reduced([delta('m1', '{"a":', { field: 'input' })], before).reply).toBe(before)
  })

  test('a delta for reasoning says "text" too', () => {
    const { reply } = after(reasoning('m1', ''), delta('m1', 'Hm', { partID: 'm1.r' }))
    expect(partsOf(reply)[0]).toMatchObject({ type: 'reasoning', text: 'Hm' })
    expect(textOf(reply)).toBe('')
  })

  test('parts keep the order of their arrival', () => {
    const { reply } = after(text('m1', 'b', { id: 'z' }), text('m1', 'a', { id: 'a' }), text('m1', 'c', { id: 'm' }))
    expect(textOf(reply)).toBe('b\n\na\n\nc')
  })

  test('a part of an unknown type is kept and shows nothing', () => {
    const unknown = part({ id: 'p', messageID: 'm1', raw: { type: 'hologram' }, status: 'sealed', type: 'unknown' })
    const { reply } = after(unknown, text('m1', 'Hello'))
    expect(partsOf(reply).map(({ type }) => type)).toEqual(['unknown', 'text'])
    expect(textOf(reply)).toBe('Hello')
  })

  test('a part whose type was unknown becomes what it turns out to be', () => {
    const unknown = part({ id: 'm1.t', messageID: 'm1', raw: {}, status: 'sealed', type: 'unknown' })
    expect(partsOf(after(unknown, text('m1', 'Hello')).reply)).toMatchObject([{ type: 'text', text: 'Hello' }])
  })

  test('the index counts the parts of the messages before', () => {
    const { changes } = after(text('m1', 'a'), stepStart('m1'), ended('m1'), message('m2'), text('m2', 'b'))
    expect(changes.at(-1)).toMatchObject({ type: 'partAdded', index: 2 })
  })
})

describe('nothing new', () => {
  const full = after(
    text('m1', 'Hello', sealed),
    tool('m1', { status: 'completed', output: 'x' }),
    stepFinish('m1', 5),
    ended('m1', { tokens: { input: 1, output: 1, reasoning: 0, cacheRead: 0, cacheWrite: 0 } }),
  ).reply

  test.each([
    ['a user message', user('u1')],
    [
      'an assistant message',
      ended('m1', { tokens: { input: 1, output: 1, reasoning: 0, cacheRead: 0, cacheWrite: 0 } }),
    ],
    ['a text', text('m1', 'Hello', sealed)],
    ['a tool call', tool('m1', { status: 'completed', output: 'x' })],
    ['a finished step', stepFinish('m1', 5)],
    ['busy', busy()],
    ['an empty delta', delta('m1', '')],
    ['a delta of an unknown message', delta('m9', 'x')],
    ['a part of an unknown message', text('m9', 'x')],
    ['todos', { type: 'todos', at: 1, sessionID: root, todos: [] } as const],
    ['an event of a session that is not in the tree', idle('ses_other')],
  ])('%s that arrives again gives the same object and no change', (_, event) => {
    const step = reduced([event], full)
    expect(step.reply).toBe(full)
    expect(step.changes).toEqual([])
  })
})

describe('tool calls', () => {
  const states = (reply: Reply) => toolsOf(reply).map(({ state }) => state.status)

  test('each status is reported, and other changes as payload', () => {
    const { changes } = after(
      tool('m1', { status: 'pending' }),
      tool('m1', { status: 'running', title: 'one' }),
      tool('m1', { status: 'running', title: 'two' }),
      tool('m1', { status: 'completed', output: 'x' }),
    )
    const told = changes.filter((change) => change.type === 'toolProgressed')
    expect(told.map(({ status, changed }) => `${status} ${changed}`)).toEqual([
      'pending status',
      'running status',
      'running payload',
      'completed status',
    ])
    expect(changes.at(-1)?.type).toBe('partFinalized')
  })

  test('a late running does not reopen a completed call', () => {
    const { reply, changes } = after(
      tool('m1', { status: 'completed', output: 'x' }),
      tool('m1', { status: 'running' }),
    )
    expect(states(reply)).toEqual(['completed'])
    expect(changes.at(-1)?.type).toBe('partFinalized')
  })

  test('a late pending does not reset a running call', () => {
    expect(states(after(tool('m1'), tool('m1', { status: 'pending' })).reply)).toEqual(['running'])
  })

  test('the name that the model used outlives the server calling it invalid', () => {
    const renamed = tool('m1', { tool: 'invalid', status: 'error', error: 'no such tool' })
    const { reply } = after(tool('m1', { tool: 'frobnicate', status: 'pending' }), renamed)
    expect(toolsOf(reply)).toMatchObject([{ tool: 'frobnicate', state: { status: 'error' } }])
  })

  test('a call that was interrupted at the end stays so when it arrives again', () => {
    const { reply } = reduced([idle(), settleLost, tool('m1', { status: 'running' })], after(tool('m1')).reply)
    expect(toolsOf(reply)[0]).toMatchObject({ status: 'sealed', state: { status: 'running', interrupted: true } })
  })
})

const settleLost = { type: 'settle', at: 1, sessionID: root, by: 'lost' } as const

describe('steps and usage', () => {
  test('a step that arrives twice counts once', () => {
    const { reply, changes } = after(stepFinish('m1', 5), stepFinish('m1', 5))
    expect(reply.usage).toMatchObject({ input: 5, output: 1, cost: 0.5, steps: 1, contextTokens: 6 })
    expect(typesOf(changes).filter((type) => type === 'stepFinished')).toHaveLength(1)
  })

  test('the last event of a step counts', () => {
    expect(after(stepFinish('m1', 5), stepFinish('m1', 7)).reply.usage).toMatchObject({ input: 7, steps: 1 })
  })

  test('steps add up, and the context is that of the last', () => {
    const { reply } = after(stepFinish('m1', 5), ended('m1'), message('m2'), stepFinish('m2', 8))
    expect(reply.usage).toMatchObject({ input: 13, output: 2, cost: 1, steps: 2, contextTokens: 9 })
  })

  test('a step that is removed no longer counts', () => {
    const removed = { type: 'message-removed', at: 1, sessionID: root, messageID: 'm1' } as const
    const { reply, changes } = after(text('m1', 'a'), stepFinish('m1', 5), removed)
    expect(reply.usage).toMatchObject({ input: 0, steps: 0 })
    expect(reply.messages).toEqual([])
    expect(typesOf(changes).slice(-4)).toEqual(['partRemoved', 'usageChanged', 'partRemoved', 'messageRemoved'])
  })
})

describe('messages', () => {
  test('are ordered by creation time, not by id', () => {
    const { reply } = after(
      message('zz', { createdAt: 5 }),
      message('aa', { createdAt: 9 }),
      message('mm', { createdAt: 7 }),
    )
    expect(reply.messages.map(({ id }) => id)).toEqual(['m1', 'zz', 'mm', 'aa'])
  })

  test('of the same time are ordered by arrival', () => {
    const { reply } = after(message('b', { createdAt: 5 }), message('a', { createdAt: 5 }))
    expect(reply.messages.map(({ id }) => id)).toEqual(['m1', 'b', 'a'])
  })

  test('do not reopen after they ended', () => {
    const error = { name: 'APIError', message: 'no', raw: undefined }
    const ends = [ended('m1'), message('m1', { error }), message('m1', { finish: 'stop' })]
    for (const end of ends) {
      const before = after(end).reply
      expect(reduced([message('m1', { cost: 0 })], before).reply).toBe(before)
    }
  })

  test('a summary does not belong to the reply, nor do its model and agent', () => {
    const model = { providerID: 'p', modelID: 'small' }
    const { reply } = after(message('s1', { summary: true, agent: 'compaction', model }))
    expect(reply.messages.map(({ id }) => id)).toEqual(['m1'])
    expect(reply.agent).toBeUndefined()
    expect(reply.model).toBeUndefined()
  })

  test('the prompt is the first message of the user, without what the server added', () => {
    const { reply } = reduced([
      user('u1'),
      text('u1', 'Do it', sealed),
      text('u1', 'Mind the rules', { ...sealed, id: 'u1.s', synthetic: true }),
      part({
        id: 'u1.f',
        messageID: 'u1',
        raw: {},
        status: 'sealed',
        type: 'file',
        mime: 'text/plain',
        url: 'data:',
        filename: 'a.txt',
      }),
      user('u2'),
      text('u2', 'And this', sealed),
    ])
    expect(reply.prompt).toMatchObject({ text: 'Do it', files: ['a.txt'] })
    expect(reply.promptIDs).toEqual(['u1', 'u2'])
    expect(textOf(reply)).toBe('')
  })

  test.each([
    [{ prompt: 'Review the change.', description: 'review' }, 'Review the change.'],
    [{ prompt: '', description: 'review' }, 'review'],
    [{ prompt: '', description: '' }, '@general'],
  ])('the prompt of a command that starts a sub-agent with %j is %j', (task, shown) => {
    const place = { id: 'u1.s', messageID: 'u1', raw: {}, status: 'sealed' } as const
    const { reply } = reduced([user('u1'), part({ ...place, type: 'subtask', agent: 'general', ...task })])
    expect(reply.prompt?.text).toBe(shown)
  })

  test.each([
    [undefined, '@general @explore'],
    ['', '@general @explore'],
    ['@general Review it.', '@general Review it.'],
  ])('the prompt that names sub-agents with the text %j is %j', (words, shown) => {
    const named = (name: string) =>
      part({ id: `u1.${name}`, messageID: 'u1', raw: {}, status: 'sealed', type: 'agent', name })
    const { reply } = reduced([
      user('u1'),
      ...(words === undefined ? [] : [text('u1', words, sealed)]),
      ...['general', 'explore'].map(named),
      text('u1', 'Call the task tool.', { ...sealed, id: 'u1.s', synthetic: true }),
    ])
    expect(reply.prompt?.text).toBe(shown)
  })

  test('a later message of the user has its own text, and becomes the first if that is reverted', () => {
    const events = [user('u1'), text('u1', 'Do it', sealed), user('u2'), text('u2', 'And this', sealed), user('u3')]
    const { reply } = reduced(events)
    expect(['u1', 'u2', 'u3', 'u4'].map((id) => promptOf(reply, id)?.text)).toEqual([
      'Do it',
      'And this',
      undefined,
      undefined,
    ])
    const { reply: reverted } = reduced([
      ...events,
      { type: 'message-removed', sessionID: root, messageID: 'u1', at: 9 },
    ])
    expect([reverted.prompt?.text, reverted.joinedPrompts]).toEqual(['And this', undefined])
  })
})

describe('a retry', () => {
  const retry = { type: 'retry', at: 1, sessionID: root, attempt: 1, message: 'overloaded', nextAt: 9 } as const

  test('shows until the server is busy again', () => {
    const waiting = after(retry)
    expect(waiting.reply).toMatchObject({ phase: 'retrying', retry: { attempt: 1, message: 'overloaded', nextAt: 9 } })
    expect(reduced([busy()], waiting.reply).reply).toMatchObject({ phase: 'working', retry: undefined })
  })

  test('is reported once', () => {
    expect(typesOf(after(retry, retry).changes).filter((type) => type === 'sessionRetried')).toHaveLength(1)
  })

  test('that restarts the step abandons its text', () => {
    const { reply, changes } = after(stepStart('m1', 's1'), text('m1', 'Half a', { id: 'a' }), stepStart('m1', 's2'))
    expect(partsOf(reply)[1]).toMatchObject({ status: 'abandoned', text: 'Half a' })
    expect(textOf(reply)).toBe('')
    expect(changes.find((change) => change.type === 'partRemoved')).toMatchObject({ reason: 'abandoned', index: 1 })
  })

  test('does not abandon what was sealed, nor another message', () => {
    const { reply } = after(
      text('m1', 'Whole', sealed),
      message('m2'),
      text('m1', 'Open', { id: 'o' }),
      stepStart('m2'),
    )
    expect(textOf(reply)).toBe('Whole\n\nOpen')
  })

  test('that abandoned a part does not restore it for a late delta', () => {
    const { reply } = after(text('m1', 'Half'), stepStart('m1', 's2'), delta('m1', ' of it'))
    expect(textOf(reply)).toBe('')
  })

  test('that seals the part it abandoned restores it, unless the seal is empty', () => {
    const half = [text('m1', 'Half'), stepStart('m1', 's2')] as const
    expect(textOf(after(...half, text('m1', 'Half and half', sealed)).reply)).toBe('Half and half')
    expect(textOf(after(...half, text('m1', '', sealed)).reply)).toBe('')
  })

  test('a repeated step-start abandons nothing', () => {
    expect(textOf(after(stepStart('m1'), text('m1', 'Hello'), stepStart('m1')).reply)).toBe('Hello')
  })
})

describe('compaction and errors', () => {
  const compacting = part({ id: 'u2.c', messageID: 'u2', raw: {}, status: 'sealed', type: 'compaction', auto: true })
  const compacted = { type: 'compacted', at: 2, sessionID: root } as const

  test('an overflow that leads to a compaction is not the end', () => {
    const { reply } = after(
      failed('ContextOverflowError'),
      ended('m1', { error: overflow }),
      user('u2'),
      compacting,
      idle(),
    )
    expect(reply.phase).not.toBe('settled')
    const done = reduced([compacted, message('m2'), ended('m2'), idle()], reply).reply
    expect(done).toMatchObject({ outcome: 'completed', error: undefined, compaction: { state: 'done', auto: true } })
  })

  test('a compaction ends with its summary, reported once although the server repeats it', () => {
    const summary = (more: object = {}) => message('s1', { summary: true, ...more })
    const { reply, changes } = after(user('u2'), compacting, summary(), idle())
    expect(reply).toMatchObject({ phase: 'working', compaction: { state: 'running', partID: 'u2.c' } })
    const done = reduced([summary({ completedAt: 5 }), compacted], reply)
    expect(done.reply.compaction).toMatchObject({ state: 'done', auto: true })
    expect(typesOf([...changes, ...done.changes]).filter((type) => type === 'compactionChanged')).toHaveLength(2)
  })

  test('a summary that failed ends no compaction', () => {
    const failedSummary = message('s1', { summary: true, completedAt: 5, error: overflow })
    expect(after(user('u2'), compacting, failedSummary).reply.compaction).toMatchObject({ state: 'running' })
  })

  test('a compaction records the tokens in the context', () => {
    const { reply } = after(stepFinish('m1', 5), user('u2'), compacting)
    expect(reply.compaction).toMatchObject({ tokensBefore: 6, startedAt: 1000 })
  })

  const tokens = { input: 180_000, output: 150, reasoning: 0, cacheRead: 0, cacheWrite: 0 }
  const summed = message('s1', { summary: true, finish: 'stop', tokens, cost: 0.5, completedAt: 5 })
  const compactions = [stepFinish('m1', 5), user('u2'), compacting]

  test('the call that writes a summary counts once, and is told as the step of a summary', () => {
    const { reply, changes } = after(...compactions, summed, compacted, summed)
    const { summaries, usage } = reply
    expect(summaries).toEqual([{ messageID: 's1', tokens, cost: 0.5 }])
    expect(usage).toMatchObject({ input: 180_005, output: 151, cost: 1, steps: 2 })
    const steps = changes.filter((change) => change.type === 'stepFinished')
    expect(steps.map(({ messageID, summary }) => [messageID, summary])).toEqual([
      ['m1', undefined],
      ['s1', true],
    ])
    expect(reply.messages.map(({ id }) => id)).toEqual(['m1'])
  })

  test('after a compaction the size of the context is unknown until the next step ends', () => {
    const { reply } = after(...compactions)
    expect(reply.usage.contextTokens).toBe(6)
    const { reply: done, changes } = reduced([summed], reply)
    expect(done.usage.contextTokens).toBeUndefined()
    expect(changes.at(-1)).toMatchObject({ type: 'usageChanged', usage: { contextTokens: undefined } })
    // The step before the compaction says nothing of the context after it, also when it is read again.
    const { part: first } = stepFinish('m1', 7)
    expect(reduced([part(first)], done).reply.usage.contextTokens).toBeUndefined()
    const next = reduced([message('m2'), stepFinish('m2', 2)], done).reply
    expect(next.usage).toMatchObject({ contextTokens: 3, steps: 3 })
    const gone = { type: 'message-removed', at: 9, sessionID: root, messageID: 'm2' } as const
    expect(reduced([gone], next).reply.usage).toMatchObject({ contextTokens: undefined, steps: 2 })
  })

  test('a compaction that no message tells of brings its own call', () => {
    const manual = { ...compacted, summary: { messageID: 's1', tokens, cost: 0.5 } }
    const { reply } = after(stepFinish('m1', 5), ended('m1'), idle(), manual)
    expect(reply).toMatchObject({ phase: 'settled', usage: { input: 180_005, steps: 2, contextTokens: undefined } })
  })

  test('an error is reported once, although the session and the message both carry it', () => {
    const { changes } = after(
      failed('APIError', 'no'),
      ended('m1', { error: { name: 'APIError', message: 'no', raw: 1 } }),
    )
    expect(changes.filter((change) => change.type === 'sessionErrored')).toMatchObject([{ text: 'APIError: no' }])
  })

  test('an error before anything ran ends the reply', () => {
    const { reply } = reduced([user('u1'), failed('ProviderModelNotFoundError')])
    expect(reply).toMatchObject({ phase: 'settled', outcome: 'failed' })
  })

  test('an error in mid-run does not end the reply', () => {
    expect(after(failed('APIError')).reply.phase).toBe('working')
  })
})

const overflow = { name: 'ContextOverflowError', message: 'no', raw: undefined }
