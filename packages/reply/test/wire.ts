import { createDecoder, type ReplyError, type ReplyEvent } from '@reply/core'

/** Frames as servers send them, as input for the decoder. */

const ids = { sessionID: 'ses_1', messageID: 'msg_1' }

/** Minimal parts on the wire. */
export const wireParts = {
  text: { id: 'prt_1', ...ids, type: 'text', text: 'Hello' },
  reasoning: { id: 'prt_1', ...ids, type: 'reasoning', text: 'Hm', time: { start: 1 } },
  tool: { id: 'prt_1', ...ids, type: 'tool', tool: 'bash', callID: 'call_1', state: { status: 'pending', input: {} } },
  file: { id: 'prt_1', ...ids, type: 'file', mime: 'text/plain', url: 'file:///a' },
  patch: { id: 'prt_1', ...ids, type: 'patch', hash: 'abc', files: ['a'] },
  'step-start': { id: 'prt_1', ...ids, type: 'step-start' },
  'step-finish': {
    ...{ id: 'prt_1', ...ids, type: 'step-finish', reason: 'stop', cost: 0 },
    tokens: { input: 1, output: 2, reasoning: 3, cache: { read: 4, write: 5 } },
  },
  snapshot: { id: 'prt_1', ...ids, type: 'snapshot', snapshot: 'abc' },
  subtask: { id: 'prt_1', ...ids, type: 'subtask', prompt: 'Do', description: 'It', agent: 'general' },
  agent: { id: 'prt_1', ...ids, type: 'agent', name: 'general' },
  retry: { id: 'prt_1', ...ids, type: 'retry', attempt: 1, error: { name: 'APIError', data: { message: 'no' } } },
  compaction: { id: 'prt_1', ...ids, type: 'compaction', auto: true },
} as const

/** Minimal properties of each known event. */
export const wireEvents = {
  'session.created': { info: { id: 'ses_1' } },
  'session.updated': { info: { id: 'ses_1', parentID: 'ses_0', title: 'A title' } },
  'session.deleted': { info: { id: 'ses_1' } },
  'session.status': { sessionID: 'ses_1', status: { type: 'busy' } },
  'session.idle': { sessionID: 'ses_1' },
  'session.error': { sessionID: 'ses_1', error: { name: 'APIError', data: { message: 'no' } } },
  'session.compacted': { sessionID: 'ses_1' },
  'message.updated': { info: { id: 'msg_1', sessionID: 'ses_1', role: 'assistant' } },
  'message.removed': ids,
  'message.part.updated': { part: wireParts.text },
  'message.part.delta': { ...ids, partID: 'prt_1', field: 'text', delta: 'Hel' },
  'message.part.removed': { ...ids, partID: 'prt_1' },
  'todo.updated': { sessionID: 'ses_1', todos: [{ content: 'Look', status: 'pending', priority: 'high' }] },
  'question.asked': {
    id: 'que_1',
    sessionID: 'ses_1',
    questions: [{ question: 'Which?', options: [{ label: 'Red' }] }],
  },
  'question.replied': { sessionID: 'ses_1', requestID: 'que_1', answers: [['Red']] },
  'question.rejected': { sessionID: 'ses_1', requestID: 'que_1' },
  'permission.asked': { id: 'per_1', sessionID: 'ses_1', permission: 'bash', patterns: ['ls'] },
  'permission.updated': { id: 'per_1', sessionID: 'ses_1', type: 'bash', pattern: 'ls', title: 'ls' },
  'permission.replied': { sessionID: 'ses_1', requestID: 'per_1', reply: 'once' },
  'server.connected': {},
  'server.heartbeat': {},
  'server.instance.disposed': { directory: '/project' },
} as const

export type WireType = keyof typeof wireEvents

/** Decodes one frame with a new decoder; returns the event and the errors. */
export function decoded(frame: unknown): {
  readonly event: ReplyEvent | undefined
  readonly errors: readonly ReplyError[]
} {
  const errors: ReplyError[] = []
  const event = createDecoder({ onError: (error) => errors.push(error) }).decode(JSON.stringify(frame), 1000)
  return { event, errors }
}

export function decodedPart(part: object): ReplyEvent | undefined {
  return decoded({ type: 'message.part.updated', properties: { part } }).event
}
