import { createHandClock } from '@reply/testing'
import { seededRandom } from '@reply/testing/internal'
import { expect, test } from 'vitest'
import type { Part, Reply } from '../../src/index.ts'
import { connectSource, type LocalOutput, type LocalRun } from '../../src/source.ts'
import { createScripted } from './local-agent.ts'

/** Writes random output to a run, also to its sub-agents, and ends it. */
function writeRandomly(run: LocalRun, random: () => number, depth = 0): void {
  const pick = <T>(...values: readonly [T, ...T[]]): T => values[Math.floor(random() * values.length)] ?? values[0]
  const id = () => pick('a', 'b', 'c')
  const states = new Map<string, number>()
  const kinds: readonly [() => LocalOutput, ...(() => LocalOutput)[]] = [
    () => ({ type: pick('text', 'reasoning'), delta: pick('One ', 'two.', '') }),
    () => ({ type: pick('text', 'reasoning'), delta: pick('Part ', '😀'), partID: id() }),
    () => ({ type: pick('text', 'reasoning'), replace: pick('', 'Replaced.', 'Again.'), partID: id() }),
    () => ({ type: 'seal' }),
    () => ({ type: 'message', messageID: pick(undefined, `m${id()}${run.promptID}`) }),
    () => toolOutput(id(), states),
    () => ({ type: 'file', mime: 'image/png', url: 'data:image/png;base64,AA==' }),
    () => ({
      type: 'usage',
      stepID: pick(undefined, 's1'),
      tokens: { input: 1, output: 2, reasoning: 0, cacheRead: 0, cacheWrite: 0 },
      cost: 0.5,
    }),
    () => ({ type: 'todos', todos: [{ content: pick('Read', 'Write'), status: 'pending' }] }),
    () => ({ type: 'retry', attempt: 1, message: 'Overloaded.' }),
    () => ({ type: 'compaction', state: pick('started', 'done', 'failed'), auto: true }),
  ]
  for (let count = Math.floor(random() * 25); count > 0; count--) {
    if (depth < 2 && random() < 0.05) writeRandomly(run.child({ title: 'Look', text: 'Look.' }), random, depth + 1)
    run.write(pick(...kinds)())
  }
  const error = { name: 'ProviderError', message: 'It failed.', raw: undefined }
  run.end(pick({ type: 'completed' }, { type: 'aborted' }, { type: 'failed', error }, { type: 'lost', error }))
}

/** The next state of a call. They never go back. */
function toolOutput(callID: string, states: Map<string, number>): LocalOutput {
  const at = states.get(callID) ?? 0
  states.set(callID, at + 1)
  const input = { command: 'ls' }
  const last =
    callID === 'a'
      ? ({ status: 'error', input, error: 'No.' } as const)
      : ({ status: 'completed', input, output: 'a' } as const)
  const state = [{ status: 'pending', input: {} } as const, { status: 'running', input } as const][at] ?? last
  return { type: 'tool', callID, tool: 'bash', state }
}

const partOf = (part: Part) => {
  if (part.type === 'text' || part.type === 'reasoning') return [part.id, part.type, part.status, part.text]
  // The end of a run seals a call that the agent left without a result.
  return [part.id, part.type, part.type === 'tool' ? part.state.status : part.status]
}
const messagesOf = (messages: Reply['messages']) =>
  messages.map(({ id, parts, finish, error }) => [id, parts.map(partOf), finish, error?.name])

test('a session is read as its replies were, whatever its runs wrote', async () => {
  for (let seed = 1; seed <= 100; seed++) {
    const random = seededRandom(seed)
    const agent = createScripted({
      clock: createHandClock(),
      read: async () => {},
      prompt: async (run) => writeRandomly(run, random),
    })
    const client = connectSource(agent.source, { random: () => 0 })
    const first = await client.prompt({ text: 'First.' }).result
    const { sessionID } = first
    const second = await client.prompt({ text: 'Second.', sessionID }).result
    const { messages, todos } = await agent.source
      .startReading()
      .session({ sessionID, directory: undefined }, { messageIDs: [] })
    const read = messages.filter(({ head }) => head.role === 'assistant').map(({ head, parts }) => ({ ...head, parts }))
    expect(messagesOf(read), `seed ${seed}`).toEqual(messagesOf([...first.messages, ...second.messages]))
    expect(todos, `seed ${seed}`).toEqual(second.todos.length > 0 ? second.todos : todos)
    const again = await client.reply(sessionID)
    expect(again && messagesOf(again.messages), `seed ${seed}`).toEqual(messagesOf(second.messages))
    await client.close()
  }
})
