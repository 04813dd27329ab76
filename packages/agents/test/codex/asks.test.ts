import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { askDetails, type PermissionAsk, type Reply, textOf, toolsOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeRequest } from '../../src/codex/decode/request.ts'
import { codex } from '../../src/codex.ts'
import { codexVersions } from './codex-stage.ts'
import { writeProgram, writeReplayProgram } from './replay-program.ts'
import { codexScenes, connectScene } from './scenes.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-codex-asks-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Plays a scene on its recording, whose program ends with an error if it gets another answer than Codex did. */
async function played(version: string, name: string): Promise<Reply> {
  const command = join(folder, `${version}-${name}`)
  writeReplayProgram(command, `${version}/${name}`)
  const stage = connectScene(codex({ command, cwd: folder, graceMs: 200 }))
  const [reply] = (await codexScenes[name]?.play({ ...stage, directory: folder })) ?? []
  await stage.client.close()
  if (!reply) throw new Error(`There is no scene ${name}.`)
  return reply
}

const asksOf = ({ asks }: Reply) => asks.map(({ type, status }) => [type, status])
const callsOf = (reply: Reply) =>
  toolsOf(reply).map(({ tool, state }) => [tool, state.status, state.output ?? state.error])
const shownFor = (ask: PermissionAsk) => askDetails(ask)?.map(({ label, text }) => [label, text])

describe.each(codexVersions)('Codex %s', (version) => {
  test("a call of an MCP server's tool is a permission that shows the whole call, never a question", async () => {
    const reply = await played(version, 'mcp')
    expect(asksOf(reply)).toEqual([
      ['permission', 'answered'],
      ['permission', 'answered'],
    ])
    const [ask] = reply.asks
    expect(ask).toMatchObject({
      permission: 'pictures_draw',
      title: 'Allow the pictures MCP server to run tool "draw"?',
      always: ['every call of pictures_draw in this session'],
      callID: toolsOf(reply)[0]?.callID,
      call: { tool: 'pictures_draw', input: { arguments: { subject: 'a house', size: { width: 2, height: 3 } } } },
    })
    const shown = ask?.type === 'permission' ? JSON.stringify(shownFor(ask)) : ''
    for (const text of ['a house', 'width', 'height', 'Draws a picture.']) expect(shown).toContain(text)
    expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'They are drawn.'])
  })

  test('"always" allows calls of that tool in the session, and changes no settings', async () => {
    const reply = await played(version, 'mcp-always')
    expect(asksOf(reply)).toEqual([['permission', 'answered']])
    expect(callsOf(reply).map(([, status]) => status)).toEqual(['completed', 'completed'])
  })

  test('what an MCP server asks approval for is a permission with a call of its own', async () => {
    const reply = await played(version, 'mcp-own')
    expect(callsOf(reply)).toEqual([
      ['pictures_print', 'completed', '{"action":"accept","content":{}}'],
      ['pictures_page', 'completed', 'Allowed.'],
    ])
    const [, ask] = reply.asks
    expect(ask).toMatchObject({ type: 'permission', title: 'Print it?', always: [], status: 'answered' })
    const shown = ask?.type === 'permission' ? JSON.stringify(shownFor(ask)) : ''
    for (const text of ['paper', 'A4', 'copies', '2']) expect(shown).toContain(text)
  })

  test('a rejected call of an MCP server does not run', async () => {
    const reply = await played(version, 'mcp-rejected')
    expect(asksOf(reply)).toEqual([
      ['permission', 'rejected'],
      ['permission', 'rejected'],
    ])
    expect(callsOf(reply)).toEqual([
      ['pictures_draw', 'error', 'user rejected MCP tool call'],
      ['pictures_draw', 'error', 'user rejected MCP tool call'],
    ])
  })

  test.each([
    ['form', 'answered', 'completed'],
    ['form-declined', 'rejected', 'completed'],
    ['form-aborted', 'rejected', 'aborted'],
  ] as const)('a form of an MCP server is a question for each field: %s', async (name, status, outcome) => {
    const reply = await played(version, name)
    expect(asksOf(reply)).toEqual([
      ['permission', 'answered'],
      ['question', status],
    ])
    expect(reply.asks[1]).toMatchObject({
      callID: toolsOf(reply)[0]?.callID,
      questions: [
        {
          header: 'Color',
          question: 'forms asks: What do you order?\n\nColor',
          options: [{ label: 'red' }, { label: 'blue' }],
        },
        { header: 'Count', question: 'How many?', custom: true },
        { header: 'Wrapped', options: [{ label: 'Yes' }, { label: 'No' }] },
      ],
    })
    expect(reply.outcome).toBe(outcome)
  })

  test('an address that an MCP server wants visited is a question', async () => {
    const reply = await played(version, 'link')
    expect(reply.asks[1]).toMatchObject({
      type: 'question',
      status: 'answered',
      questions: [
        { question: 'forms asks: Log in first.\n\n<https://example.com/login>', options: [{ label: 'Done' }] },
      ],
    })
    expect(textOf(reply)).toBe('You are logged in.')
  })

  test.each([
    ['rights', 'answered', 'completed', 'Granted until the end of the turn.'],
    ['rights-always', 'answered', 'completed', 'Granted until the end of the session.'],
    ['rights-rejected', 'rejected', 'error', 'The call was rejected.'],
  ] as const)(
    'rights beyond the sandbox are a permission that shows all of them: %s',
    async (name, status, end, text) => {
      const reply = await played(version, name)
      expect(asksOf(reply)).toEqual([['permission', status]])
      expect(callsOf(reply)).toEqual([['request_permissions', end, text]])
      const [ask] = reply.asks
      const shown = ask?.type === 'permission' ? JSON.stringify(shownFor(ask)) : ''
      for (const right of ['network', 'enabled', '/etc', 'read', '/opt', 'write', 'I must read the hosts.', 'local'])
        expect(shown).toContain(right)
      expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'So be it.'])
    },
  )
})

const ofTurn = { threadId: 'root', turnId: 'turn' }
const approval = (more: object, tool: object = { tool_name: 'draw' }) => ({
  ...ofTurn,
  serverName: 'pictures',
  mode: 'form',
  message: 'Allow it?',
  requestedSchema: { type: 'object', properties: {} },
  _meta: { codex_approval_kind: 'mcp_tool_call', ...tool, ...more },
})

test.each([
  [
    'an approval of another kind',
    'mcpServer/elicitation/request',
    approval({ codex_approval_kind: 'tool_suggestion' }),
  ],
  [
    'an approval that is an address',
    'mcpServer/elicitation/request',
    { ...approval({}), mode: 'url', url: 'https://a.b' },
  ],
  ['a form of another kind', 'mcpServer/elicitation/request', { ...approval({}), _meta: null, mode: 'openai/form' }],
  [
    'an address that is not on the web',
    'mcpServer/elicitation/request',
    { ...approval({}), _meta: null, mode: 'url', url: 'javascript:a' },
  ],
  [
    'a form with fields that are malformed',
    'mcpServer/elicitation/request',
    { ...approval({}), _meta: null, requestedSchema: { properties: { a: { enum: [{}] } } } },
  ],
  [
    'a command of another kind',
    'item/commandExecution/requestApproval',
    { ...ofTurn, itemId: 'c', kind: 'humanCommand' },
  ],
  ['rights that are no fields', 'item/permissions/requestApproval', { ...ofTurn, itemId: 'c', permissions: 'all' }],
  ['another request', 'item/tool/call', { ...ofTurn, callId: 'c', tool: 'look', arguments: {} }],
])('%s is refused, and the error names the request', async (name, method, params) => {
  expect(decodeRequest(method, params)).toBeUndefined()
  const command = join(folder, `refused ${name}`)
  writeProgram(command, [
    { from: 'us', line: { id: 3, method: 'turn/start', params: { threadId: 'root' } } },
    { from: 'codex', line: { id: 3, result: { turn: { id: 'turn' } } } },
    { from: 'codex', line: { method: 'turn/started', params: { threadId: 'root', turn: { id: 'turn' } } } },
    { from: 'codex', line: { id: 0, method, params } },
    { from: 'us', line: { id: 0, error: { code: -32601, message: `${method} is not supported.` } } },
    {
      from: 'codex',
      line: { method: 'turn/completed', params: { threadId: 'root', turn: { id: 'turn', status: 'completed' } } },
    },
  ])
  const errors: string[] = []
  const client = connectSource(codex({ command, graceMs: 200, onError: ({ message }) => errors.push(message) }))
  const reply = await client.prompt({ text: 'Go.' }).result
  await client.close()
  expect([reply.outcome, reply.asks]).toEqual(['completed', []])
  expect(errors).toEqual([
    expect.stringContaining(`sent the request ${method}, which is not supported in this form. It was refused.`),
  ])
})

// Not recorded, because a script can't know the id of the running command. The shape is that of
// `codex app-server generate-ts` 0.150.0 and 0.169.0.
test('input to a running command is a permission that shows the input, and is refused without it', () => {
  const params = { ...ofTurn, itemId: 'c', kind: 'writeStdin', command: "write_stdin --session-id 42 'yes'" }
  expect(decodeRequest('item/commandExecution/requestApproval', params)).toMatchObject({
    permission: 'bash',
    more: { kind: 'input to the running command', command: "write_stdin --session-id 42 'yes'" },
  })
  expect(decodeRequest('item/commandExecution/requestApproval', { ...params, command: null })).toBeUndefined()
})

test.each([
  ['is shown in the turn that goes on, if Codex knows of none', ofTurn.threadId, null, ['question']],
  ['is refused, if its thread has no run', 'another', null, []],
  ['is refused, if its turn has no run', ofTurn.threadId, 'another', []],
] as const)('a form %s', async (name, threadId, turnId, shown) => {
  const form = { ...approval({}), _meta: null, threadId, turnId }
  const answer =
    shown.length > 0
      ? { id: 0, result: { content: {}, _meta: null, action: 'accept' } }
      : { id: 0, error: { code: -32601, message: 'mcpServer/elicitation/request is not supported.' } }
  const command = join(folder, `form ${name}`)
  writeProgram(command, [
    { from: 'us', line: { id: 3, method: 'turn/start', params: { threadId: 'root' } } },
    { from: 'codex', line: { id: 3, result: { turn: { id: 'turn' } } } },
    { from: 'codex', line: { method: 'turn/started', params: { threadId: 'root', turn: { id: 'turn' } } } },
    { from: 'codex', line: { id: 0, method: 'mcpServer/elicitation/request', params: form } },
    { from: 'us', line: answer },
    {
      from: 'codex',
      line: { method: 'turn/completed', params: { threadId: 'root', turn: { id: 'turn', status: 'completed' } } },
    },
  ])
  const errors: string[] = []
  const client = connectSource(codex({ command, graceMs: 200, onError: ({ message }) => errors.push(message) }))
  const reply = await client.prompt(
    { text: 'Go.' },
    { observe: () => [{ questionAsked: ({ ask }) => void client.answer(ask, [['Yes']]) }] },
  ).result
  await client.close()
  expect([reply.outcome, reply.asks.map(({ type }) => type)]).toEqual(['completed', shown])
  const refused = 'which belongs to no run that is open. It was refused.'
  expect(errors).toEqual(shown.length > 0 ? [] : [expect.stringContaining(refused)])
})

const begun = (id: string, tool: string, args: object) => ({
  from: 'codex',
  line: {
    method: 'item/started',
    params: {
      ...ofTurn,
      item: { type: 'mcpToolCall', id, server: 'pictures', tool, status: 'inProgress', arguments: args },
    },
  },
})

test.each([
  ['the call with its arguments', { tool_params: { subject: 'a tree' } }, { tool_name: 'draw' }, 'two'],
  ['the call of its tool', { tool_params: { subject: 'a house' } }, { tool_name: 'print' }, 'three'],
  ['a call of its own, if none has its arguments', { tool_params: { subject: 'a cat' } }, { tool_name: 'draw' }, 'own'],
  ['no call, if none has its arguments and no tool is named', { tool_params: { subject: 'a cat' } }, {}, undefined],
  ['no call, if several tools may be meant', { tool_params: { subject: 'a house' } }, {}, undefined],
])('an approval shows %s, so that a person never allows another one', async (name, more, tool, callID) => {
  const command = join(folder, `matched ${name}`)
  writeProgram(command, [
    { from: 'us', line: { id: 3, method: 'turn/start', params: { threadId: 'root' } } },
    { from: 'codex', line: { id: 3, result: { turn: { id: 'turn' } } } },
    { from: 'codex', line: { method: 'turn/started', params: { threadId: 'root', turn: { id: 'turn' } } } },
    begun('one', 'draw', { subject: 'a house' }),
    begun('two', 'draw', { subject: 'a tree' }),
    begun('three', 'print', { subject: 'a house' }),
    { from: 'codex', line: { id: 0, method: 'mcpServer/elicitation/request', params: approval(more, tool) } },
    { from: 'us', line: { id: 0, result: { action: 'decline', content: null, _meta: null } } },
    {
      from: 'codex',
      line: { method: 'turn/completed', params: { threadId: 'root', turn: { id: 'turn', status: 'completed' } } },
    },
  ])
  const client = connectSource(codex({ command, graceMs: 200 }))
  const reply = await client.prompt(
    { text: 'Go.' },
    { observe: () => [{ permissionAsked: ({ ask }) => void client.reject(ask) }] },
  ).result
  await client.close()
  const [ask] = reply.asks
  expect([ask?.type, ask?.callID]).toEqual(['permission', callID === 'own' ? expect.stringMatching(/\.call$/) : callID])
  if (ask?.type === 'permission') expect(askDetails(ask) === undefined).toBe(callID === undefined)
})

/** What an agent in place of Codex sends in a turn in which it asks for one thing, and what it gets as the answer. */
const askingTurn = (lines: readonly object[], answer: object) => [
  { from: 'us', line: { id: 3, method: 'turn/start', params: { threadId: 'root' } } },
  { from: 'codex', line: { id: 3, result: { turn: { id: 'turn' } } } },
  { from: 'codex', line: { method: 'turn/started', params: { threadId: 'root', turn: { id: 'turn' } } } },
  ...lines.map((line) => ({ from: 'codex', line })),
  { from: 'us', line: answer },
  {
    from: 'codex',
    line: { method: 'turn/completed', params: { threadId: 'root', turn: { id: 'turn', status: 'completed' } } },
  },
]

/** The item of a call that has begun. */
const started = (item: object) => ({ method: 'item/started', params: { ...ofTurn, item } })

/** The only permission of that turn as it is when it is rejected, in its details. */
async function shownIn(name: string, lines: readonly object[], answer: object): Promise<string> {
  const command = join(folder, name)
  writeProgram(command, askingTurn(lines, answer))
  const client = connectSource(codex({ command, graceMs: 200 }))
  const { asks, outcome } = await client.prompt(
    { text: 'Go.' },
    { observe: () => [{ permissionAsked: ({ ask }) => void client.reject(ask) }] },
  ).result
  await client.close()
  const [ask] = asks
  expect([asks.length, outcome]).toEqual([1, 'completed'])
  return ask?.type === 'permission' ? JSON.stringify(shownFor(ask)) : ''
}

// The shape is that of `codex app-server generate-json-schema` 0.169.0.
test('a change of files shows what happens to each file, so that a deletion never looks like a new file', async () => {
  const changes = [
    { path: '/project/a', kind: { type: 'delete' }, diff: 'text' },
    { path: '/project/b', kind: { type: 'update', move_path: '/etc/b' }, diff: '@@ -1 +1 @@' },
  ]
  const shown = await shownIn(
    'changes',
    [
      started({ type: 'fileChange', id: 'c', status: 'inProgress', changes }),
      { id: 0, method: 'item/fileChange/requestApproval', params: { ...ofTurn, itemId: 'c' } },
    ],
    { id: 0, result: { decision: 'decline' } },
  )
  for (const text of ['/project/a', 'delete', 'update', '/etc/b']) expect(shown).toContain(text)
})

test('a command in another environment shows where it runs', async () => {
  const shown = await shownIn(
    'environment',
    [
      started({ type: 'commandExecution', id: 'c', status: 'inProgress', command: 'ls', cwd: '/project' }),
      {
        id: 0,
        method: 'item/commandExecution/requestApproval',
        params: { ...ofTurn, itemId: 'c', command: 'ls', cwd: '/project', environmentId: 'production' },
      },
    ],
    { id: 0, result: { decision: 'decline' } },
  )
  expect(shown).toContain('production')
})

test('a call with the id of a request for rights never hides the rights', async () => {
  const permissions = { fileSystem: { write: ['/etc'] } }
  const shown = await shownIn(
    'hidden rights',
    [
      { id: 0, method: 'item/permissions/requestApproval', params: { ...ofTurn, itemId: 'c', permissions } },
      started({ type: 'commandExecution', id: 'c', status: 'inProgress', command: 'ls', cwd: '/project' }),
    ],
    { id: 0, result: { permissions: {}, scope: 'turn' } },
  )
  expect(shown).toContain('/etc')
})
