import type { MessageHead, ReplyEvent } from '../../../event.ts'
import type { CompactionPart } from '../../../part.ts'
import type { SummaryStep } from '../../../reply.ts'
import { sentenceOf } from '../../../text/sentence.ts'
import { toAnswers, toPermission, toQuestion } from './ask.ts'
import type { EventBuilders, ReceivedFrame } from './frame.ts'
import { removeMessagesFrom, type SessionMemory, type Spent, storeAcceptedAt, storeMessageID } from './memory.ts'
import {
  isAborted,
  isServerNotice,
  toFailure,
  toHead,
  toModel,
  toPromptParts,
  toStepFinish,
  toSyntheticText,
  toTokens,
} from './part.ts'
import { partEventBuilders } from './part-event-builders.ts'
import type { EventData } from './schema.ts'
import { toSessionInfo } from './session.ts'

/**
 * The builder of each event that concerns a reply. All other types are ignored. A new event needs its schema in
 * `eventSchemas` and a builder here.
 */
export const eventBuilders: EventBuilders = {
  'session.created': (data, received) => storeNewSession(data.sessionID, data, received),
  // A fork is a root, however it names its origin.
  'session.forked': (data, received) => storeNewSession(data.sessionID, {}, received),
  'session.renamed': ({ sessionID, title }, received) => updateSession(sessionID, { title }, received),
  'session.deleted': ({ sessionID }, { at, raw, memory }) => {
    memory.forget(sessionID)
    return [{ type: 'session-removed', at, raw, sessionID }]
  },
  /** Stores the input, because the event that delivers it only has its id. */
  'session.inbox.enqueued': ({ sessionID, inboxID, item }, { frame, memory }) => {
    const { type, payload: { text, files, agents, metadata } = {} } = item
    const session = memory.of(sessionID)
    session.inbox.set(inboxID, { type, text, files, agents, metadata })
    storeAcceptedAt(session, inboxID, frame.created)
    return []
  },
  /**
   * Returns the message and parts of a prompt, or of a synthetic text that wakes the session, then `busy` if the run
   * begins with it. Before them, `idle` for a run that a rejection stopped. Empty for all other inputs.
   */
  'session.inbox.delivered': ({ sessionID, inboxID }, received) => {
    const { at, raw, frame, memory } = received
    const session = memory.of(sessionID)
    // An input that was accepted before this client listened counts as a prompt, which most are. A read gets its text.
    const item = session.inbox.get(inboxID) ?? { type: 'user' }
    session.inbox.delete(inboxID)
    if (item.type !== 'user' && (item.type !== 'synthetic' || isServerNotice(item))) return []
    storeMessageID(session, inboxID)
    session.promptID = inboxID
    session.compactions = 0
    // An input that waited behind a run and did not join it gets the time of its delivery, as over REST.
    const isFirst = session.execution === 'empty'
    const createdAt = (isFirst ? undefined : session.acceptedAt.get(inboxID)) ?? frame.created
    // The end was missed because the session was first read between the two runs.
    const stopped = session.isStopped ? endRun(session, received, { isSure: true }) : []
    const parts = item.type === 'user' ? toPromptParts(inboxID, item) : [toSyntheticText(inboxID, item.text ?? '')]
    const message = toHead(inboxID, 'user', { createdAt, raw: frame.wire })
    const events: ReplyEvent[] = [...stopped, { type: 'message', at, raw, sessionID, message }]
    for (const part of parts) events.push({ type: 'part', at, raw, sessionID, part })
    // After the prompt, which may be the first sign that the previous run was lost.
    return [...events, ...beginRun(session, received)]
  },
  /** Forgets the input. */
  'session.inbox.cancelled': ({ sessionID, inboxID }, { memory }) => {
    memory.of(sessionID).inbox.delete(inboxID)
    return []
  },
  /** Returns nothing, because an execution may be empty. A run begins with its first prompt or step. */
  'session.execution.started': ({ sessionID }, { memory }) => {
    const session = memory.of(sessionID)
    session.isRejected = false
    session.execution = 'empty'
    return []
  },
  'session.execution.succeeded': ({ sessionID }, received) => endRun(received.memory.of(sessionID), received),
  /** Returns the error, then `idle`, even if nothing ran. */
  'session.execution.failed': ({ sessionID, error }, received) => {
    const { at, raw, frame, memory } = received
    const failed = { type: 'error', at, raw, sessionID, happenedAt: frame.created, error: toFailure(error) } as const
    return [failed, ...endRun(memory.of(sessionID), received, { isSure: true })]
  },
  'session.execution.interrupted': ({ sessionID, reason }, received) => interruptRun(sessionID, reason, received),
  /** Returns the step's message, after `busy` if the run begins with it. The step answers the newest prompt. */
  'session.step.started': (data, received) => {
    const { sessionID, assistantMessageID: id, agent, started } = data
    const { at, raw, frame, memory } = received
    const session = memory.of(sessionID)
    session.isRejected = false
    storeMessageID(session, id)
    // A step that starts again replaces one without output, and keeps its time.
    const createdAt = session.steps.get(id)?.createdAt ?? started ?? frame.created
    const { promptID: parentID } = session
    session.steps.set(id, { agent, createdAt, parentID })
    const model = toModel(data.model)
    const message = toHead(id, 'assistant', { agent, model, createdAt, parentID, raw: frame.wire })
    return [...beginRun(session, received), { type: 'message', at, raw, sessionID, message }]
  },
  'session.step.ended': (data, received) => endStep(data, undefined, received),
  /** Returns the events of a failed step. A step that a rejection interrupted has ended without an error. */
  'session.step.failed': (data, received) => {
    const session = received.memory.of(data.sessionID)
    session.isStopped = session.isRejected && isAborted(data.error)
    // A rejection interrupts the step, which is the normal end of its run and not an error.
    if (session.isStopped) return endStep({ ...data, finish: 'tool-calls' }, undefined, received)
    // The event has no finish, but the stored step has this one.
    return endStep({ finish: 'error', ...data }, toFailure(data.error), received)
  },
  ...partEventBuilders,
  /** Version 2 counts attempts, from the second on, while a reply counts retries. */
  'session.retry.scheduled': ({ sessionID, attempt, at: nextAt, error }, { at, raw }) => [
    { type: 'retry', at, raw, sessionID, attempt: attempt - 1, message: sentenceOf(error?.message ?? ''), nextAt },
  ],
  'session.usage.updated': (data, { memory }) => {
    storeSpent(memory.of(data.sessionID), data)
    return []
  },
  /**
   * Returns the compaction as a part of the newest prompt. Empty if the prompt is unknown, and for a compaction that a
   * person requests, which is a separate execution and not part of a run.
   */
  'session.compaction.started': ({ sessionID, reason, inputID }, { at, raw, frame, memory }) => {
    const session = memory.of(sessionID)
    // If the server starts the compaction, its message has the id of this event, as REST shows.
    const messageID = inputID ?? frame.id?.replace(/^evt_/, 'msg_')
    session.summary = messageID === undefined ? undefined : { messageID, call: undefined }
    const part = reason === 'manual' ? undefined : countCompaction(session)
    session.compactionPart = part
    return part ? [{ type: 'part', at, raw, sessionID, part }] : []
  },
  /** Returns `compacted`, with the usage of its summary if that is known. */
  'session.compaction.ended': ({ sessionID }, { at, raw, memory }) => [
    { type: 'compacted', at, raw, sessionID, summary: takeSummaryUsage(memory.of(sessionID)) },
  ],
  /** Removes the part of the compaction. Empty if it has none. */
  'session.compaction.failed': ({ sessionID }, { at, raw, memory }) => {
    const session = memory.of(sessionID)
    const { compactionPart: part } = session
    session.summary = undefined
    session.compactionPart = undefined
    return part ? [{ type: 'part-removed', at, raw, sessionID, messageID: part.messageID, partID: part.id }] : []
  },
  'session.revert.staged': ({ sessionID, revert }, received) =>
    updateSession(sessionID, { revertedTo: revert.messageID }, received),
  'session.revert.cleared': ({ sessionID }, received) => updateSession(sessionID, { revertedTo: undefined }, received),
  /** Removes the message and all later ones, after the session's event. */
  'session.revert.committed': ({ sessionID, to }, received) => [
    ...updateSession(sessionID, { revertedTo: undefined }, received),
    ...removeMessagesFrom(received.memory.of(sessionID), to).map(
      (messageID): ReplyEvent => ({
        type: 'message-removed',
        at: received.at,
        raw: received.raw,
        sessionID,
        messageID,
      }),
    ),
  ],
  'permission.asked': (data, { at, raw, frame }) => [
    {
      type: 'asked',
      at,
      raw,
      sessionID: data.sessionID,
      directory: frame.directory,
      ask: toPermission(data, { at, directory: frame.directory }),
    },
  ],
  /** Closes the permission. A rejection ends the run later, which the memory stores. */
  'permission.replied': ({ sessionID, requestID, reply }, { at, raw, memory }) => {
    if (reply === 'reject') memory.of(sessionID).isRejected = true
    return [{ type: 'ask-closed', at, raw, sessionID, requestID, how: { type: 'permission', reply } }]
  },
  /** Asks the form's questions, and stores the form, which its answer needs. */
  'form.created': ({ form }, { at, raw, frame, memory }) => {
    const { sessionID } = form
    memory.of(sessionID).forms.set(form.id, form)
    const { directory } = frame
    return [{ type: 'asked', at, raw, sessionID, directory, ask: toQuestion(form, { at, directory }) }]
  },
  /** Closes the questions with their answers. Without the stored form, the answers are empty. */
  'form.replied': ({ id, sessionID, answer }, { at, raw, memory }) => {
    const form = memory.of(sessionID).forms.get(id)
    memory.of(sessionID).forms.delete(id)
    const answers = form ? toAnswers(form, answer) : []
    return [{ type: 'ask-closed', at, raw, sessionID, requestID: id, how: { type: 'answered', answers } }]
  },
  'form.cancelled': ({ id, sessionID }, { at, raw, memory }) => {
    memory.of(sessionID).forms.delete(id)
    return [{ type: 'ask-closed', at, raw, sessionID, requestID: id, how: { type: 'rejected' } }]
  },
}

/** Stores a new session as known and returns its event. One without a directory gets the frame's. */
function storeNewSession(
  sessionID: string,
  wire: Parameters<typeof toSessionInfo>[0],
  { at, raw, frame, memory }: ReceivedFrame,
): readonly ReplyEvent[] {
  const session = memory.of(sessionID)
  const info = toSessionInfo(wire, sessionID)
  session.info = info.directory === undefined ? { ...info, directory: frame.directory } : info
  session.isKnown = true
  return [toSessionEvent(session.info, at, raw)]
}

/** Returns the event with a session's fields. */
function toSessionEvent(info: SessionMemory['info'], at: number, raw: unknown): ReplyEvent {
  const { sessionID, parentID, title, directory, createdAt, revertedTo } = info
  return { type: 'session', at, raw, sessionID, parentID, title, directory, createdAt, revertedTo }
}

/**
 * Stores the changed fields and returns the session's event. Empty for a session that was never introduced, because an
 * event without its parent would make it a root.
 */
function updateSession(
  sessionID: string,
  fields: Partial<SessionMemory['info']>,
  { at, raw, memory }: ReceivedFrame,
): readonly ReplyEvent[] {
  const session = memory.of(sessionID)
  session.info = { ...session.info, ...fields }
  return session.isKnown ? [toSessionEvent(session.info, at, raw)] : []
}

/** Returns `busy` at the first prompt or step of an execution. Empty from then on. */
function beginRun(session: SessionMemory, { at, raw }: ReceivedFrame): readonly ReplyEvent[] {
  if (session.execution === 'ran') return []
  session.execution = 'ran'
  return [{ type: 'status', at, raw, sessionID: session.info.sessionID, status: 'busy' }]
}

/**
 * Forgets the execution's calls and steps, and returns `idle`. Empty if the execution ran nothing, unless `isSure`,
 * which means that a run surely ended.
 */
function endRun(
  session: SessionMemory,
  { at, raw, frame }: ReceivedFrame,
  { isSure = false } = {},
): readonly ReplyEvent[] {
  const isEmpty = session.execution === 'empty'
  session.execution = 'unseen'
  session.isRejected = false
  session.isStopped = false
  session.calls.clear()
  session.steps.clear()
  if (isEmpty && !isSure) return []
  return [{ type: 'status', at, raw, sessionID: session.info.sessionID, happenedAt: frame.created, status: 'idle' }]
}

/**
 * Ends an interrupted run and returns its events. After a server's shutdown it is lost, because only a resumed run would
 * show more of it. A rejected ask and a canceled form interrupt their run as a "shutdown" too, which is a normal end. For
 * any other reason, a person stopped it, so it is aborted.
 */
function interruptRun(sessionID: string, reason: string, received: ReceivedFrame): readonly ReplyEvent[] {
  const { at, raw, frame, memory } = received
  const session = memory.of(sessionID)
  const endsNormally = reason === 'shutdown' && session.isRejected
  const isLost = reason === 'shutdown' && !session.isRejected
  const error = { name: 'MessageAbortedError', message: 'The run was interrupted.', raw: frame.wire } as const
  return [
    ...(endsNormally || isLost
      ? []
      : [{ type: 'error', at, raw, sessionID, happenedAt: frame.created, error } as const]),
    ...(isLost ? [{ type: 'settle', at, raw, sessionID, by: 'lost' } as const] : []),
    ...endRun(session, received),
  ]
}

/**
 * Returns the events of a step that has ended: its usage, if its cost and tokens are known, and its completed message.
 * Its agent, time and prompt are absent if its beginning was missed.
 */
function endStep(
  data: EventData<'session.step.ended'>,
  error: MessageHead['error'],
  { at, raw, frame, memory }: ReceivedFrame,
): readonly ReplyEvent[] {
  const { sessionID, assistantMessageID: id, finish, cost } = data
  const tokens = data.tokens && toTokens(data.tokens)
  const { agent, createdAt, parentID } = memory.of(sessionID).steps.get(id) ?? {}
  const { created: completedAt } = frame
  const step = { agent, createdAt, parentID, completedAt, finish, cost, tokens, error, raw: frame.wire }
  const message: ReplyEvent = { type: 'message', at, raw, sessionID, message: toHead(id, 'assistant', step) }
  const part = toStepFinish(id, { finish, cost, tokens })
  return part ? [{ type: 'part', at, raw, sessionID, part }, message] : [message]
}

/**
 * Counts the run's next compaction and returns it, as a part of the prompt that it works on, because the wire has no id
 * for it. Undefined if the prompt is unknown.
 */
function countCompaction(session: SessionMemory): CompactionPart | undefined {
  const { promptID: messageID, compactions } = session
  session.compactions += 1
  if (messageID === undefined) return undefined
  const id = `${messageID}.compaction.${compactions}`
  return { id, messageID, status: 'sealed', raw: undefined, type: 'compaction', auto: true }
}

/**
 * Stores the session's new total. During a compaction, also stores the difference to the previous total as the cost of
 * its call, unless that total is unknown.
 */
function storeSpent(session: SessionMemory, { cost, tokens }: EventData<'session.usage.updated'>): void {
  const spent = { cost, tokens: toTokens(tokens) }
  if (session.summary && session.spent) session.summary.call = subtractSpent(spent, session.spent)
  session.spent = spent
}

/**
 * Forgets the running compaction and returns the usage of the call that wrote its summary. Undefined if it is unknown.
 * The total before the compaction's end includes it.
 */
function takeSummaryUsage(session: SessionMemory): SummaryStep | undefined {
  const { messageID, call } = session.summary ?? {}
  session.summary = undefined
  return messageID === undefined || call === undefined ? undefined : { messageID, ...call }
}

/** Returns what was spent since an earlier total. */
function subtractSpent({ cost, tokens }: Spent, before: Spent): Spent {
  return {
    // Rounds to a millionth of a cent, because a difference of two sums has digits that no price has.
    cost: Math.round((cost - before.cost) * 1e8) / 1e8,
    tokens: {
      input: tokens.input - before.tokens.input,
      output: tokens.output - before.tokens.output,
      reasoning: tokens.reasoning - before.tokens.reasoning,
      cacheRead: tokens.cacheRead - before.tokens.cacheRead,
      cacheWrite: tokens.cacheWrite - before.tokens.cacheWrite,
    },
  }
}
