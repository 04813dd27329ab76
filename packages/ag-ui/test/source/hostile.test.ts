import { textOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { seededRandom } from '@reply/testing/internal'
import { expect, test } from 'vitest'
import { agUi } from '../../src/index.ts'
import { call, result, say, startFakeAgent } from './fake-agent.ts'
import { partsOf, stage } from './stage.ts'

const seeds = Number(process.env.REPLY_AG_UI_SEEDS ?? 60)

/** Every kind of event, with the fields that any has. */
const types = [
  ...['TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END', 'TEXT_MESSAGE_CHUNK'],
  ...['TOOL_CALL_START', 'TOOL_CALL_ARGS', 'TOOL_CALL_END', 'TOOL_CALL_CHUNK', 'TOOL_CALL_RESULT'],
  ...['REASONING_START', 'REASONING_MESSAGE_START', 'REASONING_MESSAGE_CONTENT', 'REASONING_MESSAGE_CHUNK'],
  ...['REASONING_MESSAGE_END', 'REASONING_END', 'REASONING_ENCRYPTED_VALUE', 'STEP_STARTED', 'STEP_FINISHED'],
  ...['STATE_SNAPSHOT', 'STATE_DELTA', 'ACTIVITY_SNAPSHOT', 'ACTIVITY_DELTA', 'RAW', 'CUSTOM', 'NO_SUCH_TYPE'],
  ...['SUBAGENT_STARTED', 'SUBAGENT_FINISHED', 'SUBAGENT_ERROR', 'RUN_STARTED', 'RUN_FINISHED', 'MESSAGES_SNAPSHOT'],
]

/** Makes an event with fields that may be missing, wrong, or another event's. */
function randomEvent(random: () => number): Readonly<Record<string, unknown>> {
  const pick = (...values: readonly unknown[]): unknown => values[Math.floor(random() * values.length)]
  const id = (): unknown => pick('a', 'b', 'c', '', null, undefined, 7, {}, '__proto__')
  const event: Record<string, unknown> = { type: pick(...types, ...types, ...types, null, 7) }
  for (const field of ['messageId', 'toolCallId', 'subagentRunId', 'parentSubagentRunId', 'parentToolCallId'])
    if (random() < 0.4) event[field] = id()
  event.delta = pick('word ', '{"a":', '1}', '', null, 7, [], [{ op: 'add', path: '/__proto__/x', value: 1 }])
  event.content = pick('result', null, {}, [{ type: 'image', source: null }], { todos: 'none' }, [7])
  event.toolCallName = pick('list', 'task', undefined, null, {})
  event.role = pick('assistant', undefined, 'user', 7)
  event.outcome = pick(
    undefined,
    null,
    'success',
    { type: 'interrupt' },
    { type: 'interrupt', interrupts: [{ id: 7 }] },
  )
  event.usage = pick(undefined, null, 7, [{ inputTokens: -1 }, null], { inputTokens: 'x' })
  event.messages = pick(undefined, [], [7, { id: 'a' }], [{ id: 'a', role: 'assistant', toolCalls: [{ id: 'a' }] }])
  event.snapshot = pick(undefined, {}, [])
  return event
}

test('random events in any order neither throw nor take back what was said', async () => {
  for (let seed = 1; seed <= seeds; seed++) {
    const random = seededRandom(seed)
    const events = Array.from({ length: 60 }, () => randomEvent(random))
    const run = async function* () {
      yield* say('said', 'This was said.')
      yield* events
      yield* say('last', 'And this.')
      yield { type: 'RUN_FINISHED' }
    }
    const client = connectSource(agUi({ agent: { run } }))
    const reply = await client.prompt({ text: 'Hi' }).result
    expect(reply.outcome, `seed ${seed}`).toBe('completed')
    expect(textOf(reply), `seed ${seed}`).toContain('This was said.')
    expect(textOf(reply), `seed ${seed}`).toContain('And this.')
    const again = await client.prompt({ text: 'Again', sessionID: reply.sessionID }).result
    expect(again.outcome, `seed ${seed}`).toBe('completed')
    await client.close()
  }
})

test('a stream is read the same however its bytes are cut', async () => {
  const events = [
    { type: 'RUN_STARTED' },
    ...say('m1', 'Ünïcödé 😀 und mehr.'),
    ...call('c1', 'list', { path: 'Ordner/ä' }),
    result('c1', '✓'),
    { type: 'RUN_FINISHED' },
  ]
  const bytes = new TextEncoder().encode(
    `: a comment\r\n\r\nnonsense\n\ndata: {broken\n\n${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}`,
  )
  const expected = [
    ['text', 'Ünïcödé 😀 und mehr.'],
    ['list', 'completed', { path: 'Ordner/ä' }, '✓'],
  ]
  await using agent = await stage(async ({ write, response, text }) => {
    const random = seededRandom(Number(text))
    for (let at = 0; at < bytes.length; ) {
      const end = at + 1 + Math.floor(random() * 40)
      write(bytes.subarray(at, end))
      at = end
      await new Promise((resolve) => setImmediate(resolve))
    }
    // The last frame may lack its blank line.
    response.end()
    return undefined
  })
  for (let seed = 1; seed <= 10; seed++)
    expect(partsOf(await agent.client.prompt({ text: String(seed) }).result), `seed ${seed}`).toEqual(expected)
  expect(agent.errors.map(({ message }) => message).slice(0, 2)).toEqual([
    expect.stringContaining('not a server-sent event'),
    expect.stringContaining('not JSON'),
  ])
})

test('a frame that is too large is dropped and reported, and what surrounds it is shown', async () => {
  await using agent = await stage(({ send, write, finish }) => {
    send(...say('m1', 'Before.'))
    const megabyte = 'x'.repeat(1024 * 1024)
    write('data: {"type":"TEXT_MESSAGE_CHUNK","messageId":"big","delta":"')
    for (let at = 0; at < 20; at++) write(megabyte)
    write('"}\n\n')
    send(...say('m2', 'After.'))
    finish()
    return undefined
  })
  const reply = await agent.client.prompt({ text: 'Hi' }).result
  expect(textOf(reply)).toBe('Before.\n\nAfter.')
  expect(agent.errors.map(({ type }) => type)).toEqual(['too-large'])
})

test('a hostile agent fills no memory with names of events', async () => {
  const agent = await startFakeAgent(({ send, finish }) => {
    for (let at = 0; at < 500; at++) send({ type: `TYPE_${at}` })
    finish()
    return undefined
  })
  const errors: unknown[] = []
  const client = connectSource(agUi({ url: agent.url, onError: (error) => errors.push(error) }))
  expect((await client.prompt({ text: 'Hi' }).result).outcome).toBe('completed')
  expect(errors).toHaveLength(100)
  await client.close()
  await agent.close()
})

test('values that JSON does not have, and a sub-agent that is its own parent, stop nothing', async () => {
  const cyclic: Record<string, unknown> = { type: 'TOOL_CALL_RESULT', toolCallId: 'c1' }
  cyclic.content = cyclic
  const run = async function* () {
    yield { type: 'STATE_SNAPSHOT', snapshot: { call: () => {} } }
    yield { type: 'STATE_DELTA', delta: [{ op: 'add', path: '/a', value: 1 }] }
    yield cyclic
    yield { type: 'SUBAGENT_STARTED', subagentRunId: 'a', parentSubagentRunId: 'a', name: 'a' }
    yield* say('m1', 'Looking.', { subagentRunId: 'a' })
    yield* say('m2', 'Still here.')
    await new Promise(() => {})
  }
  const errors: string[] = []
  const source = agUi({ agent: { run }, onError: ({ message }) => errors.push(message) })
  const client = connectSource(source)
  const stream = client.prompt({ text: 'Hi' })
  for await (const _ of stream.text) break
  const reply = await stream.abort()
  const [child] = await source.children({ sessionID: reply.sessionID, directory: undefined })
  expect(child?.sessionID).toBe(reply.children[0]?.reply.sessionID)
  expect([reply.outcome, textOf(reply), reply.children.length]).toEqual(['aborted', 'Still here.', 1])
  expect(errors).toEqual([expect.stringContaining('Skipped an event')])
  await client.close()
})
