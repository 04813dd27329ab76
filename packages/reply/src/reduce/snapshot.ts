import type { MessageHead, SessionScopedEvent, SnapshotEvent } from '../event.ts'
import type { Part } from '../part.ts'
import type { Reply } from '../reply.ts'
import { messageAt } from './part.ts'
import { partAt } from './parts.ts'

/**
 * A reading over REST as the events that it stands for, in the order in which the wire would have told them. Which
 * messages belong to the run is `track`'s to say: it leaves the others out.
 */
export function snapshotEvents(reply: Reply, snapshot: SnapshotEvent): SessionScopedEvent[] {
  const { at, raw, sessionID, session, messages, todos, asks, children } = snapshot
  const seen = new Set(asks.map((ask) => ask.requestID))
  const events: SessionScopedEvent[] = [{ type: 'session', at, raw, sessionID, ...session }]
  if (snapshot.retry) events.push({ type: 'retry', at, raw, sessionID, ...snapshot.retry })
  else if (snapshot.status === 'busy') events.push({ type: 'status', at, raw, sessionID, status: 'busy' })
  for (const { head, parts } of messages) {
    events.push({ type: 'message', at, raw, sessionID, message: head })
    const order = parts.map(({ id }) => id)
    const known = reply.messages[messageAt(reply.messages, head.id)]
    // The server knows more of its end than we do: what came before that may not have been heard either.
    const isBehind = known !== undefined && !hasEnded(known) && hasEnded(head)
    for (const part of parts) {
      // What was heard from its beginning, on this connection, has none.
      const isHeard = !snapshot.complete && !isBehind && known !== undefined && partAt(known, part.id) !== -1
      events.push({ type: 'part', at, raw, sessionID, part: snapshot.gap && !isHeard ? withHole(part) : part, order })
    }
  }
  if (snapshot.complete) events.push(...removals(reply, snapshot))
  events.push({ type: 'todos', at, raw, sessionID, todos })
  for (const ask of asks) events.push({ type: 'asked', at, raw, sessionID, ask })
  // One that came while the others were being read is on no list.
  for (const ask of snapshot.complete ? reply.asks : []) {
    if (ask.status !== 'pending' || ask.sessionID !== sessionID || seen.has(ask.requestID)) continue
    events.push({ type: 'ask-closed', at, raw, sessionID, requestID: ask.requestID, how: { type: 'gone' } })
  }
  events.push(...children)
  return events
}

function hasEnded({ completedAt, error }: Pick<MessageHead, 'completedAt' | 'error'>): boolean {
  return completedAt !== undefined || error !== undefined
}

/** What the reply has and the server no longer knows. */
function removals(reply: Reply, { at, raw, sessionID, messages }: SnapshotEvent): SessionScopedEvent[] {
  const read = new Map(messages.map(({ head, parts }) => [head.id, new Set(parts.map(({ id }) => id))]))
  return reply.messages.flatMap((message): SessionScopedEvent[] => {
    const kept = read.get(message.id)
    if (!kept) return [{ type: 'message-removed', at, raw, sessionID, messageID: message.id }]
    const gone = message.parts.filter(({ id }) => !kept.has(id))
    return gone.map((part) => ({ type: 'part-removed', at, raw, sessionID, messageID: message.id, partID: part.id }))
  })
}

/** Which deltas of an open text were missed is unknown: the text has a hole until it is sealed. */
function withHole(part: Part): Part {
  const isText = part.type === 'text' || part.type === 'reasoning'
  return isText && part.status === 'open' ? { ...part, hole: true } : part
}
