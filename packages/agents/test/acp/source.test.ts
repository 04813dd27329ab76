import { inspect } from 'node:util'
import { type Ask, type ReplyError, textOf, toolsOf } from '@reply/core'
import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { clientOf } from '../../src/acp/client.ts'
import { toSettings } from '../../src/acp/options.ts'
import { createAcpSource } from '../../src/acp/source.ts'
import { chunk, scripted } from './agent.ts'
import { createFake } from './fake.ts'

const options = { command: 'agent', cwd: '/project' } as const
const fast = { ...options, backOff: { minMs: 1, maxMs: 1 } } as const

test('updates are kept in order, and none is behind the end of its run', async () => {
  const { source } = scripted(({ say, end }) => {
    for (let at = 0; at < 500; at++) say(chunk(`${at} `, 'm1'))
    end({ stopReason: 'end_turn' })
  })
  const client = clientOf(source, options)
  const reply = await client.prompt({ text: 'Count.' }).result
  expect(textOf(reply)).toBe(Array.from({ length: 500 }, (_, at) => `${at} `).join(''))
  await client.close()
})

test.each([
  ['end_turn', 'completed', 'stop'],
  ['max_tokens', 'completed', 'length'],
  ['max_turn_requests', 'stopped', 'tool-calls'],
  ['cancelled', 'aborted', undefined],
  ['refusal', 'failed', undefined],
  ['a later reason', 'completed', 'a later reason'],
] as const)('the stop reason %s is the outcome %s', async (stopReason, outcome, finish) => {
  const { source } = scripted(({ say, end }) => {
    say(chunk('So far.'))
    end({ stopReason })
  })
  const client = clientOf(source, options)
  const reply = await client.prompt({ text: 'Go.' }).result
  expect([reply.outcome, reply.finish]).toEqual([outcome, finish])
  await client.close()
})

test.each([
  [
    { code: -32_603, message: 'Internal error', data: { details: 'The key is wrong' } },
    'Internal error: The key is wrong',
  ],
  [{ code: -32_000, message: 'Authentication required' }, 'Authentication required'],
  [{ code: -1, message: 'No', data: 'words' }, 'No: words'],
  [{ code: 429, message: '{"error":{"message":"Slow down."}}' }, 'Slow down.'],
  [{ code: -2, message: '{"half":' }, '{"half":'],
])('a JSON-RPC error fails the reply with its words: %o', async (error, message) => {
  const { source } = scripted(({ fail }) => fail(error))
  const client = clientOf(source, options)
  expect(await client.prompt({ text: 'Go.' }).result).toMatchObject({ outcome: 'failed', error: { message } })
  await client.close()
})

test("a failed run and a refused session show no secret of the agent's arguments and variables", async () => {
  const secrets = { args: ['--api-key', 'open-sesame'], env: { DOOR_KEY: 'closed-sesame' } }
  const error = { code: -32_603, message: 'open-sesame is no key', data: { details: 'nor is closed-sesame' } }
  const { source } = scripted(({ fail }) => fail(error), secrets)
  const client = clientOf(source, options)
  const reply = await client.prompt({ text: 'Go.' }).result
  await client.close()
  expect(reply.error?.message).toBe('[redacted] is no key: nor is [redacted]')
  expect(inspect(reply, { depth: 20 })).not.toContain('sesame')

  const refusing = scripted(
    () => {},
    secrets,
    ({ id, method }, fake) => {
      if (method === 'session/new') fake.say({ jsonrpc: '2.0', id, error })
      return method === 'session/new'
    },
  )
  const refused = clientOf(refusing.source, options)
  const failure: unknown = await refused.prompt({ text: 'Go.' }).result.catch((why: unknown) => why)
  await refused.close()
  expect(inspect(failure, { depth: 20, showHidden: true })).toContain('[redacted] is no key')
  expect(inspect(failure, { depth: 20, showHidden: true })).not.toContain('sesame')
})

test('modes, commands, settings, a title and a notice are kept, and unknown kinds change nothing', async () => {
  const notices: unknown[] = []
  const { source } = scripted(
    ({ say, end }) => {
      say({ sessionUpdate: 'available_commands_update', availableCommands: [{ name: 'init', description: 'Begin' }] })
      say({ sessionUpdate: 'current_mode_update', currentModeId: 'plan' })
      say({ sessionUpdate: 'session_info_update', title: 'A title' })
      say({ sessionUpdate: 'notice', severity: 'warning', title: 'The quota runs out' })
      say({ sessionUpdate: 'something_later', content: 1 })
      end({ stopReason: 'end_turn' })
    },
    { onNotice: (_, notice) => notices.push(notice) },
  )
  const client = clientOf(source, options)
  const reply = await client.prompt({ text: 'Go.' }).result
  expect(client.details(reply.sessionID)).toMatchObject({
    commands: [{ name: 'init', description: 'Begin' }],
    modeID: 'plan',
    modes: [{ id: 'build' }, { id: 'plan' }],
    config: [{ id: 'm', category: 'model', value: 'p/m1', choices: [{ value: 'p/m1' }, { value: 'p/m2' }] }],
  })
  expect([reply.title, reply.outcome, reply.messages[0]?.parts]).toEqual(['A title', 'completed', []])
  expect(notices).toEqual([{ severity: 'warning', title: 'The quota runs out', description: undefined }])
  expect(await client.commands()).toEqual([{ name: 'init', description: 'Begin' }])
  expect((await client.models()).map(({ modelID }) => modelID)).toEqual(['m1', 'm2'])
  expect((await client.agents()).map(({ name }) => name)).toEqual(['build', 'plan'])
  await client.close()
})

test('a prompt sets the mode and the model that it names, once', async () => {
  const { source, heard } = scripted(({ end }) => end({ stopReason: 'end_turn' }))
  const client = clientOf(source, options)
  const wanted = { agent: 'plan', model: { providerID: 'p', modelID: 'm2' } }
  const { sessionID } = await client.prompt({ text: 'Go.', ...wanted }).result
  await client.prompt({ text: 'On.', sessionID, ...wanted }).result
  const methods = heard.flatMap(({ method }) => (method?.startsWith('session/set') ? [method] : []))
  expect(methods).toEqual(['session/set_mode', 'session/set_config_option'])
  await client.close()
})

test('a prompt that is aborted while its mode is being set is not sent', async () => {
  let answer = (): void => {}
  const { source, heard } = scripted(
    ({ end }) => end({ stopReason: 'end_turn' }),
    {},
    ({ id, method }, fake) => {
      answer = () => fake.say({ jsonrpc: '2.0', id, result: {} })
      return method === 'session/set_mode'
    },
  )
  const over = new AbortController()
  const directory = '/project'
  const connected = source.connect({ directory, signal: over.signal })[Symbol.asyncIterator]()
  await connected.next()
  const { sessionID } = await source.create({ directory })
  const posting = source.prompt({ sessionID, directory }, { text: 'Go.', agent: 'plan' })
  await expect.poll(() => heard.at(-1)?.method).toBe('session/set_mode')
  const mode = answer
  await source.abort({ sessionID, directory })
  mode()
  await posting
  expect((await source.working(directory)).size).toBe(0)
  expect(heard.map(({ method }) => method)).not.toContain('session/prompt')
  over.abort()
  source.close()
})

test.each([
  [{ system: 'Be brief.' }, 'a system prompt'],
  [{ model: { providerID: 'p', modelID: 'm9' } }, 'no model "p/m9". Choose one of p/m1, p/m2'],
  [{ agent: 'ask' }, 'no mode "ask"'],
  [{ files: [{ url: 'data:audio/wav;base64,AA==', mime: 'audio/wav' }] }, 'a file of the type "audio/wav"'],
])('a prompt that the agent has no use for is refused: %o', async (input, words) => {
  const { source, heard } = scripted(({ end }) => end({ stopReason: 'end_turn' }))
  const client = clientOf(source, options)
  const reply = await client.prompt({ text: 'Go.', ...input }).result
  expect(reply).toMatchObject({ outcome: 'failed', error: { name: 'unsupported' } })
  expect(reply.error?.message).toContain(words)
  expect(heard.map(({ method }) => method)).not.toContain('session/prompt')
  await client.close()
})

test('images go as data where the agent takes them, texts as texts, and files with an address as links', async () => {
  const { source, heard } = scripted(({ end }) => end({ stopReason: 'end_turn' }))
  const client = clientOf(source, options)
  const files = [
    { url: 'data:image/png;base64,AA==', mime: 'image/png' },
    { url: 'file:///project/a.txt', mime: 'text/plain' },
    { url: 'data:application/json,[1]', mime: 'application/json', filename: 'a.json' },
  ]
  await client.prompt({ text: 'Look.', files }).result
  expect(heard.find(({ method }) => method === 'session/prompt')?.params?.prompt).toEqual([
    { type: 'text', text: 'Look.' },
    { type: 'image', data: 'AA==', mimeType: 'image/png' },
    { type: 'resource_link', uri: 'file:///project/a.txt', name: 'a.txt', mimeType: 'text/plain' },
    { type: 'text', text: 'Attached file: a.json\n\n[1]' },
  ])
  await client.close()
})

test.each([
  ['an agent that reads it', 'OpenCode', true],
  ['an agent of which that is not known', 'Kimi Code CLI', false],
])('a PDF for %s', async (_, name, isTaken) => {
  const { source, heard } = scripted(
    ({ end }) => end({ stopReason: 'end_turn' }),
    {},
    ({ id, method }, { say }) => {
      if (method !== 'initialize') return false
      const agentCapabilities = { promptCapabilities: { embeddedContext: true } }
      say({ jsonrpc: '2.0', id, result: { protocolVersion: 1, agentInfo: { name, version: '1' }, agentCapabilities } })
      return true
    },
  )
  const client = clientOf(source, options)
  const files = [{ url: 'data:application/pdf;base64,JVBERi0xLjc=', mime: 'application/pdf', filename: 'a b.pdf' }]
  expect(await client.takes()).toEqual(isTaken ? ['text', 'pdf'] : ['text'])
  const { outcome } = await client.prompt({ text: 'Look.', files }).result
  expect(outcome).toBe(isTaken ? 'completed' : 'failed')
  const resource = { uri: 'file:///a%20b.pdf', mimeType: 'application/pdf', blob: 'JVBERi0xLjc=' }
  const sent = heard.find(({ method }) => method === 'session/prompt')?.params?.prompt
  expect(sent?.slice(1)).toEqual(isTaken ? [{ type: 'resource', resource }] : undefined)
  await client.close()
})

test('a form is asked as questions, and its answers have the types of its fields', async () => {
  let got: unknown
  const properties = {
    color: { type: 'string', title: 'Color', oneOf: [{ const: 'r', title: 'Red' }] },
    count: { type: 'integer', description: 'How many?' },
    sure: { type: 'boolean' },
    tags: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } },
  }
  const { source } = scripted(async ({ ask, end }) => {
    got = await ask('elicitation/create', { mode: 'form', message: 'Tell me.', requestedSchema: { properties } })
    end({ stopReason: 'end_turn' })
  })
  const client = clientOf(source, options)
  const failures: string[] = []
  const reply = await client.prompt(
    { text: 'Go.' },
    {
      observe: () => [
        {
          questionAsked: async ({ ask }) => {
            const wrong = client.answer(ask, [['Red'], ['many'], ['Yes'], ['a', 'b']])
            await wrong.catch((error: ReplyError) => failures.push(error.message))
            await client.answer(ask, [['Red'], ['3'], ['Yes'], ['a', 'b']])
          },
        },
      ],
    },
  ).result
  expect(got).toEqual({ action: 'accept', content: { color: 'r', count: 3, sure: true, tags: ['a', 'b'] } })
  expect(failures).toEqual([expect.stringContaining('must be a number, not "many"')])
  expect(reply.asks[0]).toMatchObject({
    status: 'answered',
    questions: [{ header: 'Color' }, { custom: true }, {}, { multiple: true }],
  })
  await client.close()
})

const ofClaude = {
  question_0: { type: 'string', title: 'Color', oneOf: [{ const: 'r', title: 'Red' }] },
  question_0_custom: { type: 'string', title: 'Other' },
}
const none = 'None of the above'
const ofCodex = {
  color: {
    type: 'string',
    title: 'Color',
    oneOf: [
      { const: 'r', title: 'Red' },
      { const: none, title: none },
    ],
  },
  color_note: { type: 'string', title: 'Note', _meta: { codex: { questionId: 'color', role: 'user_note' } } },
}

test.each([
  ['Claude', ofClaude, ['Red'], { question_0: 'r' }],
  ['Claude', ofClaude, ['Mauve'], { question_0_custom: 'Mauve' }],
  ['Codex', ofCodex, ['Red'], { color: 'r' }],
  ['Codex', ofCodex, ['Mauve'], { color: none, color_note: 'Mauve' }],
])("a choice of %s's agent takes words of one's own: %j", async (_, properties, given, content) => {
  let got: unknown
  const { source } = scripted(async ({ ask, end }) => {
    got = await ask('elicitation/create', { mode: 'form', message: 'Which?', requestedSchema: { properties } })
    end({ stopReason: 'end_turn' })
  })
  const client = clientOf(source, options)
  const answering = { questionAsked: async ({ ask }: { readonly ask: Ask }) => await client.answer(ask, [given]) }
  const reply = await client.prompt({ text: 'Go.' }, { observe: () => [answering] }).result
  expect([got, reply.outcome]).toEqual([{ action: 'accept', content }, 'completed'])
  await client.close()
})

test('a permission that the agent withdraws is closed without an answer', async () => {
  const { source, fakes } = scripted(async (turn) => {
    const asked = turn.ask('session/request_permission', {
      toolCall: { toolCallId: 'c1', title: 'ls' },
      options: [{ optionId: 'a', kind: 'allow_once', name: 'Allow' }],
    })
    fakes[0]?.say({ jsonrpc: '2.0', method: '$/cancel_request', params: { requestId: 'a1' } })
    await asked
    turn.end({ stopReason: 'end_turn' })
  })
  const client = clientOf(source, options)
  const reply = await client.prompt({ text: 'Go.' }).result
  expect(reply).toMatchObject({ outcome: 'completed', asks: [{ status: 'withdrawn' }] })
  await client.close()
})

test('a call without arguments shows a person what its title and content say', async () => {
  const { source } = scripted(async ({ ask, say, end }) => {
    const content = [{ type: 'diff', path: '/project/a', oldText: 'x', newText: 'y' }]
    const toolCall = { toolCallId: 'c1', title: 'Edit a', kind: 'edit', status: 'pending', content }
    await ask('session/request_permission', {
      toolCall,
      options: [{ optionId: 'a', kind: 'allow_once', name: 'Allow' }],
    })
    say({ sessionUpdate: 'tool_call_update', toolCallId: 'c1', status: 'completed' })
    end({ stopReason: 'end_turn' })
  })
  const client = clientOf(source, options)
  const observe = () => [
    { permissionAsked: ({ ask }: { ask: Parameters<typeof client.answer>[0] }) => client.answer(ask, 'once') },
  ]
  const reply = await client.prompt({ text: 'Go.' }, { observe }).result
  expect(reply.asks[0]).toMatchObject({
    call: { tool: 'edit', input: { title: 'Edit a', changes: [{ path: '/project/a', oldText: 'x', newText: 'y' }] } },
    always: [],
  })
  expect(toolsOf(reply)).toMatchObject([{ state: { status: 'completed' } }])
  await client.close()
})

test('an agent that dies in the middle of a turn fails it with how it ended, and the next prompt starts it anew', async () => {
  const { source, fakes } = scripted(({ text, say, end }) => {
    say(chunk(text))
    if (text === 'die') return fakes[0]?.die('exited with code 3')
    end({ stopReason: 'end_turn' })
  })
  const client = clientOf(source, fast)
  const reply = await client.prompt({ text: 'die' }).result
  expect(reply).toMatchObject({
    outcome: 'failed',
    error: { message: expect.stringContaining('agent exited with code 3') },
  })
  expect(textOf(reply)).toBe('die')
  const lost = await client.prompt({ text: 'more', sessionID: reply.sessionID }).result
  expect(lost).toMatchObject({ outcome: 'failed', error: { name: 'gone' } })
  expect(textOf(await client.prompt({ text: 'Hello.' }).result)).toBe('Hello.')
  expect(fakes.length).toBe(2)
  await client.close()
})

test('an agent that loads sessions gets them back after it died, without repeating their history', async () => {
  const { source, fakes, heard } = scripted(
    ({ text, say, end }) => {
      if (text === 'die') return fakes[0]?.die('exited with code 3')
      say(chunk(text))
      end({ stopReason: 'end_turn' })
    },
    {},
    (message, fake) => {
      const sessionId = message.params?.sessionId
      if (message.method === 'initialize') {
        const result = { protocolVersion: 1, agentCapabilities: { loadSession: true } }
        fake.say({ jsonrpc: '2.0', id: message.id, result })
      } else if (message.method === 'session/load') {
        fake.say({ jsonrpc: '2.0', method: 'session/update', params: { sessionId, update: chunk('Old words.') } })
        fake.say({ jsonrpc: '2.0', id: message.id, result: {} })
      } else return false
      return true
    },
  )
  const client = clientOf(source, fast)
  const { sessionID } = await client.prompt({ text: 'die' }).result
  expect(textOf(await client.prompt({ text: 'Hello.', sessionID }).result)).toBe('Hello.')
  const other = await client.prompt({ text: 'Hi.', sessionID: 'ses_of_yesterday' }).result
  expect([textOf(other), other.sessionID]).toEqual(['Hi.', 'ses_of_yesterday'])
  expect(heard.filter(({ method }) => method === 'session/load').length).toBe(2)
  await client.close()
})

test('an agent that never answers "initialize" fails prompts with that', async () => {
  const clock = createHandClock()
  const fake = createFake(() => {})
  const settings = toSettings({ ...options, clock, deadlineMs: 5000 })
  const source = createAcpSource(settings, async () => fake.transport)
  const starting = source.session({ sessionID: 'ses_1', directory: undefined })
  const failed = expect(starting).rejects.toThrow('agent did not answer "initialize" within 5000 ms')
  await clock.advance(6000, async () => await new Promise((resolve) => setImmediate(resolve)))
  await failed
  source.close()
})

test.each([
  [{ protocolVersion: 2 }, 'unsupported', 'speaks version 2'],
  [{ hello: 'there' }, 'malformed', 'did not answer "initialize" in ACP'],
])('an agent that answers "initialize" with %o is refused', async (result, type, words) => {
  const { source } = scripted(
    () => {},
    {},
    (message, fake) => {
      fake.say({ jsonrpc: '2.0', id: message.id, result })
      return true
    },
  )
  const error = await source.session({ sessionID: 'ses_1', directory: undefined }).catch((reason: ReplyError) => reason)
  expect(error).toMatchObject({ type, message: expect.stringContaining(words) })
  source.close()
})

test('malformed updates are reported and left out', async () => {
  const errors: string[] = []
  const { source } = scripted(
    ({ say, end }) => {
      say({ sessionUpdate: 'plan', entries: 'many' })
      say({ sessionUpdate: 'agent_message_chunk' })
      say(chunk('Well.'))
      end({ stopReason: 'end_turn' })
    },
    { onError: ({ message }) => errors.push(message) },
  )
  const client = clientOf(source, options)
  expect(textOf(await client.prompt({ text: 'Go.' }).result)).toBe('Well.')
  expect(errors.length).toBe(2)
  await client.close()
})

test('an agent that is still starting ends with its source', async () => {
  const { transport } = createFake(() => {})
  const source = createAcpSource(toSettings(options), async () => transport)
  const connecting = (async () => {
    for await (const _ of source.connect({ signal: new AbortController().signal, directory: undefined })) break
  })()
  await new Promise((resolve) => setImmediate(resolve))
  source.close()
  await expect(transport.ended).resolves.toBe('was ended by SIGTERM')
  await connecting.catch(() => {})
})
