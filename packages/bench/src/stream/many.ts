import type { Part, ReplyEvent } from '@reply/core'
import type { SessionScopedEvent } from '@reply/core/internal'

const sessionID = 'ses_many'
const at = 1000
const answerID = 'msg_answer'

/** The events of a session with a prompt, and the beginning of its answer. */
function startEvents(): readonly ReplyEvent[] {
  const head = { summary: false, raw: undefined }
  return [
    { type: 'session', at, sessionID },
    { type: 'message', at, sessionID, message: { id: 'msg_prompt', role: 'user', ...head } },
    { type: 'status', at, sessionID, status: 'busy' },
    { type: 'message', at, sessionID, message: { id: answerID, role: 'assistant', ...head } },
  ]
}

/** The events of one message with this many parts: ends of steps, calls and texts in turn. It doesn't end. */
export function eventsOfParts(count: number): readonly ReplyEvent[] {
  return [...startEvents(), ...Array.from({ length: count }, (_, index) => partEvents(index)).flat()]
}

/** The same with three parts in each message, as steps of a model have them. */
export function eventsOfSteps(count: number): readonly ReplyEvent[] {
  const parts = Array.from({ length: count }, (_, index) => {
    const id = `msg_answer_${String(Math.floor(index / 3)).padStart(8, '0')}`
    const message = { id, role: 'assistant', summary: false, raw: undefined } as const
    const head: readonly ReplyEvent[] = index % 3 === 0 ? [{ type: 'message', at, sessionID, message }] : []
    return [...head, ...partEvents(index, id)]
  })
  return [...startEvents().slice(0, -1), ...parts.flat()]
}

/** The events of a text in a message of its own, which grows by this many deltas. It doesn't end. */
export function eventsOfText(deltas: number): readonly ReplyEvent[] {
  const id = 'msg_text'
  const part = { id: 'prt_text', messageID: id, raw: undefined, status: 'open', type: 'text', text: '' } as const
  return [
    { type: 'message', at, sessionID, message: { id, role: 'assistant', summary: false, raw: undefined } },
    { type: 'part', at, sessionID, part },
    ...Array.from({ length: deltas }, (_, index): ReplyEvent => {
      const delta = index % 8 === 0 ? 'A sentence. ' : 'word '
      return { type: 'delta', at, sessionID, messageID: id, partID: part.id, field: 'text', delta }
    }),
  ]
}

/** The events of one part: the end of a step, a call, or a text, by the remainder of its index divided by 3. */
function partEvents(index: number, messageID = answerID): readonly SessionScopedEvent[] {
  const place = { id: `prt_${String(index).padStart(8, '0')}`, messageID, raw: undefined }
  const eventOf = (part: Part): SessionScopedEvent => ({ type: 'part', at, sessionID, part })
  const tokens = { input: 1, output: 1, reasoning: 0, cacheRead: 0, cacheWrite: 0 }
  if (index % 3 === 0)
    return [eventOf({ ...place, status: 'sealed', type: 'step-finish', reason: 'stop', tokens, cost: 0 })]
  if (index % 3 === 1) {
    const call = { ...place, type: 'tool', tool: 'bash', callID: `call_${index}` } as const
    return [
      eventOf({ ...call, status: 'open', state: { status: 'running', input: { command: 'ls' } } }),
      eventOf({ ...call, status: 'sealed', state: { status: 'completed', input: { command: 'ls' }, output: '' } }),
    ]
  }
  return [
    eventOf({ ...place, status: 'open', type: 'text', text: '' }),
    { type: 'delta', at, sessionID, messageID, partID: place.id, field: 'text', delta: 'Done.' },
    eventOf({ ...place, status: 'sealed', type: 'text', text: 'Done.' }),
  ]
}

/**
 * The events of a run with this many permissions, all pending at once, answered in the order of asking. It doesn't end.
 */
export function eventsOfAsks(count: number): readonly ReplyEvent[] {
  const ids = Array.from({ length: count }, (_, index) => `per_${String(index).padStart(8, '0')}`)
  const fields = { sessionID, directory: undefined, path: [sessionID], status: 'pending', askedAt: at } as const
  const permission = { type: 'permission', permission: 'bash', always: [], title: 'bash', metadata: {} } as const
  return [
    ...startEvents(),
    ...ids.map((requestID): ReplyEvent => {
      return { type: 'asked', at, sessionID, ask: { ...fields, ...permission, requestID, patterns: [requestID] } }
    }),
    ...ids.map((requestID): ReplyEvent => {
      return { type: 'ask-closed', at, sessionID, requestID, how: { type: 'permission', reply: 'once' } }
    }),
  ]
}

/** The events of one message with this many calls in sequence. It doesn't end. */
export function eventsOfCalls(count: number): readonly ReplyEvent[] {
  return [...startEvents(), ...Array.from({ length: count }, (_, index) => callEvents(index)).flat()]
}

/** The events of one call: announced, its permission asked, running, allowed, done. */
function callEvents(index: number): readonly ReplyEvent[] {
  const name = String(index).padStart(8, '0')
  const callID = `call_${name}`
  const requestID = `per_${name}`
  const command = `ls ${name}`
  const call = { id: `prt_${name}`, messageID: answerID, raw: undefined, type: 'tool', tool: 'bash', callID } as const
  const eventOf = (part: Part): SessionScopedEvent => ({ type: 'part', at, sessionID, part })
  const place = { sessionID, directory: undefined, path: [sessionID], messageID: answerID, callID, requestID } as const
  const what = { type: 'permission', permission: 'bash', patterns: [command], always: [], title: 'bash' } as const
  const input = { command }
  return [
    eventOf({ ...call, status: 'open', state: { status: 'pending', input: {} } }),
    { type: 'asked', at, sessionID, ask: { ...place, ...what, metadata: {}, status: 'pending', askedAt: at } },
    eventOf({ ...call, status: 'open', state: { status: 'running', input } }),
    { type: 'ask-closed', at, sessionID, requestID, how: { type: 'permission', reply: 'once' } },
    eventOf({ ...call, status: 'sealed', state: { status: 'completed', input, output: '' } }),
  ]
}
