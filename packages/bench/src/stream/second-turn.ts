import { idOf, pieceOf } from './turn.ts'

/** The maximum deltas in one text, as in the turns of version 1. */
const textDeltas = 5000

const directory = '/project'
const model = { id: 'm1', providerID: 'fake' }

/**
 * One generated run of a session: the frames as JSON, written as the preview build of OpenCode 2 writes them in its
 * recordings. Steps of one text and one tool call each, until the deltas are used up.
 */
export function generateSecondTurn({ deltas }: { readonly deltas: number }): readonly string[] {
  const frames: string[] = []
  let created = 1_790_000_000_000
  let seq = 0
  let count = 0
  const sessionID = newID('ses')
  const inputID = newID('msg')
  const session = { id: sessionID, projectID: 'global', directory, title: 'A generated session' }

  store('session.created', { info: { ...session, time: { created, updated: created } } })
  const input = { type: 'user', data: { text: 'Please tell.' }, delivery: 'steer' }
  store('session.input.admitted', { inputID, input })
  store('session.execution.started', {}, 'everywhere')
  store('session.input.promoted', { inputID })
  for (let left = deltas; left > 0; left -= textDeltas) sendStep(Math.min(left, textDeltas), left <= textDeltas)
  store('session.execution.succeeded', {}, 'everywhere')
  return frames

  function sendStep(size: number, isLast: boolean): void {
    const step = { assistantMessageID: newID('msg') }
    const tokens = { input: 120, output: size, reasoning: 0, cache: { read: 0, write: 0 } }
    store('session.step.started', { ...step, agent: 'build', model, snapshot: newID('tree') })
    sendText(step, size)
    if (!isLast) sendTool(step)
    const finish = isLast ? 'stop' : 'tool-calls'
    store('session.step.ended', { ...step, finish, cost: 0, tokens, snapshot: newID('tree'), files: [] })
    send('session.usage.updated', { data: { sessionID, cost: 0, tokens } })
  }

  function sendText(step: object, size: number): void {
    const part = { ...step, ordinal: 0 }
    const pieces = Array.from({ length: size }, (_, index) => pieceOf(index))
    store('session.text.started', part)
    for (const delta of pieces) report('session.text.delta', { ...part, delta })
    store('session.text.ended', { ...part, text: pieces.join('') })
  }

  function sendTool(step: object): void {
    const call = { ...step, callID: newID('call') }
    const input = { command: 'npm test', description: 'Runs the tests' }
    const text = JSON.stringify(input)
    store('session.tool.input.started', { ...call, name: 'shell' })
    report('session.tool.input.delta', { ...call, delta: text })
    store('session.tool.input.ended', { ...call, text })
    store('session.tool.called', { ...call, input, executed: false })
    report('session.tool.progress', { ...call, metadata: { shellID: newID('sh') } })
    const content = [{ type: 'text', text: 'ok\n'.repeat(200) }]
    store('session.tool.success', { ...call, content, metadata: { truncated: false, exit: 0 }, executed: false })
  }

  /** A stored event. Those of an execution name no directory. */
  function store(type: string, data: object, where: 'here' | 'everywhere' = 'here'): void {
    const durable = { aggregateID: sessionID, seq, version: 1 }
    seq += 1
    send(type, { durable, ...(where === 'here' && { location: { directory } }), data: { sessionID, ...data } })
  }

  function report(type: string, data: object): void {
    send(type, { location: { directory }, data: { sessionID, ...data } })
  }

  function send(type: string, more: object): void {
    created += 1
    frames.push(JSON.stringify({ id: newID('evt'), created, type, ...more }))
  }

  function newID(prefix: string): string {
    count += 1
    return idOf(prefix, count, '')
  }
}
