import { idOf, pieceOf } from './turn.ts'

/** The maximum deltas in one text, as in the turns of version 1. */
const textDeltas = 5000

const directory = '/project'
const model = { id: 'm1', providerID: 'fake' }

/**
 * Returns one generated run of a new session: the frames as JSON, written as the preview build of OpenCode 2 writes
 * them in its recordings. Steps of one text and one tool call each, until the deltas are used up. The same for the same
 * number.
 */
export function generateSecondTurn(deltas: number): readonly string[] {
  const frames: string[] = []
  let created = 1_790_000_000_000
  let seq = 0
  let count = 0
  const sessionID = newID('ses')
  const inputID = newID('msg')
  const session = { id: sessionID, projectID: 'global', directory, title: 'A generated session' }

  addStored('session.created', { info: { ...session, time: { created, updated: created } } })
  const input = { type: 'user', data: { text: 'Please tell.' }, delivery: 'steer' }
  addStored('session.input.admitted', { inputID, input })
  addStored('session.execution.started', {}, 'everywhere')
  addStored('session.input.promoted', { inputID })
  for (let left = deltas; left > 0; left -= textDeltas) addStep(Math.min(left, textDeltas), left <= textDeltas)
  addStored('session.execution.succeeded', {}, 'everywhere')
  return frames

  /** Adds a step: a text of `deltaCount` deltas, and a tool call unless it is the last step. */
  function addStep(deltaCount: number, isLast: boolean): void {
    const step = { assistantMessageID: newID('msg') }
    const tokens = { input: 120, output: deltaCount, reasoning: 0, cache: { read: 0, write: 0 } }
    addStored('session.step.started', { ...step, agent: 'build', model, snapshot: newID('tree') })
    addText(step, deltaCount)
    if (!isLast) addTool(step)
    const finish = isLast ? 'stop' : 'tool-calls'
    addStored('session.step.ended', { ...step, finish, cost: 0, tokens, snapshot: newID('tree'), files: [] })
    addFrame('session.usage.updated', { data: { sessionID, cost: 0, tokens } })
  }

  /** Adds the start, `deltaCount` deltas and the end of a text. */
  function addText(stepFields: object, deltaCount: number): void {
    const part = { ...stepFields, ordinal: 0 }
    const pieces = Array.from({ length: deltaCount }, (_, index) => pieceOf(index))
    addStored('session.text.started', part)
    for (const delta of pieces) addUnstored('session.text.delta', { ...part, delta })
    addStored('session.text.ended', { ...part, text: pieces.join('') })
  }

  /** Adds a tool call from its input to its success. */
  function addTool(stepFields: object): void {
    const call = { ...stepFields, callID: newID('call') }
    const input = { command: 'npm test', description: 'Runs the tests' }
    const text = JSON.stringify(input)
    addStored('session.tool.input.started', { ...call, name: 'shell' })
    addUnstored('session.tool.input.delta', { ...call, delta: text })
    addStored('session.tool.input.ended', { ...call, text })
    addStored('session.tool.called', { ...call, input, executed: false })
    addUnstored('session.tool.progress', { ...call, metadata: { shellID: newID('sh') } })
    const content = [{ type: 'text', text: 'ok\n'.repeat(200) }]
    addStored('session.tool.success', { ...call, content, metadata: { truncated: false, exit: 0 }, executed: false })
  }

  /** Adds an event that the server stores. With "everywhere", as for executions, it names no directory. */
  function addStored(type: string, data: object, where: 'here' | 'everywhere' = 'here'): void {
    const durable = { aggregateID: sessionID, seq, version: 1 }
    seq += 1
    addFrame(type, { durable, ...(where === 'here' && { location: { directory } }), data: { sessionID, ...data } })
  }

  /** Adds an event that the server only streams. */
  function addUnstored(type: string, data: object): void {
    addFrame(type, { location: { directory }, data: { sessionID, ...data } })
  }

  /** Adds a frame, a millisecond after the one before. */
  function addFrame(type: string, fields: object): void {
    created += 1
    frames.push(JSON.stringify({ id: newID('evt'), created, type, ...fields }))
  }

  /** Returns a new id, greater than all before. */
  function newID(prefix: string): string {
    count += 1
    return idOf(prefix, count, '')
  }
}
