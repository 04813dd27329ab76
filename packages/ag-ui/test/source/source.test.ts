import { askDetails, type Reply, type ReplyStream, textOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { createHandClock, until } from '@reply/testing'
import { expect, test } from 'vitest'
import { agUi } from '../../src/index.ts'
import { call, type FakeRun, result, say, startFakeAgent } from './fake-agent.ts'
import { asks, inTurn, partsOf, pendingOf, sends, stage } from './stage.ts'

/** Lets what has arrived be handled. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
}

/** Passes this time until the reply has settled: the timer may begin once more has arrived. */
async function settled(clock: ReturnType<typeof createHandClock>, ms: number, stream: ReplyStream): Promise<Reply> {
  while (stream.reply?.phase !== 'settled') await clock.advance(ms, turns)
  return await stream.result
}

test('a run becomes a reply: texts, thoughts, calls with their results, tokens', async () => {
  await using agent = await stage(
    sends(
      { type: 'RUN_STARTED', threadId: 't', runId: 'r' },
      { type: 'REASONING_START', messageId: 'r1' },
      { type: 'REASONING_MESSAGE_START', messageId: 'r1', role: 'reasoning' },
      { type: 'REASONING_MESSAGE_CONTENT', messageId: 'r1', delta: 'Hm.' },
      { type: 'REASONING_MESSAGE_END', messageId: 'r1' },
      ...say('m1', 'I look.'),
      ...call('c1', 'list', { path: '.' }),
      result('c1', 'a.txt'),
      ...say('m2', 'One file.'),
    ),
  )
  const reply = await agent.client.prompt({ text: 'What is here?' }).result
  expect(partsOf(reply)).toEqual([
    ['reasoning', 'Hm.'],
    ['text', 'I look.'],
    ['list', 'completed', { path: '.' }, 'a.txt'],
    ['text', 'One file.'],
  ])
  expect([reply.outcome, reply.messages.length, agent.errors]).toEqual(['completed', 2, []])
})

test('tokens of a run are counted without those that are named twice', async () => {
  const usage = { inputTokens: 10, outputTokens: 8, reasoningTokens: 3, cachedInputTokens: 4, cacheWriteInputTokens: 1 }
  await using agent = await stage(({ send, finish }) => {
    send(...say('m1', 'Hi.'))
    finish(undefined, { usage: [usage, { inputTokens: 1, outputTokens: 1 }] })
    return undefined
  })
  const reply = await agent.client.prompt({ text: 'Hi' }).result
  expect(reply.usage).toMatchObject({ input: 6, output: 6, reasoning: 3, cacheRead: 4, cacheWrite: 1, cost: 0 })
})

test('each run gets the whole conversation, its state and the run before', async () => {
  await using agent = await stage(
    inTurn(
      sends(
        { type: 'STATE_SNAPSHOT', snapshot: { files: [] } },
        ...say('m1', 'I look.'),
        ...call('c1', 'list', {}),
        result('c1', 'a.txt'),
        ...say('m2', 'One file.'),
        { type: 'STATE_DELTA', delta: [{ op: 'add', path: '/files/-', value: 'a.txt' }] },
      ),
      sends(...say('m3', 'Bye.')),
    ),
  )
  const { sessionID, promptIDs } = await agent.client.prompt({ text: 'Look' }).result
  await agent.client.prompt({ text: 'Thanks', sessionID }).result
  const [first, second] = agent.agent.inputs
  expect(first).toMatchObject({ threadId: sessionID, state: {}, tools: [], context: [], forwardedProps: {} })
  expect(first).not.toHaveProperty('parentRunId')
  expect(second).toMatchObject({ threadId: sessionID, parentRunId: first?.runId, state: { files: ['a.txt'] } })
  expect(second?.messages).toEqual([
    { id: promptIDs[0], role: 'user', content: 'Look' },
    {
      id: 'm1',
      role: 'assistant',
      content: 'I look.',
      toolCalls: [{ id: 'c1', type: 'function', function: { name: 'list', arguments: '{}' } }],
    },
    { id: 'result-c1', role: 'tool', toolCallId: 'c1', content: 'a.txt' },
    { id: 'm2', role: 'assistant', content: 'One file.' },
    { id: expect.any(String), role: 'user', content: 'Thanks' },
  ])
})

test('chunks need no beginning and no end, and their ids only once', async () => {
  await using agent = await stage(
    sends(
      { type: 'TEXT_MESSAGE_CHUNK', messageId: 'm1', role: 'assistant', delta: 'I ' },
      { type: 'TEXT_MESSAGE_CHUNK', delta: 'look.' },
      { type: 'TOOL_CALL_CHUNK', toolCallId: 'c1', toolCallName: 'list', delta: '{"path"' },
      { type: 'TOOL_CALL_CHUNK', delta: ':"."}' },
      { type: 'TOOL_CALL_CHUNK', toolCallId: 'c2', toolCallName: 'read', delta: '{}' },
      { type: 'TOOL_CALL_RESULT', toolCallId: 'c1', messageId: 'm1', content: 'a.txt' },
      { type: 'TEXT_MESSAGE_CHUNK', messageId: 'm2', delta: 'One.' },
      { type: 'REASONING_MESSAGE_CHUNK', messageId: 'm3', delta: 'Done?' },
    ),
  )
  const reply = await agent.client.prompt({ text: 'Look' }).result
  expect(partsOf(reply)).toEqual([
    ['text', 'I look.'],
    ['list', 'completed', { path: '.' }, 'a.txt'],
    ['read', 'running', {}, undefined],
    ['text', 'One.'],
    ['reasoning', 'Done?'],
  ])
})

test('a run ends with its stream: what follows RUN_FINISHED still counts, and a second run in the stream, too', async () => {
  await using agent = await stage(({ send, finish }) => {
    send({ type: 'RUN_STARTED' }, ...call('c1', 'list', {}))
    finish()
    send(result('c1', 'a.txt'), { type: 'RUN_STARTED' }, ...say('m1', 'One file.'))
    finish()
    return undefined
  })
  const reply = await agent.client.prompt({ text: 'Look' }).result
  expect(partsOf(reply)).toEqual([
    ['list', 'completed', {}, 'a.txt'],
    ['text', 'One file.'],
  ])
  expect(reply.outcome).toBe('completed')
})

test('a stream that is cut ends its reply as lost, with what was said', async () => {
  await using agent = await stage(({ send, response, text }) => {
    send({ type: 'RUN_STARTED' }, ...say('m1', 'Half an'))
    if (text === 'cut') response.write(': sent\n\n', () => response.destroy())
    return text === 'cut' ? 'stays' : undefined
  })
  for (const text of ['cut', 'ends without an end']) {
    const reply = await agent.client.prompt({ text }).result
    expect([reply.outcome, reply.lostReason, textOf(reply)]).toEqual(['lost', 'end-not-seen', 'Half an'])
    expect(reply.error?.message).toContain(agent.agent.url)
  }
})

test('an error of the agent fails the reply, and a cancelled run is aborted', async () => {
  await using agent = await stage(({ send, finish, text }) => {
    send(...say('m1', 'So far.'))
    if (text === 'cancelled') finish({ type: 'cancelled' })
    else send({ type: 'RUN_ERROR', message: 'No credit.', code: text === 'coded' ? 'BILLING' : null })
    return undefined
  })
  const outcomes = await Promise.all(
    ['plain', 'coded', 'cancelled'].map(async (text) => {
      const reply = await agent.client.prompt({ text }).result
      return [reply.outcome, reply.error?.name, textOf(reply)]
    }),
  )
  expect(outcomes).toEqual([
    ['failed', 'RunError', 'So far.'],
    ['failed', 'BILLING', 'So far.'],
    ['aborted', 'MessageAbortedError', 'So far.'],
  ])
})

test('a snapshot replaces what was said since the prompt', async () => {
  await using agent = await stage(({ send, finish, input }) => {
    send(...say('m1', 'Wrong.'), ...call('c1', 'list', {}), ...say('m2', 'Kept'))
    const toolCalls = [{ id: 'c1', type: 'function', function: { name: 'list', arguments: '{}' } }]
    const messages = [
      ...input.messages,
      { id: 'm0', role: 'assistant', toolCalls },
      { id: 't1', role: 'tool', toolCallId: 'c1', content: '', error: 'No such folder.' },
      { id: 'm2', role: 'assistant', content: 'Kept, and more.' },
      { id: 'm3', role: 'assistant', content: 'New.' },
    ]
    send({ type: 'MESSAGES_SNAPSHOT', messages })
    finish()
    return undefined
  })
  const reply = await agent.client.prompt({ text: 'Look' }).result
  expect(partsOf(reply)).toEqual([
    ['list', 'error', {}, 'No such folder.'],
    ['text', 'Kept, and more.'],
    ['text', 'New.'],
  ])
  await agent.client.prompt({ text: 'And?', sessionID: reply.sessionID }).result
  expect(agent.agent.inputs[1]?.messages.map((message) => JSON.stringify(message).includes('Wrong'))).not.toContain(
    true,
  )
  expect(agent.agent.inputs[1]?.messages).toHaveLength(6)
})

test('a snapshot without the prompt takes nothing back, and one with other ids moves nothing', async () => {
  await using agent = await stage(({ send, finish, text }) => {
    send(...say('m1', 'Said.'))
    const messages = [
      { id: 'u', role: 'user', content: text === 'old' ? 'Something else' : text },
      ...(text === 'other ids' ? [{ id: 'x1', role: 'assistant', content: 'Said.' }] : []),
    ]
    send({ type: 'MESSAGES_SNAPSHOT', messages: text === 'nothing' ? null : messages })
    finish()
    return undefined
  })
  for (const text of ['old', 'other ids', 'empty', 'nothing'])
    expect(partsOf(await agent.client.prompt({ text }).result), text).toEqual([['text', 'Said.']])
})

test('sub-agents are children, below the call that began them', async () => {
  const subagentRunId = 'sub-1'
  await using agent = await stage(
    sends(
      ...call('c1', 'task', { description: 'Look around' }),
      { type: 'SUBAGENT_STARTED', subagentRunId, name: 'explore', parentToolCallId: 'c1' },
      ...say('m1', 'Looking.', { subagentRunId }),
      { type: 'SUBAGENT_STARTED', subagentRunId: 'sub-2', name: 'deep', parentSubagentRunId: subagentRunId },
      { type: 'SUBAGENT_ERROR', subagentRunId: 'sub-2', message: 'It broke.' },
      { type: 'SUBAGENT_FINISHED', subagentRunId },
      result('c1', 'Looked.'),
      ...say('m2', 'From nowhere.', { subagentRunId: 'never announced' }),
    ),
  )
  const reply = await agent.client.prompt({ text: 'Look' }).result
  expect(reply.children.map((child) => [child.callID, textOf(child.reply), child.reply.outcome])).toEqual([
    ['c1', 'Looking.', 'completed'],
    [undefined, 'From nowhere.', 'completed'],
  ])
  expect(reply.children[0]?.reply.children[0]?.reply).toMatchObject({
    outcome: 'failed',
    error: { message: 'It broke.' },
  })
  expect(textOf(reply)).toBe('')
})

test('an approval is a permission with its call, and its answer has the shape that the agent asked for', async () => {
  const approved = (value: boolean) => ({ properties: { approved: { const: value } }, required: ['approved'] })
  const cases = [
    { schema: { type: 'boolean' }, payload: true },
    { schema: { type: 'string', enum: ['approve', 'reject'] }, payload: 'approve' },
    { schema: { oneOf: [approved(true), approved(false)] }, payload: { approved: true } },
    { schema: { type: 'object', properties: { confirmed: { type: 'boolean' } } }, payload: { confirmed: true } },
    { schema: { properties: { decision: { enum: ['allow', 'deny'] } } }, payload: { decision: 'allow' } },
    { schema: { enum: ['approve', 'edit', 'reject'] }, payload: 'approve' },
    { schema: undefined, payload: { approved: true } },
  ]
  for (const { schema: responseSchema, payload } of cases) {
    const interrupt = { id: 'i1', reason: 'tool_call', toolCallId: 'c1', message: 'Run it?', responseSchema }
    await using agent = await stage(
      inTurn(
        asks(call('c1', 'remove', { path: 'a.txt' }), interrupt),
        // As TanStack AI resumes.
        sends(result('c1', 'Removed.'), { type: 'RUN_STARTED' }, ...say('m1', 'Done.')),
      ),
    )
    const stream = agent.client.prompt({ text: 'Remove it' })
    const [ask] = await pendingOf(stream)
    expect(ask).toMatchObject({
      type: 'permission',
      title: 'Run it?',
      call: { tool: 'remove', input: { path: 'a.txt' } },
    })
    if (ask?.type !== 'permission') throw new Error('It is no permission.')
    expect(askDetails(ask)).toBeDefined()
    await agent.client.answer(ask, 'once')
    const reply = await stream.result
    expect(partsOf(reply)).toEqual([
      ['remove', 'completed', { path: 'a.txt' }, 'Removed.'],
      ['text', 'Done.'],
    ])
    const [first, second] = agent.agent.inputs
    expect(second).toMatchObject({
      parentRunId: first?.runId,
      resume: [{ interruptId: 'i1', status: 'resolved', payload }],
    })
  }
})

test('choices beside yes and no are a question, unless they are about a call', async () => {
  const responseSchema = { enum: ['yes', 'later', 'no'] }
  await using agent = await stage(asks([], { id: 'i1', reason: 'input', message: 'Go on?', responseSchema }))
  const stream = agent.client.prompt({ text: 'Hi' })
  const [ask] = await pendingOf(stream)
  expect(ask).toMatchObject({
    type: 'question',
    questions: [{ options: [{ label: 'yes' }, { label: 'later' }, { label: 'no' }] }],
  })
})

test('a rejected approval ends its call as failed, and the agent goes on', async () => {
  const schema = { properties: { approved: { type: 'boolean' }, reason: { type: 'string' } }, required: ['approved'] }
  const interrupt = { id: 'i1', reason: 'tool_call', toolCallId: 'c1', responseSchema: schema }
  await using agent = await stage(
    inTurn(
      asks(call('c1', 'remove', { path: 'a.txt' }), interrupt),
      sends(result('c1', 'Declined.'), ...say('m1', 'Then not.')),
    ),
  )
  const stream = agent.client.prompt({ text: 'Remove it' })
  const [ask] = await pendingOf(stream)
  if (ask) await agent.client.reject(ask, 'I need it.')
  const reply = await stream.result
  expect(partsOf(reply)[0]).toEqual(['remove', 'error', { path: 'a.txt' }, 'Declined.'])
  expect(reply.asks).toMatchObject([{ status: 'rejected', reply: 'reject' }])
  expect(agent.agent.inputs[1]?.resume).toMatchObject([{ payload: { approved: false, reason: 'I need it.' } }])
})

test('an approval that names no call shows what it is about as a call, which the agent never hears of', async () => {
  const interrupt = {
    id: 'i1',
    reason: 'confirmation',
    message: 'Send it?',
    responseSchema: { type: 'boolean' },
    metadata: { to: 'all@example.org', 'tool:hash': 'abc' },
  }
  await using agent = await stage(inTurn(asks(say('m1', 'Ready.'), interrupt), sends(...say('m2', 'Sent.'))))
  const stream = agent.client.prompt({ text: 'Send it' })
  const [ask] = await pendingOf(stream)
  if (ask?.type !== 'permission') throw new Error('It is no permission.')
  expect(JSON.stringify(askDetails(ask))).toContain('all@example.org')
  await agent.client.answer(ask, 'once')
  expect(partsOf(await stream.result).map(([what]) => what)).toEqual(['text', 'confirmation', 'text'])
  expect(JSON.stringify(agent.agent.inputs[1]?.messages)).not.toContain('toolCalls')
})

test('any other interrupt is a question, and several are answered together', async () => {
  const form = {
    type: 'object',
    properties: {
      color: {
        type: 'string',
        title: 'Color',
        oneOf: [
          { const: 'r', title: 'Red' },
          { const: 'b', title: 'Blue' },
        ],
      },
      count: { type: 'integer', description: 'How many?' },
      tags: { type: 'array', items: { enum: ['x', 'y'] } },
    },
  }
  await using agent = await stage(
    inTurn(
      asks(
        [],
        { id: 'i1', reason: 'input_required', message: 'Which one?', responseSchema: form },
        { id: 'i2', reason: 'input_required', message: 'Why?' },
        { id: 'i2', reason: 'input_required', message: 'Twice.' },
      ),
      sends(...say('m1', 'Thanks.')),
    ),
  )
  const stream = agent.client.prompt({ text: 'Ask me' })
  const [first, second] = await pendingOf(stream, 2)
  if (first?.type !== 'question' || second?.type !== 'question') throw new Error('They are no questions.')
  expect(first.questions).toMatchObject([
    { header: 'Color', question: 'Which one?\n\nColor', options: [{ label: 'Red' }, { label: 'Blue' }], custom: false },
    { question: 'How many?', options: [], custom: true },
    { multiple: true, options: [{ label: 'x' }, { label: 'y' }] },
  ])
  await agent.client.answer(second, [['Because.']])
  expect(agent.agent.inputs).toHaveLength(1)
  await expect(agent.client.answer(first, [['Red'], ['many'], ['x']])).rejects.toThrow('must be a whole number')
  expect(stream.reply?.phase).toBe('blocked')
  await agent.client.answer(first, [['Red'], ['3'], ['x', 'y']])
  expect(textOf(await stream.result)).toBe('Thanks.')
  expect(agent.agent.inputs[1]?.resume).toEqual([
    { interruptId: 'i1', status: 'resolved', payload: { color: 'r', count: 3, tags: ['x', 'y'] } },
    { interruptId: 'i2', status: 'resolved', payload: 'Because.' },
  ])
})

test('an answer that the agent does not take can be given again', async () => {
  const interrupt = { id: 'i1', reason: 'input_required', message: 'Why?' }
  await using agent = await stage(
    inTurn(
      asks([], interrupt),
      ({ response }) => {
        response.writeHead(503).end('{"detail":"Try later"}')
        return 'stays'
      },
      sends(...say('m1', 'Thanks.')),
    ),
  )
  const stream = agent.client.prompt({ text: 'Ask me' })
  const [ask] = await pendingOf(stream)
  if (ask?.type !== 'question') throw new Error('It is no question.')
  await expect(agent.client.answer(ask, [['One']])).rejects.toThrow('Try later')
  expect(stream.reply?.phase).toBe('blocked')
  await agent.client.answer(ask, [['Two']])
  expect(textOf(await stream.result)).toBe('Thanks.')
  expect(agent.agent.inputs[2]?.resume).toMatchObject([{ payload: 'Two' }])
})

test('an abort closes the stream, and the session takes prompts again', async () => {
  const gone: string[] = []
  await using agent = await stage((run) => {
    if (run.text !== 'endless') return sends(...say('m2', 'Again.'))(run)
    run.send(...say('m1', 'On and on.'), ...call('c1', 'wait', {}))
    void run.gone.then(() => gone.push(run.input.runId))
    return 'stays'
  })
  const stream = agent.client.prompt({ text: 'endless' })
  await until(() => stream.reply !== undefined && textOf(stream.reply) !== '', 'a text', 5000)
  const reply = await stream.abort()
  expect([reply.outcome, textOf(reply)]).toEqual(['aborted', 'On and on.'])
  await until(() => gone.length === 1, 'the end of the request', 5000)
  const again = await agent.client.prompt({ text: 'Again', sessionID: reply.sessionID }).result
  expect(textOf(again)).toBe('Again.')
  // A provider refuses calls without a result.
  expect(JSON.stringify(agent.agent.inputs[1]?.messages)).not.toContain('"c1"')
})

test('an abort tells the agent that its interrupts are cancelled', async () => {
  await using agent = await stage(
    inTurn(asks([], { id: 'i1', reason: 'input_required' }, { id: 'i2', reason: 'input_required' }), ({ send }) => {
      send({ type: 'RUN_STARTED' })
      return 'stays'
    }),
  )
  const stream = agent.client.prompt({ text: 'Ask me' })
  await pendingOf(stream, 2)
  expect((await stream.abort()).outcome).toBe('aborted')
  expect(agent.agent.inputs[1]?.resume).toEqual([
    { interruptId: 'i1', status: 'cancelled' },
    { interruptId: 'i2', status: 'cancelled' },
  ])
})

test('events without a place go to onEvent, and an unknown type is reported once', async () => {
  const seen: unknown[] = []
  await using agent = await stage(
    sends(
      { type: 'CUSTOM', name: 'progress', value: 1 },
      { type: 'RAW', event: {} },
      { type: 'STATE_DELTA', delta: [{ op: 'replace', path: '/no/such', value: 1 }] },
      { type: 'ACTIVITY_SNAPSHOT', messageId: 'a', activityType: 'x', content: { any: 1 } },
      { type: 'FROM_THE_FUTURE' },
      { type: 'FROM_THE_FUTURE' },
      ...say('m1', 'Hi.'),
    ),
    {
      onEvent: (event) => {
        seen.push(event)
        throw new Error('Mine.')
      },
    },
  )
  const reply = await agent.client.prompt({ text: 'Hi' }).result
  expect([textOf(reply), seen.length]).toEqual(['Hi.', 10])
  expect(agent.errors.filter(({ type }) => type === 'malformed').map(({ message }) => message)).toEqual([
    expect.stringContaining('"FROM_THE_FUTURE"'),
  ])
  expect(agent.errors.filter(({ type }) => type === 'observer')).toHaveLength(10)
})

test('files of a prompt are parts, and a text file is text', async () => {
  await using agent = await stage(sends(...say('m1', 'Seen.')))
  const png = 'data:image/png;base64,iVBORw0KGgo='
  const files = [
    { url: png, mime: 'image/png', filename: 'a.png' },
    { url: 'data:text/plain,Hello%20you', mime: 'text/plain', filename: 'a.txt' },
    { url: 'https://example.org/a.pdf', mime: 'application/pdf' },
  ]
  const reply = await agent.client.prompt({ text: 'Look', files }).result
  expect(reply.prompt?.files).toEqual(['a.png', 'a.txt', 'application/pdf'])
  expect(agent.agent.inputs[0]?.messages).toEqual([
    {
      id: reply.promptIDs[0],
      role: 'user',
      content: [
        { type: 'text', text: 'Look' },
        {
          type: 'image',
          source: { type: 'data', value: 'iVBORw0KGgo=', mimeType: 'image/png' },
          metadata: { filename: 'a.png' },
        },
        { type: 'text', text: 'Attached file: a.txt\n\nHello you' },
        { type: 'document', source: { type: 'url', value: 'https://example.org/a.pdf', mimeType: 'application/pdf' } },
      ],
    },
  ])
  const refused = await agent.client.prompt({ text: 'Look', agent: 'plan' }).result
  expect([refused.outcome, refused.error?.message]).toEqual(['failed', expect.stringContaining('`agent`')])
})

test('errors say what failed, without the token, and the next prompt runs', async () => {
  const headers = { authorization: 'Bearer s3cret-token', 'x-key': 's3cret-key' }
  await using agent = await stage(
    (run) => {
      const { response, text, headers: sent, send } = run
      expect(sent).toMatchObject(headers)
      const quote = JSON.stringify(sent)
      if (text === 'credentials') response.writeHead(401).end(quote)
      else if (text === 'refused') response.writeHead(422).end(quote)
      else if (text === 'html') response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')
      else if (text === 'elsewhere') response.writeHead(307, { location: 'http://127.0.0.2:1/' }).end()
      else if (text === 'moved') response.writeHead(307, { location: '/agent/?moved' }).end()
      else if (text === 'fails') send({ type: 'RUN_ERROR', message: quote })
      else return sends(...say('m1', 'Hi.'))(run)
      return 'stays'
    },
    { headers },
  )
  const errors = new Map<string, string>()
  for (const text of ['credentials', 'refused', 'html', 'elsewhere', 'fails']) {
    const reply = await agent.client.prompt({ text }).result
    expect(reply.outcome, text).toBe('failed')
    errors.set(text, reply.error?.message ?? '')
    expect(JSON.stringify([reply, agent.errors.map(String)])).not.toContain('s3cret')
  }
  expect(errors.get('credentials')).toContain('(401)')
  expect(errors.get('refused')).toContain('[redacted]')
  expect(errors.get('html')).toContain('not an AG-UI agent')
  expect(errors.get('elsewhere')).toContain('redirects to http://127.0.0.2:1')
  expect((await agent.client.prompt({ text: 'fine' }).result).outcome).toBe('completed')
})

test('a response that does not begin, and a stream that goes silent, end after their times', async () => {
  const clock = createHandClock()
  const agent = await startFakeAgent(({ text, send }) => {
    if (text === 'silent') send(...say('m1', 'So far.'))
    return 'stays'
  })
  const source = agUi({ url: agent.url, clock, responseMs: 20_000, silenceMs: 300_000 })
  const client = connectSource(source, { clock, random: () => 0 })
  const silent = client.prompt({ text: 'silent' })
  await until(() => silent.reply !== undefined && textOf(silent.reply) !== '', 'a text', 5000)
  const reply = await settled(clock, 300_000, silent)
  expect([reply.outcome, reply.error?.message]).toEqual([
    'lost',
    expect.stringContaining('nothing was sent for 300000 ms'),
  ])
  const slow = client.prompt({ text: 'slow' })
  await until(() => agent.inputs.length === 2, 'the request', 5000)
  expect(await settled(clock, 20_000, slow)).toMatchObject({
    outcome: 'lost',
    error: { message: expect.stringContaining('within 20000 ms') },
  })
  await client.close()
  await agent.close()
})

test('a stream that stays open after the end of its run ends its reply, but not while a tool runs', async () => {
  const clock = createHandClock()
  const streams: FakeRun[] = []
  const agent = await startFakeAgent((run) => {
    streams.push(run)
    run.send(...say('m1', 'Said.'), ...(run.text === 'tool' ? call('c1', 'wait', {}) : []))
    run.finish()
    return 'stays'
  })
  const client = connectSource(agUi({ url: agent.url, clock }), { clock, random: () => 0 })
  const open = client.prompt({ text: 'open' })
  await until(() => open.reply !== undefined && textOf(open.reply) !== '', 'a text', 5000)
  expect((await settled(clock, 5000, open)).outcome).toBe('completed')
  const tool = client.prompt({ text: 'tool' })
  await until(() => tool.reply !== undefined && textOf(tool.reply) !== '', 'a text', 5000)
  for (let turn = 0; turn < 50; turn++) await clock.advance(1000, turns)
  expect(tool.reply?.phase).toBe('working')
  streams[1]?.send(result('c1', 'Waited.'))
  streams[1]?.response.end()
  expect(partsOf(await tool.result).at(-1)).toEqual(['wait', 'completed', {}, 'Waited.'])
  await client.close()
  await agent.close()
})

test('a session goes on after a restart only if the agent keeps its threads', async () => {
  const agent = await startFakeAgent(sends(...say('m1', 'Hi.')))
  const promptAgain = async (keepsThreads: boolean) => {
    const client = connectSource(agUi({ url: agent.url, keepsThreads }))
    const reply = await client.prompt({ text: 'Again', sessionID: 'earlier' }).result
    await client.close()
    return [reply.outcome, reply.error?.name]
  }
  expect(await promptAgain(false)).toEqual(['failed', 'gone'])
  expect(await promptAgain(true)).toEqual(['completed', undefined])
  expect(agent.inputs).toMatchObject([{ threadId: 'earlier' }])
  await agent.close()
})

test('an agent in the same process is an observable or an iterable', async () => {
  const observable = {
    run: () => ({
      subscribe: (observer: { next: (event: unknown) => void; complete: () => void }) => {
        for (const event of say('m1', 'Observed.')) observer.next(event)
        observer.next({ type: 'RUN_FINISHED' })
        observer.complete()
        return { unsubscribe: () => {} }
      },
    }),
  }
  const iterable = {
    run: async function* () {
      yield* say('m1', 'Iterated.')
      yield { type: 'RUN_FINISHED' }
    },
  }
  const failing = {
    run: async function* () {
      yield* say('m1', 'Begun.')
      throw new Error('It broke.')
    },
  }
  const play = async (agent: Parameters<typeof agUi>[0]['agent'] & object) => {
    const client = connectSource(agUi({ agent }))
    const reply = await client.prompt({ text: 'Hi' }).result
    await client.close()
    return [reply.outcome, textOf(reply), reply.error?.message]
  }
  expect(await play(observable)).toEqual(['completed', 'Observed.', undefined])
  expect(await play(iterable)).toEqual(['completed', 'Iterated.', undefined])
  expect(await play(failing)).toEqual(['lost', 'Begun.', 'The AG-UI agent broke off the run: It broke.'])
})

test('an address that is not one is refused at once, without its password', () => {
  expect(() => agUi({ url: 'ftp://me:s3cret@host/' })).toThrow('is not an http(s) address')
  expect(() => agUi({ url: 'ftp://me:s3cret@host/' })).not.toThrow('s3cret')
  expect(agUi({ url: 'http://me:s3cret@host/a?key=1' }).name).toBe('http://host/a')
})

test('a prompt waits for an agent that is restarting, and one without a response is lost at once', async () => {
  const agent = await startFakeAgent(({ response, text }) => {
    if (text === 'breaks') response.destroy()
    return 'stays'
  })
  const client = connectSource(agUi({ url: agent.url }))
  const broken = await client.prompt({ text: 'breaks' }).result
  expect([broken.outcome, broken.error?.name]).toEqual(['lost', 'unreachable'])
  await agent.close()
  // The client may not know yet that its idle connection was closed. What it sends there may have been taken.
  await fetch(agent.url).catch(() => {})
  const stream = client.prompt({ text: 'Hi', sessionID: broken.sessionID })
  await until(() => stream.reply?.phase === 'waiting', 'the prompt', 5000)
  const again = await startFakeAgent(sends(...say('m1', 'Back.')), Number(new URL(agent.url).port))
  const reply = await stream.result
  expect([reply.error, textOf(reply)]).toEqual([undefined, 'Back.'])
  await client.close()
  await again.close()
})

test('an interrupt that comes as a custom event, as LangGraph sends it by default, is answered the same way', async () => {
  const value = { message: 'Which one?', response_schema: { type: 'string', enum: ['a', 'b'] } }
  await using agent = await stage(
    inTurn(
      sends({ type: 'CUSTOM', name: 'on_interrupt', value: JSON.stringify(value) }),
      sends(...say('m1', 'Thanks.')),
    ),
  )
  const stream = agent.client.prompt({ text: 'Ask me' })
  const [ask] = await pendingOf(stream)
  expect(ask).toMatchObject({
    type: 'question',
    questions: [{ question: 'Which one?', options: [{ label: 'a' }, {}] }],
  })
  if (ask?.type === 'question') await agent.client.answer(ask, [['b']])
  expect(textOf(await stream.result)).toBe('Thanks.')
  expect(agent.agent.inputs[1]).toMatchObject({ forwardedProps: { command: { resume: 'b', interruptEvent: value } } })
  expect(agent.agent.inputs[1]).not.toHaveProperty('resume')
})

test("LangChain's review of tool calls is a permission with all of them", async () => {
  const one = { action_requests: [{ name: 'remove', args: { path: 'a.txt' } }], review_configs: [] }
  const two = { actionRequests: [...one.action_requests, { name: 'send', args: { to: 'Ann' } }] }
  await using agent = await stage(
    inTurn(
      sends({ type: 'CUSTOM', name: 'on_interrupt', value: one }),
      asks([], { id: 'i1', reason: 'langgraph:interrupt', metadata: { langgraph: { raw: two } } }),
      sends(...say('m1', 'Done.')),
    ),
  )
  const stream = agent.client.prompt({ text: 'Do it' })
  const [ask] = await pendingOf(stream)
  expect(ask).toMatchObject({ type: 'permission', call: { tool: 'remove', input: { path: 'a.txt' } } })
  if (ask) await agent.client.answer(ask, 'once')
  await until(() => stream.reply?.asks.length === 2, 'the second ask', 5000)
  const [second] = await pendingOf(stream)
  if (second?.type !== 'permission') throw new Error('It is no permission.')
  for (const word of ['a.txt', 'Ann', 'send']) expect(JSON.stringify(askDetails(second))).toContain(word)
  await agent.client.reject(second, 'No.')
  expect(textOf(await stream.result)).toBe('Done.')
  const decision = { type: 'reject', message: 'No.' }
  expect(agent.agent.inputs.slice(1)).toMatchObject([
    { forwardedProps: { command: { resume: { decisions: [{ type: 'approve' }] } } } },
    { resume: [{ interruptId: 'i1', payload: { decisions: [decision, decision] } }] },
  ])
})
