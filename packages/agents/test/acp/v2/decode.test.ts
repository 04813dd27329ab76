import type { LocalOutput } from '@reply/core/source'
import { expect, test } from 'vitest'
import { type DecodedV2, decodeUpdate, type SessionState } from '../../../src/acp/decode/v2/update.ts'

/** Decodes updates one after the other, as a session does. */
function decoded(...updates: readonly ({ readonly sessionUpdate: string } & Record<string, unknown>)[]) {
  let state: SessionState = { calls: new Map(), costBefore: 0, cost: 0, terminals: new Map(), texts: { parts: {} } }
  const all = updates.map((update) => {
    const one = decodeUpdate(update, state)
    if (one) state = next(state, one)
    return one
  })
  const outputs = all.flatMap((one): readonly LocalOutput[] => one?.outputs ?? [])
  return { all, outputs, last: all.at(-1), state }
}

function next(state: SessionState, { call, calls = [], terminal, texts, cost }: DecodedV2): SessionState {
  const changed = [...calls, ...(call ? [call] : [])]
  return {
    ...state,
    calls: new Map([...state.calls, ...changed.map((one) => [one.toolCallId, one] as const)]),
    terminals: new Map([...state.terminals, ...(terminal ? [[terminal.terminalID, terminal] as const] : [])]),
    texts: texts ?? state.texts,
    cost: cost ?? state.cost,
  }
}

const chunk = (text: string, messageId = 'm1') => ({
  sessionUpdate: 'agent_message_chunk',
  messageId,
  content: { type: 'text', text },
})

const base64 = (text: string | Uint8Array) => Buffer.from(text).toString('base64')

const bash = {
  sessionUpdate: 'tool_call_update',
  toolCallId: 'c1',
  name: 'Bash',
  title: 'ls',
  kind: 'execute',
  status: 'in_progress',
  rawInput: { command: 'ls' },
  content: [{ type: 'terminal', terminalId: 't1' }],
}

const toolsIn = (outputs: readonly LocalOutput[]) =>
  outputs.flatMap((output) => (output.type === 'tool' ? [output.state] : []))

test('chunks of a message append to its part until something else comes in between', () => {
  const { outputs } = decoded(chunk('I '), chunk('look.'), bash, chunk('I looked.'))
  const parts = outputs.flatMap((output) => ('delta' in output ? [[output.delta, output.partID]] : []))
  expect(parts).toEqual([
    ['I ', 'text m1 1'],
    ['look.', 'text m1 1'],
    ['I looked.', 'text m1 2'],
  ])
})

test('a whole message replaces what its chunks wrote, and an empty one removes it', () => {
  const whole = { sessionUpdate: 'agent_message', messageId: 'm1', content: [{ type: 'text', text: 'No.' }] }
  const fields = { type: 'text', messageID: 'm1' }
  expect(decoded(chunk('Yes.'), bash, chunk('Or so.'), whole).outputs.slice(-2)).toEqual([
    { ...fields, partID: 'text m1 2', replace: '' },
    { ...fields, partID: 'text m1 1', replace: 'No.' },
  ])
  expect(decoded(chunk('Yes.'), { ...whole, content: null }).outputs.slice(-1)).toEqual([
    { ...fields, partID: 'text m1 1', replace: '' },
  ])
  expect(decoded(whole).outputs).toMatchObject([{ type: 'text', delta: 'No.', messageID: 'm1' }])
  expect(decoded(chunk('Yes.'), { sessionUpdate: 'agent_message', messageId: 'm1' }).last).toEqual({})
  expect(decoded({ ...whole, content: [] }).outputs).toEqual([])
})

test('a call keeps what an update leaves out, and null clears it', () => {
  const { outputs } = decoded(
    bash,
    { sessionUpdate: 'tool_call_update', toolCallId: 'c1', status: 'completed', rawOutput: 'README.md' },
    { sessionUpdate: 'tool_call_update', toolCallId: 'c1', status: null, rawOutput: null, content: null, title: null },
  )
  expect(toolsIn(outputs)).toMatchObject([
    { status: 'running', title: 'ls', input: { command: 'ls' } },
    { status: 'completed', title: 'ls', input: { command: 'ls' }, output: 'README.md' },
    { status: 'pending', title: undefined, output: undefined, metadata: { kind: 'execute' } },
  ])
  expect(toolsIn(outputs)[2]?.metadata).not.toHaveProperty('content')
})

test('the metadata of a call is merged by name', () => {
  const { state } = decoded(
    { ...bash, _meta: { a: 1, b: 2 } },
    { sessionUpdate: 'tool_call_update', toolCallId: 'c1', _meta: { b: null, c: 3 } },
  )
  expect(state.calls.get('c1')?._meta).toEqual({ a: 1, c: 3 })
})

test('content that comes in pieces is appended to the call', () => {
  const piece = (text: string) => ({
    sessionUpdate: 'tool_call_content_chunk',
    toolCallId: 'c1',
    content: { type: 'content', content: { type: 'text', text } },
  })
  const done = { sessionUpdate: 'tool_call_update', toolCallId: 'c1', status: 'completed' }
  expect(toolsIn(decoded({ ...bash, content: [] }, piece('one'), piece('two'), done).outputs).at(-1)).toMatchObject({
    output: 'one\ntwo',
  })
})

test('a command shows the output of its terminal, also a character that is cut in two', () => {
  const bytes = Buffer.from('Grüße')
  const { outputs } = decoded(
    { sessionUpdate: 'terminal_update', terminalId: 't1', command: 'ls' },
    bash,
    { sessionUpdate: 'terminal_output_chunk', terminalId: 't1', data: base64(bytes.subarray(0, 3)) },
    { sessionUpdate: 'terminal_output_chunk', terminalId: 't1', data: base64(bytes.subarray(3)) },
    { sessionUpdate: 'terminal_update', terminalId: 't1', exitStatus: { exitCode: 0 } },
    { sessionUpdate: 'tool_call_update', toolCallId: 'c1', status: 'completed' },
    { sessionUpdate: 'terminal_update', terminalId: 't1', output: { data: base64('New.') } },
    { sessionUpdate: 'terminal_update', terminalId: 't1', output: null },
  )
  expect(toolsIn(outputs).map(({ status, output, metadata }) => [status, output, metadata?.output])).toEqual([
    ['running', undefined, ''],
    ['running', undefined, 'Gr'],
    ['running', undefined, 'Grüße'],
    ['completed', 'Grüße', 'Grüße'],
    ['completed', 'New.', 'New.'],
    ['completed', '', ''],
  ])
})

test('a state tells whether the session works, and why it stopped', () => {
  const state = (fields: object) => decoded({ sessionUpdate: 'state_update', ...fields }).last?.state
  const usage = { inputTokens: 120, outputTokens: 24, cachedReadTokens: 0, totalTokens: 144 }
  expect(state({ state: 'running' })).toEqual({ type: 'running' })
  expect(state({ state: 'requires_action' })).toEqual({ type: 'running' })
  expect(state({ state: 'sleeping' })).toBe(undefined)
  expect(state({ state: 'idle' })).toEqual({ type: 'idle', ending: { type: 'completed' }, usage: [] })
  expect(state({ state: 'idle', stopReason: 'cancelled', usage })).toMatchObject({
    ending: { type: 'aborted' },
    usage: [{ type: 'usage', tokens: { input: 120, output: 24 } }],
  })
  const error = { code: -32000, message: 'Authentication required' }
  expect(state({ state: 'idle', stopReason: 'error', error })).toMatchObject({
    ending: { type: 'failed', error: { name: 'unauthorized', statusCode: 401 } },
  })
  expect(state({ state: 'idle', stopReason: 'error' })).toMatchObject({ ending: { type: 'failed' } })
})

test('a sub-agent is told with its state and whether it can be canceled', () => {
  const child = (fields: object) =>
    decoded({ sessionUpdate: 'subagent_update', sessionId: 's2', ...fields }).last?.subagent
  expect(child({ title: 'Look', capabilities: { cancel: {} }, state: { state: 'running' } })).toEqual({
    sessionID: 's2',
    title: 'Look',
    isCancelable: true,
    state: 'running',
  })
  expect(child({ capabilities: { cancel: null } })).toEqual({ sessionID: 's2', isCancelable: false })
  expect(child({ state: { state: 'idle', stopReason: 'error', error: { code: 1, message: 'No.' } } })).toMatchObject({
    state: { type: 'failed', error: { message: 'No.' } },
  })
})

test('a plan of items is the checklist, and a plan of text is not', () => {
  const plan = (fields: object) => decoded({ sessionUpdate: 'plan_update', plan: { planId: 'p', ...fields } }).outputs
  expect(plan({ type: 'items', entries: [{ content: 'Read', status: 'pending', priority: 'medium' }] })).toEqual([
    { type: 'todos', todos: [{ content: 'Read', status: 'pending', priority: 'medium' }] },
  ])
  expect(plan({ type: 'markdown', content: '# Plan' })).toEqual([])
})

test('a kind of a later version is named, and a malformed update is undefined', () => {
  expect(decoded({ sessionUpdate: 'telepathy_update' }).last).toEqual({ unknownKind: 'telepathy_update' })
  expect(decoded({ sessionUpdate: 'toString' }).last).toEqual({ unknownKind: 'toString' })
  expect(decoded({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'Whose?' } }).last).toBe(
    undefined,
  )
  expect(decoded({ sessionUpdate: 'state_update' }).last).toBe(undefined)
})
