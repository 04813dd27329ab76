import type { Change } from '../change.ts'
import type { PartEvent, ReplyEvent, SessionScopedEvent, SnapshotEvent } from '../event.ts'
import { same } from '../fields.ts'
import type { Part } from '../part.ts'
import type { Phase, Reply } from '../reply.ts'
import { applyAskClosed, applyAsked } from './ask.ts'
import { askIndexOf } from './ask-list.ts'
import { applyCall } from './call.ts'
import { applyChildStep, childIndexOf, linkChild, startChild } from './child.ts'
import { applyCompacted, applySummary, endsCompaction, withoutCompaction } from './compaction.ts'
import { applyMessage, applyPromptPart, hasMessageEnded, messageIDOf, removeMessage } from './message.ts'
import { applyPart, growPart, indexInReply, messageIndexOf, removePart, withMessageAt } from './part.ts'
import { partAt, partIndexOf, withOpenPartsChanged } from './part-list.ts'
import { applyBusy, applyRetry, isAnyChildRunning, isOnlyOfBackgroundChildren, phaseOf, reportError } from './run.ts'
import { isFinished, sealParts, settle } from './settle.ts'
import { withFields } from './shape.ts'

/**
 * The result of one event. Even without changes the reply may be a new object, because its `raw` fields are updated.
 */
export interface Reduction {
  /** The reply after the event. */
  readonly reply: Reply
  /** The changes to report to observers, in order. May be empty. */
  readonly changes: readonly Change[]
  /** The wire event behind it. */
  readonly raw?: unknown
}

/**
 * Applies an event to a reply: returns the next reply and its changes. It is the only function that makes replies, and
 * it is pure. The event belongs to the reply's session or to one of its sub-agents. An event that changes nothing
 * returns the same object. After the reply has settled, late events still change its data, but the only change that
 * they report is `replyAmended`.
 */
export function reduce(reply: Reply, event: SessionScopedEvent): Reduction {
  if (event.type === 'delta' && event.sessionID === reply.sessionID && reply.phase !== 'settled') {
    const grown = growPart(reply, event)
    // A literal is smaller than an array that grows by push, and most events are deltas.
    return { reply: grown?.reply ?? reply, changes: grown ? [grown.change] : [], raw: event.raw }
  }
  if (reply.phase === 'settled') return amendSettled(reply, event)
  const changes: Change[] = []
  const started = startsReply(reply, event) ? startReply(reply, event, changes) : reply
  const applied = applyEvent(started, event, changes)
  return { reply: withPhase(applied, reply.phase, changes), changes, raw: event.raw }
}

/** Whether the event begins a reply that has not begun. A session's data and a context limit don't. */
function startsReply(reply: Reply, event: SessionScopedEvent): boolean {
  return reply.startedAt === undefined && event.type !== 'session' && event.type !== 'context-limit'
}

/** Sets the start to the time of the event, and reports `replyStarted`. */
function startReply(reply: Reply, event: SessionScopedEvent, changes: Change[]): Reply {
  changes.push({ type: 'replyStarted' })
  return withFields(reply, { startedAt: event.at })
}

/**
 * Sets the phase that follows from the reply and reports a change from `before`. Does nothing to a settled reply,
 * because settling reports its own phase change.
 */
function withPhase(reply: Reply, before: Phase, changes: Change[]): Reply {
  if (reply.phase === 'settled') return reply
  const phase = phaseOf(reply)
  if (phase !== before) changes.push({ type: 'phaseChanged', phase, before })
  return phase === reply.phase ? reply : withFields(reply, { phase })
}

/**
 * Applies a late event to a settled reply, and seals its parts. Ignores its own status, retry, connection, abort,
 * prompt and new asks, and the end of an ask that it lacks. Reports at most `replyAmended`.
 */
function amendSettled(reply: Reply, event: SessionScopedEvent): Reduction {
  switch (event.type) {
    case 'settle':
    case 'status':
    case 'retry':
    case 'connection':
    case 'stalled':
    case 'abort-requested':
    case 'opened':
    case 'asked':
      if (event.sessionID === reply.sessionID) return { reply, changes: [], raw: event.raw }
      break
    case 'ask-closed':
      // The ask belongs to another reply, or its asking was missed: a settled reply is unaffected.
      if (askIndexOf(reply.asks, event.requestID) === -1) return { reply, changes: [], raw: event.raw }
  }
  // Late parts are sealed at once: no event will end them any more.
  const applied = sealParts(applyEvent(reply, event, []), [])
  const changes: Change[] = applied === reply ? [] : [{ type: 'replyAmended' }]
  return { reply: applied, changes, raw: event.raw }
}

/**
 * Applies one event, to a sub-agent's reply if it is of another session, and reports its changes. Leaves the phase to
 * `reduce`, except for the end. Returns the same reply if nothing changes.
 */
function applyEvent(reply: Reply, event: SessionScopedEvent, changes: Change[]): Reply {
  if (event.sessionID !== reply.sessionID) return applyToChild(reply, event, changes)
  switch (event.type) {
    case 'delta': {
      const grown = growPart(reply, event)
      if (grown) changes.push(grown.change)
      return grown?.reply ?? reply
    }
    case 'part':
      return applyOwnPart(reply, event, changes)
    case 'message': {
      const next = applyMessage(reply, event.message, changes)
      const isNew = next.messages.length > reply.messages.length
      return endsCompaction(next, event.message, isNew) ? applyCompacted(next, event.at, changes) : next
    }
    case 'message-removed':
      return removeMessage(reply, event.messageID, changes)
    case 'part-removed':
      return removePart(withoutCompaction(reply, event.partID), event, changes)
    case 'session':
      return applySession(reply, event)
    case 'status':
      if (event.status === 'busy') return applyBusy(reply)
      return endsAtIdle(reply) ? settle(reply, { by: 'idle', at: event.at }, reduce, changes) : reply
    case 'retry':
      return applyRetry(reply, { attempt: event.attempt, message: event.message, nextAt: event.nextAt }, changes)
    case 'error': {
      const failed = reportError(reply, event.error, changes)
      // An error before anything ran is the end. No other event will follow.
      return reply.phase === 'waiting' ? settle(failed, { by: 'idle', at: event.at }, reduce, changes) : failed
    }
    case 'compacted':
      return applyCompacted(event.summary ? applySummary(reply, event.summary, changes) : reply, event.at, changes)
    case 'todos':
      return applyTodos(reply, event, changes)
    case 'asked':
      return applyAsked(reply, event.ask, changes)
    case 'ask-closed':
      return applyAskClosed(reply, event, changes)
    case 'child':
      return startChild(reply, event, event.at, changes)
    case 'opened':
      if (event.text === undefined || reply.prompt) return reply
      return withFields(reply, { prompt: { text: event.text, files: [], parts: [] } })
    case 'abort-requested':
      return reply.aborting ? reply : withFields(reply, { aborting: event.reason })
    case 'stalled':
      if (reply.stalled === event.stalled) return reply
      changes.push({ type: 'stalledChanged', stalled: event.stalled })
      return withFields(reply, { stalled: event.stalled })
    case 'connection':
      if (reply.connection === event.connection) return reply
      changes.push({ type: 'connectionChanged', connection: event.connection })
      return withFields(reply, { connection: event.connection })
    case 'context-limit':
      return applyContextLimit(reply, event.contextLimit, changes)
    case 'snapshot':
      return applySnapshot(reply, event, changes)
    case 'settle':
      return settle(reply, event, reduce, changes)
    case 'session-removed':
      return reply.phase === 'settled'
        ? reply
        : settle(reply, { by: 'lost', reason: 'session-removed', at: event.at }, reduce, changes)
    default:
      return event satisfies never
  }
}

/**
 * Applies a descendant's event. Ignores a session outside the tree. Ends a reply that consists of background sub-agents
 * when the last of them ends.
 */
function applyToChild(reply: Reply, event: SessionScopedEvent, changes: Change[]): Reply {
  const childIndex = childIndexOf(reply, event.sessionID, messageIDOf(event))
  const child = reply.children[childIndex]
  if (!child) return reply
  const next = applyChildStep(reply, childIndex, reduceChild(child.reply, event), changes)
  return endsWithChildren(next) ? settle(next, { by: 'idle', at: event.at }, reduce, changes) : next
}

/**
 * Applies an event to a sub-agent's reply. An error of its own before its first event is only reported and doesn't end
 * it, because the sub-agent may have run before we listened.
 */
function reduceChild(child: Reply, event: SessionScopedEvent): Reduction {
  if (event.type !== 'error' || event.sessionID !== child.sessionID || child.phase !== 'waiting')
    return reduce(child, event)
  const changes: Change[] = []
  return { reply: reportError(child, event.error, changes), changes, raw: event.raw }
}

/**
 * Applies a part of a prompt or of a known message. A tool's part also updates its sub-agent and the asks about it.
 * Ignores a part of an unknown message.
 */
function applyOwnPart(reply: Reply, { part, at, order }: PartEvent, changes: Change[]): Reply {
  if (reply.promptIDs.includes(part.messageID)) return applyPromptPart(reply, part, at, changes)
  if (messageIndexOf(reply.messages, part.messageID) === -1) return reply
  const next = applyPart(abandonOpenTexts(reply, part, changes), part, order, changes)
  return part.type === 'tool' ? applyCall(linkChild(next, part, at, changes), part.callID, changes) : next
}

/** Sets the title and the directory, and keeps what the event lacks. Reports no change. */
function applySession(
  reply: Reply,
  event: { readonly title?: string | undefined; readonly directory?: string | undefined },
): Reply {
  const { title = reply.title, directory = reply.directory } = event
  return title === reply.title && directory === reply.directory ? reply : withFields(reply, { title, directory })
}

/** Sets the context limit and reports the usage. Does nothing if the limit stays the same. */
function applyContextLimit(reply: Reply, contextLimit: number, changes: Change[]): Reply {
  if (reply.usage.contextLimit === contextLimit) return reply
  const usage = { ...reply.usage, contextLimit }
  changes.push({ type: 'usageChanged', usage })
  return withFields(reply, { usage })
}

/**
 * Whether an idle now ends the reply. Never during an abort, when the driver checks the whole tree to find its end,
 * because some servers continue after an idle.
 */
function endsAtIdle(reply: Reply): boolean {
  return reply.aborting === undefined && isAtEnd(reply)
}

/**
 * Whether an idle now is the end of the run. Idle may precede the last messages' completion, and the previous run's
 * idle may arrive after a prompt was announced, or after a background sub-agent continued. So it is the end only if the
 * run has begun and is complete.
 */
export function isAtEnd(reply: Reply): boolean {
  return hasBegun(reply) && isFinished(reply) && !isOnlyOfBackgroundChildren(reply) && !hasSilentChild(reply)
}

/** Whether the run produced anything. A lone idle may be the previous run's, if REST reported this run first. */
function hasBegun({ phase, messages, children, error, compaction }: Reply): boolean {
  if (phase === 'waiting') return false
  return messages.length > 0 || children.length > 0 || error !== undefined || compaction !== undefined
}

/** Whether a sub-agent that must have run before this idle sent no events, because it ended before we listened. */
function hasSilentChild(reply: Reply): boolean {
  return reply.children.some((child) => !child.background && child.reply.phase === 'waiting')
}

/** Whether the reply has to settle now: only background sub-agents opened it, and none of them is running. */
function endsWithChildren(reply: Reply): boolean {
  return (
    reply.phase !== 'settled' &&
    reply.aborting === undefined &&
    isOnlyOfBackgroundChildren(reply) &&
    !isAnyChildRunning(reply)
  )
}

/** Applies a snapshot as the events that the stream would have sent. */
function applySnapshot(reply: Reply, snapshot: SnapshotEvent, changes: Change[]): Reply {
  let next = reply
  for (const event of snapshotEvents(reply, snapshot)) next = applyEvent(next, event, changes)
  return next
}

/**
 * Abandons the open texts of a message whose step is retried, and reports each as removed. Does nothing unless the part
 * is a new step start. A second step start within one message is a retry: servers from 1.17 on write the text again in
 * new parts and leave the old ones open forever, so these are abandoned. (Servers up to 1.14 continue the same part and
 * send no second step start.)
 */
function abandonOpenTexts(reply: Reply, incoming: Part, changes: Change[]): Reply {
  if (incoming.type !== 'step-start') return reply
  const messageIndex = messageIndexOf(reply.messages, incoming.messageID)
  const message = reply.messages[messageIndex]
  if (!message || partIndexOf(message, incoming.id) !== -1) return reply
  const changed = withOpenPartsChanged(message, (part, partIndex): Part => {
    if (part.type !== 'text' && part.type !== 'reasoning') return part
    const abandoned: Part = { ...part, status: 'abandoned' }
    changes.push({
      type: 'partRemoved',
      part: abandoned,
      index: indexInReply(reply.messages, messageIndex, partIndex),
      reason: 'abandoned',
    })
    return abandoned
  })
  return changed === message ? reply : withMessageAt(reply, messageIndex, changed)
}

type TodosEvent = Extract<ReplyEvent, { readonly type: 'todos' }>

/** Sets the checklist and reports it, and remembers whether this run wrote it. Does nothing if both stay the same. */
function applyTodos(reply: Reply, { todos, isOwn }: TodosEvent, changes: Change[]): Reply {
  const wroteTodos = isOwn ?? reply.wroteTodos
  if (wroteTodos === reply.wroteTodos && same(reply.todos, todos)) return reply
  changes.push({ type: 'todosChanged', todos })
  return withFields(reply, { todos, wroteTodos })
}

/**
 * Converts a REST snapshot to events, in the order in which the stream would have sent them. A complete one also
 * removes the messages, parts and asks that it lacks. After a gap, open texts that weren't streamed get a hole.
 * `track` has already removed messages that don't belong to the run.
 */
function snapshotEvents(reply: Reply, snapshot: SnapshotEvent): SessionScopedEvent[] {
  const { at, raw, sessionID, session, messages, todos, asks, children } = snapshot
  const listedIDs = new Set(asks.map((ask) => ask.requestID))
  const events: SessionScopedEvent[] = [{ type: 'session', at, raw, sessionID, ...session }]
  if (snapshot.retry) events.push({ type: 'retry', at, raw, sessionID, ...snapshot.retry })
  else if (snapshot.status === 'busy') events.push({ type: 'status', at, raw, sessionID, status: 'busy' })
  for (const { head, parts } of messages) {
    events.push({ type: 'message', at, raw, sessionID, message: head })
    const order = parts.map(({ id }) => id)
    const known = reply.messages[messageIndexOf(reply.messages, head.id)]
    // The server already knows this message's end, so we may have missed events before it as well.
    const isBehind = known !== undefined && !hasMessageEnded(known) && hasMessageEnded(head)
    for (const part of parts) {
      const knownPart = known && partAt(known, partIndexOf(known, part.id))
      // A part received from its beginning on this connection has no hole.
      const wasStreamed = !snapshot.complete && !isBehind && knownPart !== undefined
      events.push({
        type: 'part',
        at,
        raw,
        sessionID,
        part: snapshot.gap && !wasStreamed ? withHole(part, knownPart) : part,
        order,
      })
    }
  }
  if (snapshot.complete) events.push(...removalEvents(reply, snapshot))
  events.push({ type: 'todos', at, raw, sessionID, todos })
  for (const ask of asks) events.push({ type: 'asked', at, raw, sessionID, ask })
  // Only a complete snapshot closes asks: an ask that arrived during the reading is missing from the list.
  for (const ask of snapshot.complete ? reply.asks : []) {
    if (ask.status !== 'pending' || ask.sessionID !== sessionID || listedIDs.has(ask.requestID)) continue
    events.push({ type: 'ask-closed', at, raw, sessionID, requestID: ask.requestID, how: { type: 'gone' } })
  }
  events.push(...children)
  return events
}

/** The events that remove the messages and parts which the server no longer has. Empty if it has all. */
function removalEvents(reply: Reply, { at, raw, sessionID, messages }: SnapshotEvent): SessionScopedEvent[] {
  const read = new Map(messages.map(({ head, parts }) => [head.id, new Set(parts.map(({ id }) => id))]))
  return reply.messages.flatMap((message): SessionScopedEvent[] => {
    const kept = read.get(message.id)
    if (!kept) return [{ type: 'message-removed', at, raw, sessionID, messageID: message.id }]
    const gone = message.parts.filter(({ id }) => !kept.has(id))
    return gone.map((part) => ({ type: 'part-removed', at, raw, sessionID, messageID: message.id, partID: part.id }))
  })
}

/**
 * Marks an open text that was read as empty: its source repeats it only when it is complete, so words may be missing behind those
 * that are known here. Returns any other part as it is. A source that returns some of an open text returns all of it.
 */
function withHole(part: Part, known: Part | undefined): Part {
  if ((part.type !== 'text' && part.type !== 'reasoning') || part.status !== 'open' || part.text !== '') return part
  const { text, holes = [] } = known !== undefined && 'text' in known ? known : part
  return { ...part, holes: holes.at(-1) === text.length ? holes : [...holes, text.length] }
}
