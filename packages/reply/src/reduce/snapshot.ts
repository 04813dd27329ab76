import type { MessageHead, SessionScopedEvent, SnapshotEvent } from '../event.ts'
import type { Part } from '../part.ts'
import type { Reply } from '../reply.ts'
import { messageAt } from './part.ts'
import { partAt } from './parts.ts'

/**
 * Converts a REST snapshot to events, in the order in which the stream would have sent them. `track` has already
 * removed messages that don't belong to the run.
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
    // The server already knows this message's end, so we may have missed events before it as well.
    const isBehind = known !== undefined && !hasEnded(known) && hasEnded(head)
    for (const part of parts) {
      // A part received from its beginning on this connection has no hole.
      const isHeard = !snapshot.complete && !isBehind && known !== undefined && partAt(known, part.id) !== -1
      events.push({ type: 'part', at, raw, sessionID, part: snapshot.gap && !isHeard ? withHole(part) : part, order })
    }
  }
  if (snapshot.complete) events.push(...removals(reply, snapshot))
  events.push({ type: 'todos', at, raw, sessionID, todos })
  for (const ask of asks) events.push({ type: 'asked', at, raw, sessionID, ask })
  // Only a complete snapshot closes asks: an ask that arrived during the reading is missing from the list.
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

/** Messages and parts that the server no longer has. */
function removals(reply: Reply, { at, raw, sessionID, messages }: SnapshotEvent): SessionScopedEvent[] {
  const read = new Map(messages.map(({ head, parts }) => [head.id, new Set(parts.map(({ id }) => id))]))
  return reply.messages.flatMap((message): SessionScopedEvent[] => {
    const kept = read.get(message.id)
    if (!kept) return [{ type: 'message-removed', at, raw, sessionID, messageID: message.id }]
    const gone = message.parts.filter(({ id }) => !kept.has(id))
    return gone.map((part) => ({ type: 'part-removed', at, raw, sessionID, messageID: message.id, partID: part.id }))
  })
}

/** Marks an open text as incomplete until it is sealed, because it is unknown which deltas were missed. */
function withHole(part: Part): Part {
  const isText = part.type === 'text' || part.type === 'reasoning'
  return isText && part.status === 'open' ? { ...part, hole: true } : part
}
