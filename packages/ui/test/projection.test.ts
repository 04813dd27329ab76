import type { Child, Message, Reply } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { uiTextOf } from '../src/client.ts'
import { createUIProjection, type UIChunk7 } from '../src/index.ts'
import { asks, call, chunksFor, dataIn, message, pageOf, permits, replyWith, settled, text, toolsIn } from './make.ts'

const typesOf = (chunks: readonly UIChunk7[]): readonly string[] => chunks.map(({ type }) => type)

/** What one reader with the AI SDK 7 gets for each of the replies. */
function chunks7(replies: readonly Reply[]): readonly (readonly UIChunk7[])[] {
  const projection = createUIProjection({ version: 7, stopAtAsks: false })
  return replies.map((reply) => projection.next(reply))
}

describe('a message', () => {
  test('begins when its prompt is known, with the same id for every reader', () => {
    const projection = createUIProjection()
    expect(projection.next(replyWith([], { promptIDs: [], messages: [] }))).toEqual([])
    const [start] = projection.next(replyWith([text('a', 'One')]))
    expect(start).toEqual({ type: 'start', messageId: 'msg_1-reply', messageMetadata: { sessionID: 'ses_1' } })
  })

  test('that failed before the agent took the prompt has the error', () => {
    const error = { name: 'NeverStarted', message: 'The server never ran it.', raw: undefined }
    const failed = settled(replyWith([], { promptIDs: [], messages: [] }), { outcome: 'failed', error })
    const [start, finish] = chunksFor([failed]).flat()
    expect(start).toEqual({ type: 'start', messageMetadata: { sessionID: 'ses_1' } })
    expect(finish).toMatchObject({
      type: 'finish',
      finishReason: 'error',
      messageMetadata: { outcome: 'failed', error: { name: 'NeverStarted', message: 'The server never ran it.' } },
    })
  })

  test('that was aborted says so, and never has an error chunk', () => {
    const reply = replyWith([text('a', 'One')])
    const types = typesOf(chunksFor([reply, settled(reply, { outcome: 'aborted' })]).flat())
    expect(types.slice(-4)).toEqual(['text-end', 'finish-step', 'abort', 'finish'])
  })

  test('that has ended gets nothing more', () => {
    const reply = settled(replyWith([text('a', 'One')]))
    expect(chunksFor([reply, { ...reply, title: 'Later' }])[1]).toEqual([])
  })
})

describe('a text', () => {
  test('is sent as it grows, and white space at its end waits', () => {
    const replies = ['One', 'One ', 'One two'].map((said) => replyWith([text('a', said)]))
    const [, second, third] = chunksFor(replies)
    expect(second).toEqual([])
    expect(third).toEqual([{ type: 'text-delta', id: 'a', delta: ' two' }])
  })

  test('ends with its step', () => {
    const first = message('msg_2', [text('a', 'One', { status: 'sealed' })])
    const second = message('msg_3', [text('b', 'Two')])
    const [, later] = chunksFor([replyWith([], { messages: [first] }), replyWith([], { messages: [first, second] })])
    expect(typesOf(later ?? [])).toEqual(['text-end', 'finish-step', 'start-step', 'text-start', 'text-delta'])
  })

  test('that a retry replaces is marked in version 6, and removed in 7', async () => {
    const replies = [
      replyWith([text('a', 'A wrong start')]),
      replyWith([text('a', 'A wrong start', { status: 'abandoned' }), text('b', 'Right')]),
      settled(replyWith([text('a', 'A wrong start', { status: 'abandoned' }), text('b', 'Right')])),
    ]
    expect(uiTextOf(await pageOf(replies))).toBe('Right')
    expect(chunksFor(replies)[1]?.[0]).toEqual({
      type: 'text-end',
      id: 'a',
      providerMetadata: { reply: { part: 'a', retracted: true } },
    })
    expect(typesOf(chunks7(replies)[1] ?? [])).toEqual(['reset-step', 'text-start', 'text-delta'])
  })

  test('that is replaced is sent anew under another id', async () => {
    const replies = ['One two', 'Three'].map((said) => replyWith([text('a', said)]))
    const page = await pageOf(replies)
    expect(uiTextOf(page)).toBe('Three')
    expect(page.parts.map((part) => part.type === 'text' && part.providerMetadata)).toContainEqual({
      reply: { part: 'a~2' },
    })
  })

  test('of a step that has ended is taken back by a data part', async () => {
    const before = [message('msg_2', [text('a', 'One')]), message('msg_3', [text('b', 'Two')])]
    const after = [message('msg_2', [text('a', 'Three', { status: 'sealed' })]), before[1] ?? message('', [])]
    const page = await pageOf([replyWith([], { messages: before }), replyWith([], { messages: after })])
    expect(uiTextOf(page)).toBe('Two\n\nThree')
    expect(dataIn(page, 'data-retracted')).toEqual([{ parts: ['a'] }])
  })

  test('that appears before another one is shown before it', async () => {
    const replies = [replyWith([text('b', 'Two')]), replyWith([text('a', 'One'), text('b', 'Two')])]
    expect(uiTextOf(await pageOf(replies))).toBe('One\n\nTwo')
    expect(typesOf(chunks7(replies)[1] ?? [])[0]).toBe('reset-step')
  })

  test('stays open, to be marked if it is taken back, unless eight later ones of its step have begun', async () => {
    const texts = Array.from({ length: 20 }, (_, index) => text(`t${index}`, `Text ${index}.`))
    const [first = []] = chunksFor([replyWith(texts)])
    expect(first.flatMap((chunk) => (chunk.type === 'text-end' ? [chunk.id] : []))).toEqual(
      texts.slice(0, 12).map(({ id }) => id),
    )
    const without = texts.map((part, index) => (index % 2 === 0 ? { ...part, status: 'abandoned' as const } : part))
    expect(uiTextOf(await pageOf([replyWith(texts), replyWith(without)]))).toBe(
      uiTextOf(await pageOf([replyWith(without)])),
    )
    const grown = texts.with(0, text('t0', 'Text 0. And more.'))
    expect(uiTextOf(await pageOf([replyWith(texts), replyWith(grown)]))).toContain(' And more.')
  })

  test('of a message that another one replaces is not shown any more', async () => {
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((id) => message(`msg_${id}`, [text(id, id.toUpperCase())]))
    if (!a || !b || !c || !d) throw new Error('A message is missing.')
    const page = await pageOf([replyWith([], { messages: [a, b, c] }), replyWith([], { messages: [a, d, c] })])
    expect(uiTextOf(page)).toBe('A\n\nC\n\nD')
  })

  test('of a removed message is not shown any more', async () => {
    const messages = [message('msg_2', [text('a', 'One')]), message('msg_3', [text('b', 'Two')])]
    const replies = [replyWith([], { messages }), replyWith([], { messages: messages.slice(0, 1) })]
    expect(uiTextOf(await pageOf(replies))).toBe('One')
    expect(uiTextOf(await pageOf([replies[0] ?? replyWith([]), replyWith([], { messages: messages.slice(1) })]))).toBe(
      'Two',
    )
  })
})

describe('a call', () => {
  test('goes from its start over its input and output so far to its end', () => {
    const states = [
      { status: 'pending', input: {} },
      { status: 'running' },
      { status: 'running', metadata: { output: 'ok 1' } },
      { status: 'completed', output: 'ok 1\nok 2' },
    ] as const
    const all = chunksFor(states.map((state) => replyWith([call('a', state)])))
    expect(all.map(typesOf)).toEqual([
      ['start', 'start-step', 'tool-input-start'],
      ['tool-input-available'],
      ['tool-output-available'],
      ['tool-output-available'],
    ])
    expect(all[2]).toMatchObject([{ output: 'ok 1', preliminary: true }])
    expect(all[3]).toMatchObject([{ toolCallId: 'a', output: 'ok 1\nok 2', providerExecuted: true }])
  })

  test('is named by its part, because providers repeat the ids of calls', async () => {
    const parts = ['a', 'b'].map((id) => call(id, { status: 'completed', output: id }, { callID: 'call_0' }))
    const page = await pageOf([replyWith(parts)])
    expect(toolsIn(page).map(({ toolCallId, output }) => [toolCallId, output])).toEqual([
      ['a', 'a'],
      ['b', 'b'],
    ])
  })

  test('has a title in one line without deceptive characters', () => {
    const chunks = chunksFor([replyWith([call('a', { input: { command: 'echo \u202Eevil\nrm -rf build' } })])]).flat()
    const [input] = chunks.filter(({ type }) => type === 'tool-input-available')
    expect(input).toMatchObject({ title: expect.stringMatching(/^echo \S*evil rm -rf build$/) })
    expect(JSON.stringify(input)).toContain('\u202E')
    expect(input).not.toMatchObject({ title: expect.stringContaining('\u202E') })
  })

  test('shows no more than the end of a long output while it runs', () => {
    const output = `${'x'.repeat(100_000)}end`
    const [, later] = chunksFor(['', output].map((said) => replyWith([call('a', { metadata: { output: said } })])))
    const [chunk] = later ?? []
    expect(chunk?.type === 'tool-output-available' && chunk.output.length).toBeLessThan(5000)
    expect(chunk?.type === 'tool-output-available' && chunk.output).toMatch(/end$/)
  })

  test('that a retry replaces ends, and is taken back', async () => {
    const page = await pageOf([replyWith([call('a')]), replyWith([call('a', {}, { status: 'abandoned' })])])
    expect(toolsIn(page)).toMatchObject([{ state: 'output-error' }])
    expect(dataIn(page, 'data-retracted')).toEqual([{ parts: ['a'] }])
  })

  test('with an input that is nested too deeply to be written is sent without it', () => {
    let input: unknown = 'deep'
    for (let depth = 0; depth < 20_000; depth += 1) input = [input]
    const chunks = chunksFor([replyWith([call('a', { input: { input } })])]).flat()
    expect(() => JSON.stringify(chunks)).not.toThrow()
    const asked = permits('a', { call: { tool: 'bash', input: { input } } })
    const blocked = replyWith([call('a', { input: { input } })], { phase: 'blocked', asks: [asked] })
    const shown = chunksFor([blocked]).flat()
    expect(typesOf(shown)).not.toContain('tool-approval-request')
    expect(shown.find(({ type }) => type === 'data-ask')).toMatchObject({ data: { choices: ['reject'] } })
  })
})

describe('a permission', () => {
  const part = call('a')
  const blocked = (ask = permits('a')): Reply => replyWith([part], { phase: 'blocked', asks: [ask] })

  test('is asked for once its call is known, with all of it and the choices', () => {
    const [first, second] = chunksFor([blocked(permits('a', { call: undefined })), blocked()])
    expect(typesOf(first ?? [])).not.toContain('tool-approval-request')
    expect(first?.at(-1)).toMatchObject({ type: 'data-ask', data: { choices: ['reject'] } })
    expect(first?.at(-1)).not.toHaveProperty('data.toolCallId')
    const [request, data] = second ?? []
    expect(request).toMatchObject({ type: 'tool-approval-request', toolCallId: 'a' })
    expect(data).toMatchObject({
      type: 'data-ask',
      id: 'per_a',
      data: {
        type: 'permission',
        status: 'pending',
        toolCallId: 'a',
        choices: ['once', 'always', 'reject'],
        always: ['git status *'],
      },
    })
    expect(JSON.stringify(data)).toContain('npm test')
  })

  test('whose call stays unknown ends the message after 3 s, and can only be rejected', () => {
    const unknown = replyWith([], { phase: 'blocked', asks: [permits('a', { call: undefined, askedAt: 1000 })] })
    const projection = createUIProjection()
    projection.next(unknown, 1000)
    expect([projection.next(unknown, 4000), projection.ended]).toEqual([[], false])
    expect(typesOf(projection.next(unknown, 4001))).toContain('finish')
    expect(projection.ended).toBe(true)
    const endless = createUIProjection({ stopAtAsks: false })
    endless.next(unknown, 4001)
    expect(endless.ended).toBe(false)
  })

  test('has another id when its content changes', () => {
    const changed = permits('a', { call: { tool: 'bash', input: { command: 'rm -rf /' } } })
    const [first, second] = chunksFor([blocked(), blocked(changed)])
    const ids = [first, second].map((chunks) => chunks?.find(({ type }) => type === 'tool-approval-request'))
    expect(ids[0]).not.toEqual(ids[1])
    expect(second?.[0]).toMatchObject({ type: 'tool-input-available', input: { command: 'rm -rf /' } })
  })

  test('that was given elsewhere lets the call run in the page', async () => {
    const answered = replyWith([part], { asks: [permits('a', { status: 'answered', reply: 'once' })] })
    const page = await pageOf([blocked(), answered])
    expect(toolsIn(page)).toMatchObject([{ state: 'input-available' }])
    expect(dataIn(page, 'data-ask')).toMatchObject([{ status: 'answered', reply: 'once', choices: [] }])
  })

  test('that was rejected ends the call as denied, also for a late reader', async () => {
    const rejected = permits('a', { status: 'rejected', reply: 'reject' })
    const ended = replyWith([call('a', { status: 'error', error: 'rejected' })], { asks: [rejected] })
    for (const replies of [[blocked(), ended], [ended]])
      expect(toolsIn(await pageOf(replies))).toMatchObject([{ state: 'output-denied', approval: {} }])
    expect(typesOf(chunks7([ended]).flat())).toContain('tool-approval-response')
  })

  test('that equals another one is asked for once, and told when that one is over', () => {
    const parts = [call('a'), call('b')]
    const both = replyWith(parts, { phase: 'blocked', asks: [permits('a'), permits('b')] })
    const gone = permits('a', { status: 'withdrawn' })
    const one = replyWith(parts, { phase: 'blocked', asks: [gone, both.asks[1] ?? gone] })
    const [first = [], second = []] = chunksFor([both, one])
    expect(first.filter(({ type }) => type === 'tool-approval-request')).toMatchObject([{ toolCallId: 'a' }])
    expect(first.filter(({ type }) => type === 'data-ask')).toMatchObject([{ id: 'per_a' }])
    expect(second.filter(({ type }) => type === 'tool-approval-request')).toMatchObject([{ toolCallId: 'b' }])
    expect(second.filter(({ type }) => type === 'data-ask')).toMatchObject([{ id: 'per_a' }, { id: 'per_b' }])
  })

  test('of a call whose input the page can’t get any more is answered in the body', () => {
    const messages = (more: object): readonly Message[] => [
      message('msg_2', [call('a', { status: 'pending', input: {}, ...more })]),
      message('msg_3', [text('b', 'Next')]),
    ]
    const blocked = replyWith([], { messages: messages({ status: 'running' }), phase: 'blocked', asks: [permits('a')] })
    const [, later = []] = chunksFor([replyWith([], { messages: messages({}) }), blocked])
    expect(typesOf(later)).toEqual(['data-ask'])
    expect(later[0]).toMatchObject({ data: { choices: ['once', 'always', 'reject'] } })
    expect(later[0]).not.toHaveProperty('data.toolCallId')
    const late = chunksFor([blocked]).flat()
    expect(late.find(({ type }) => type === 'data-ask')).toMatchObject({ data: { toolCallId: 'a' } })
  })

  test('comes with its details in version 7', () => {
    const request = chunks7([blocked()])
      .flat()
      .find(({ type }) => type === 'tool-approval-request')
    expect(request).toMatchObject({
      approvalDescriptor: { title: expect.any(String), choices: ['once', 'always', 'reject'] },
    })
  })

  test('stops the message, but only once its call is known', () => {
    const projection = createUIProjection()
    projection.next(blocked(permits('a', { call: undefined })))
    expect(projection.ended).toBe(false)
    const chunks = projection.next(blocked())
    expect(projection.ended).toBe(true)
    expect(chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'tool-calls' })
    expect(chunks.at(-1)).not.toHaveProperty('messageMetadata.outcome')
    const unclear = createUIProjection()
    const twins = [call('a', {}, { callID: 'call_a' }), call('b', {}, { callID: 'call_a' })]
    unclear.next(replyWith(twins, { phase: 'blocked', asks: [permits('a', { call: undefined })] }))
    expect(unclear.ended).toBe(true)
  })
})

test('questions are a tool of the page, until they are answered', async () => {
  const part = call('a', { input: {} }, { tool: 'question' })
  const blocked = replyWith([part], { phase: 'blocked', asks: [asks('a')] })
  const [before, asked, answered] = chunksFor([
    replyWith([part]),
    blocked,
    replyWith([part], { asks: [asks('a', { status: 'answered', answers: [['Red']] })] }),
  ])
  expect(before?.at(-1)).toMatchObject({ type: 'tool-input-available', providerExecuted: true })
  expect(asked?.[0]).toMatchObject({
    type: 'tool-input-available',
    providerExecuted: false,
    input: { questions: [{ header: 'Colour', options: [{ label: 'Red' }, { label: 'Blue' }] }] },
  })
  expect(answered?.[0]).toMatchObject({ type: 'tool-input-available', providerExecuted: true })
})

describe('beside the answer', () => {
  test('a sub-agent is a data part, which its later states replace', async () => {
    const child = (phase: Reply['phase'], more: Partial<Reply> = {}): Child => {
      const reply = { ...replyWith([call('b')], more), sessionID: 'ses_2', phase }
      return { callID: 'call_a', agent: 'explore', title: 'Look', background: false, reply }
    }
    const task = call('a', {}, { tool: 'task' })
    const replies = [
      replyWith([task], { children: [child('working')] }),
      replyWith([task], { children: [child('working')] }),
      replyWith([task], { children: [child('settled', { outcome: 'completed' })] }),
    ]
    const [first, second, third] = chunksFor(replies)
    const data = { sessionID: 'ses_2', parentID: 'ses_1', agent: 'explore', title: 'Look', toolCallId: 'a' }
    expect(first?.at(-1)).toMatchObject({ data: { ...data, phase: 'working', activity: 'bash: npm test' } })
    expect(second).toEqual([])
    expect(third).toMatchObject([{ data: { ...data, phase: 'settled', outcome: 'completed' } }])
    expect(dataIn(await pageOf(replies), 'data-agent')).toHaveLength(1)
  })

  test('a checklist is sent if this run works with it', () => {
    const todos = [{ content: 'Test', status: 'pending' }]
    expect(typesOf(chunksFor([replyWith([text('a', 'One')], { todos })]).flat())).not.toContain('data-todos')
    const own = replyWith([call('a', {}, { tool: 'todowrite' })], { todos })
    const more = replyWith([call('a', {}, { tool: 'todowrite' })], { todos: [] })
    const [first, same, changed] = chunksFor([own, { ...own }, more])
    expect(first?.at(-1)).toEqual({ type: 'data-todos', id: 'todos', data: { todos } })
    expect(same).toEqual([])
    expect(changed).toEqual([{ type: 'data-todos', id: 'todos', data: { todos: [] } }])
  })

  test('a file is sent once, and one that a page can’t load is only named', async () => {
    const file = { messageID: 'msg_2', raw: undefined, status: 'sealed', type: 'file' } as const
    const attachments = [{ id: 'f1', mime: 'image/png', url: 'data:image/png;base64,AA==', filename: 'a.png' }]
    const parts = [
      call('a', { status: 'completed', output: '', attachments }),
      { ...file, id: 'f2', mime: 'text/plain', url: 'file:///home/me/secret.txt', filename: 'secret.txt', size: 3 },
      { ...file, id: 'f3', mime: 'text/html', url: 'javascript:alert(1)' },
    ]
    const page = await pageOf([replyWith(parts), settled(replyWith(parts))])
    expect(page.parts.filter(({ type }) => type === 'file')).toMatchObject([{ url: 'data:image/png;base64,AA==' }])
    expect(dataIn(page, 'data-file')).toMatchObject([{ id: 'f2', filename: 'secret.txt', size: 3 }, { id: 'f3' }])
    expect(JSON.stringify(page)).not.toMatch(/javascript:|home/)
  })

  test('a retry is told and then over, and no part of the message', () => {
    const reply = replyWith([])
    const [, waiting, over] = chunksFor([reply, { ...reply, retry: { attempt: 1, message: 'Overloaded' } }, reply])
    expect(waiting).toEqual([
      { type: 'data-retry', data: { state: 'waiting', attempt: 1, message: 'Overloaded' }, transient: true },
    ])
    expect(over).toEqual([{ type: 'data-retry', data: { state: 'over' }, transient: true }])
  })

  test('prompts that joined are metadata, and parts in version 7', () => {
    const prompt = { text: 'Faster', files: [], parts: [] }
    const joined = replyWith([text('a', 'One')], { promptIDs: ['msg_1', 'msg_9'], joinedPrompts: { msg_9: prompt } })
    const replies = [replyWith([text('a', 'One')]), joined]
    const told = {
      type: 'message-metadata',
      messageMetadata: { prompts: [{ id: 'msg_9', text: 'Faster', files: [] }] },
    }
    expect(chunksFor(replies)[1]).toEqual([told])
    const steering = { type: 'steering-message', id: 'msg_9', parts: [{ type: 'text', text: 'Faster' }] }
    expect(chunks7(replies)[1]).toEqual([told, steering])
    const late = [message('msg_2', [text('a', 'One')]), message('msg_3', [text('b', 'Two')], { parentID: 'msg_9' })]
    expect(typesOf(chunks7([{ ...joined, messages: late }]).flat()).slice(2, 8)).toEqual([
      'start-step',
      'text-start',
      'text-delta',
      'steering-message',
      'text-end',
      'finish-step',
    ])
    const changed = replyWith([text('a', 'Two')], { promptIDs: joined.promptIDs, joinedPrompts: { msg_9: prompt } })
    expect(typesOf(chunks7([...replies, changed])[2] ?? [])).toEqual([
      'message-metadata',
      'reset-step',
      'text-start',
      'text-delta',
      'steering-message',
    ])
  })
})

describe('a reader with a message', () => {
  test('gets only what it lacks, also of a text that was cut', async () => {
    const cut = replyWith([text('a', 'One two'), call('b')], { phase: 'blocked', asks: [permits('b')] })
    const page = await pageOf([cut], { stopAtAsks: true })
    const rest = settled(
      replyWith([text('a', 'One two three', { status: 'sealed' }), call('b', { status: 'completed', output: 'ok' })]),
    )
    const chunks = chunksFor([rest], { have: page }).flat()
    expect(typesOf(chunks)).toEqual([
      'start',
      'text-start',
      'text-delta',
      'tool-output-available',
      'text-end',
      'finish-step',
      'finish',
    ])
    expect(JSON.stringify(chunks)).not.toContain('One')
    expect(uiTextOf(await pageOf([rest], {}, page))).toBe('One two three')
  })

  test('and version 7 gets the step of a cut text anew, with all that is in it', async () => {
    const cut = replyWith([text('a', 'One two'), call('b')], { phase: 'blocked', asks: [permits('b')] })
    const page = await pageOf([cut], { stopAtAsks: true })
    const parts = [text('a', 'One two three', { status: 'sealed' }), call('b', { status: 'completed', output: 'ok' })]
    const rest = settled(replyWith(parts, { asks: [permits('b', { status: 'answered', reply: 'once' })] }))
    expect(typesOf(createUIProjection({ version: 7, have: page }).next(rest))).toEqual([
      'start',
      'reset-step',
      'text-start',
      'text-delta',
      'tool-input-available',
      'tool-output-available',
      'data-ask',
      'text-end',
      'finish-step',
      'finish',
    ])
  })

  test('of another reply gets all of this one', async () => {
    const other = await pageOf([settled(replyWith([text('a', 'Old')], { promptIDs: ['msg_0'] }))])
    const reply = settled(replyWith([text('a', 'New')]))
    expect(chunksFor([reply], { have: other })).toEqual(chunksFor([reply]))
  })

  test('keeps nothing that the reply lacks', async () => {
    const page = await pageOf([replyWith([text('a', 'One'), call('b')])])
    const rest = settled(replyWith([text('c', 'Two')]))
    const later = await pageOf([rest], {}, page)
    expect(uiTextOf(later)).toBe('Two')
    expect(toolsIn(later)).toMatchObject([{ toolCallId: 'b', state: 'output-error' }])
  })

  test('that made its message up harms itself alone', () => {
    const reply = settled(replyWith([text('a', 'One', { status: 'sealed' })]))
    const parts = [
      null,
      7,
      { type: 'text', text: 7 },
      { type: 'text', text: 'Lie', providerMetadata: { reply: { part: 'a~999999999999' } } },
      { type: 'text', text: 'Lie', providerMetadata: { reply: { part: 'a~999999999' } } },
      { type: 'dynamic-tool', toolCallId: '__proto__', toolName: 'x', state: 'y' },
      { type: 'data-retracted', data: { parts: ['a', 7] } },
    ]
    const chunks = chunksFor([reply], { have: { id: 'msg_1-reply', parts } }).flat()
    expect(JSON.stringify(chunks)).toContain('One')
    expect(chunks.length).toBeLessThan(20)
    expect(JSON.stringify(chunks).length).toBeLessThan(5000)
    expect(chunksFor([reply], { have: { id: 'msg_1-reply', parts } })).toEqual([chunks])
  })
})

test('a message that is the same object is not looked at', () => {
  let reads = 0
  const counted = (each: Message): Message => {
    const { parts, ...head } = each
    return Object.defineProperty({ ...head, parts: [] }, 'parts', {
      get: () => {
        reads += 1
        return parts
      },
    })
  }
  const before = Array.from({ length: 100 }, (_, index) =>
    counted(message(`msg_${index}`, [text(`prt_${index}`, 'One')])),
  )
  const states = ['One', 'One two', 'One two three'].map((said) =>
    replyWith([], { messages: [...before, message('msg_last', [text('last', said)])] }),
  )
  const projection = createUIProjection()
  const [first, ...later] = states
  if (first) projection.next(first)
  expect(reads).toBeGreaterThan(0)
  reads = 0
  for (const reply of later) expect(projection.next(reply)).toHaveLength(1)
  expect(reads).toBe(0)
})
