import type * as z from 'zod/mini'
import type { MessageHead, ReplyEvent } from '../../../event.ts'
import type { CompactionPart } from '../../../part.ts'
import type { SummaryStep } from '../../../reply.ts'
import { sentenceOf } from '../../../text/sentence.ts'
import { toAnswers, toPermission, toQuestion } from './ask.ts'
import { accept, forgetFrom, noteMessage, type SessionMemory, type Spent } from './memory.ts'
import {
  head,
  isAborted,
  isNotice,
  toFailure,
  toModel,
  toPromptParts,
  toStepFinish,
  toSyntheticText,
  toTokens,
} from './part.ts'
import { partReaders } from './read-part.ts'
import type { Context, Readers } from './reader.ts'
import type { eventSchemas } from './schema.ts'
import { toSessionInfo } from './session.ts'

/** One reader per type, for data that fits its schema. */
export const readers: Readers = {
  'session.created': (data, context) => introduce(data.sessionID, data, context),
  // A fork is a root, however it names its origin.
  'session.forked': (data, context) => introduce(data.sessionID, {}, context),
  'session.renamed': ({ sessionID, title }, context) => changed(sessionID, { title }, context),
  'session.deleted': ({ sessionID }, { at, raw, memory }) => {
    memory.forget(sessionID)
    return [{ type: 'session-removed', at, raw, sessionID }]
  },
  'session.inbox.enqueued': ({ sessionID, inboxID, item }, { frame, memory }) => {
    const { type, payload } = item
    const session = memory.of(sessionID)
    session.inbox.set(inboxID, { type, text: payload?.text, files: payload?.files, metadata: payload?.metadata })
    accept(session, inboxID, frame.created)
    return []
  },
  'session.inbox.delivered': ({ sessionID, inboxID }, context) => {
    const { at, raw, frame, memory } = context
    const session = memory.of(sessionID)
    // An input that was accepted before this client listened counts as a prompt, which most are. A read gets its text.
    const item = session.inbox.get(inboxID) ?? { type: 'user' }
    session.inbox.delete(inboxID)
    if (item.type !== 'user' && (item.type !== 'synthetic' || isNotice(item))) return []
    noteMessage(session, inboxID)
    session.promptID = inboxID
    session.compactions = 0
    // An input that waited behind a run and did not join it gets the time of its delivery, as over REST.
    const isFirst = session.execution === 'empty'
    const createdAt = (isFirst ? undefined : session.acceptedAt.get(inboxID)) ?? frame.created
    const stopped = session.isStopped ? end(session, context, { isSure: true }) : []
    const parts = item.type === 'user' ? toPromptParts(inboxID, item) : [toSyntheticText(inboxID, item.text ?? '')]
    const message = head(inboxID, 'user', { createdAt, raw: frame.wire })
    // The end was missed because the session was first read between the two runs.
    const events: ReplyEvent[] = [...stopped, { type: 'message', at, raw, sessionID, message }]
    for (const part of parts) events.push({ type: 'part', at, raw, sessionID, part })
    // After the prompt, which may be the first sign that the previous run was lost.
    return [...events, ...begin(session, context)]
  },
  'session.inbox.cancelled': ({ sessionID, inboxID }, { memory }) => {
    memory.of(sessionID).inbox.delete(inboxID)
    return []
  },
  // An execution may be empty, because a run begins with its first prompt or step.
  'session.execution.started': ({ sessionID }, { memory }) => {
    const session = memory.of(sessionID)
    session.isRejected = false
    session.execution = 'empty'
    return []
  },
  'session.execution.succeeded': ({ sessionID }, context) => end(context.memory.of(sessionID), context),
  'session.execution.failed': ({ sessionID, error }, context) => {
    const { at, raw, frame, memory } = context
    const failed = { type: 'error', at, raw, sessionID, happenedAt: frame.created, error: toFailure(error) } as const
    return [failed, ...end(memory.of(sessionID), context, { isSure: true })]
  },
  'session.execution.interrupted': ({ sessionID, reason }, context) => interrupted(sessionID, reason, context),
  'session.step.started': (data, context) => {
    const { sessionID, assistantMessageID: id, agent, started } = data
    const { at, raw, frame, memory } = context
    const session = memory.of(sessionID)
    session.isRejected = false
    noteMessage(session, id)
    // A step that starts again replaces one without output, and keeps its time.
    const createdAt = session.steps.get(id)?.createdAt ?? started ?? frame.created
    const { promptID: parentID } = session
    session.steps.set(id, { agent, createdAt, parentID })
    const model = toModel(data.model)
    const message = head(id, 'assistant', { agent, model, createdAt, parentID, raw: frame.wire })
    return [...begin(session, context), { type: 'message', at, raw, sessionID, message }]
  },
  'session.step.ended': (data, context) => endStep(data, undefined, context),
  'session.step.failed': (data, context) => {
    const session = context.memory.of(data.sessionID)
    session.isStopped = session.isRejected && isAborted(data.error)
    // A rejection interrupts the step, which is the normal end of its run and not an error.
    if (session.isStopped) return endStep({ ...data, finish: 'tool-calls' }, undefined, context)
    // The event has no finish, but the stored step has this one.
    return endStep({ finish: 'error', ...data }, toFailure(data.error), context)
  },
  ...partReaders,
  // Version 2 counts attempts, from the second on, while a reply counts retries.
  'session.retry.scheduled': ({ sessionID, attempt, at: nextAt, error }, { at, raw }) => [
    { type: 'retry', at, raw, sessionID, attempt: attempt - 1, message: sentenceOf(error?.message ?? ''), nextAt },
  ],
  // A compaction that a person requests is a separate execution and not part of a run.
  'session.usage.updated': (data, { memory }) => {
    noteSpent(memory.of(data.sessionID), data)
    return []
  },
  'session.compaction.started': ({ sessionID, reason, inputID }, { at, raw, frame, memory }) => {
    const session = memory.of(sessionID)
    // If the server starts the compaction, its message has the id of this event, as REST shows.
    const messageID = inputID ?? frame.id?.replace(/^evt_/, 'msg_')
    session.summary = messageID === undefined ? undefined : { messageID, call: undefined }
    const part = reason === 'manual' ? undefined : beginCompaction(session)
    return part ? [{ type: 'part', at, raw, sessionID, part }] : []
  },
  'session.compaction.ended': ({ sessionID }, { at, raw, memory }) => [
    { type: 'compacted', at, raw, sessionID, summary: endCompaction(memory.of(sessionID)) },
  ],
  'session.compaction.failed': ({ sessionID }, { at, raw, memory }) => {
    memory.of(sessionID).summary = undefined
    const part = compactionOf(memory.of(sessionID))
    return part ? [{ type: 'part-removed', at, raw, sessionID, messageID: part.messageID, partID: part.id }] : []
  },
  'session.revert.staged': ({ sessionID, revert }, context) =>
    changed(sessionID, { revertedTo: revert.messageID }, context),
  'session.revert.cleared': ({ sessionID }, context) => changed(sessionID, { revertedTo: undefined }, context),
  'session.revert.committed': ({ sessionID, to }, context) => [
    ...changed(sessionID, { revertedTo: undefined }, context),
    ...forgetFrom(context.memory.of(sessionID), to).map(
      (messageID): ReplyEvent => ({ type: 'message-removed', at: context.at, raw: context.raw, sessionID, messageID }),
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
  'permission.replied': ({ sessionID, requestID, reply }, { at, raw, memory }) => {
    if (reply === 'reject') memory.of(sessionID).isRejected = true
    return [{ type: 'ask-closed', at, raw, sessionID, requestID, how: { type: 'permission', reply } }]
  },
  'form.created': ({ form }, { at, raw, frame, memory }) => {
    const { sessionID } = form
    memory.of(sessionID).forms.set(form.id, form)
    const { directory } = frame
    return [{ type: 'asked', at, raw, sessionID, directory, ask: toQuestion(form, { at, directory }) }]
  },
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

function introduce(
  sessionID: string,
  wire: Parameters<typeof toSessionInfo>[0],
  { at, raw, frame, memory }: Context,
): readonly ReplyEvent[] {
  const session = memory.of(sessionID)
  const info = toSessionInfo(wire, sessionID)
  session.info = info.directory === undefined ? { ...info, directory: frame.directory } : info
  session.isKnown = true
  return [sessionEvent(session.info, at, raw)]
}

function sessionEvent(info: SessionMemory['info'], at: number, raw: unknown): ReplyEvent {
  const { sessionID, parentID, title, directory, createdAt, revertedTo } = info
  return { type: 'session', at, raw, sessionID, parentID, title, directory, createdAt, revertedTo }
}

/** Skips a session that was never introduced, because a `session` event without its parent would make it a root. */
function changed(
  sessionID: string,
  more: Partial<SessionMemory['info']>,
  { at, raw, memory }: Context,
): readonly ReplyEvent[] {
  const session = memory.of(sessionID)
  session.info = { ...session.info, ...more }
  return session.isKnown ? [sessionEvent(session.info, at, raw)] : []
}

function begin(session: SessionMemory, { at, raw }: Context): readonly ReplyEvent[] {
  if (session.execution === 'ran') return []
  session.execution = 'ran'
  return [{ type: 'status', at, raw, sessionID: session.info.sessionID, status: 'busy' }]
}

/** Ends a run. An execution that ran nothing has no run to end, unless it failed. */
function end(session: SessionMemory, { at, raw, frame }: Context, { isSure = false } = {}): readonly ReplyEvent[] {
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
 * Whether a person stopped the run. A rejection and a canceled form interrupt their run as a "shutdown" too. After any
 * other shutdown, only a resumed run would show the end.
 */
function interrupted(sessionID: string, reason: string, context: Context): readonly ReplyEvent[] {
  const { at, raw, frame, memory } = context
  const session = memory.of(sessionID)
  const isStopped = reason === 'shutdown' && session.isRejected
  const isLost = reason === 'shutdown' && !session.isRejected
  const error = { name: 'MessageAbortedError', message: 'The run was interrupted.', raw: frame.wire } as const
  return [
    ...(isStopped || isLost ? [] : [{ type: 'error', at, raw, sessionID, happenedAt: frame.created, error } as const]),
    ...(isLost ? [{ type: 'settle', at, raw, sessionID, by: 'lost' } as const] : []),
    ...end(session, context),
  ]
}

function endStep(
  data: z.infer<(typeof eventSchemas)['session.step.ended']>,
  error: MessageHead['error'],
  { at, raw, frame, memory }: Context,
): readonly ReplyEvent[] {
  const { sessionID, assistantMessageID: id, finish, cost } = data
  const tokens = data.tokens && toTokens(data.tokens)
  const { agent, createdAt, parentID } = memory.of(sessionID).steps.get(id) ?? {}
  const { created: completedAt } = frame
  const step = { agent, createdAt, parentID, completedAt, finish, cost, tokens, error, raw: frame.wire }
  const message: ReplyEvent = { type: 'message', at, raw, sessionID, message: head(id, 'assistant', step) }
  const part = toStepFinish(id, { finish, cost, tokens })
  return part ? [{ type: 'part', at, raw, sessionID, part }, message] : [message]
}

/** The next compaction of a run, as a part of the prompt that it works on, because the wire has no id for it. */
function beginCompaction(session: SessionMemory): CompactionPart | undefined {
  session.compactions += 1
  return compactionOf(session)
}

/** The newest compaction of the run. Undefined if there was none, or the prompt is unknown. */
function compactionOf({ promptID: messageID, compactions }: SessionMemory): CompactionPart | undefined {
  if (messageID === undefined || compactions === 0) return undefined
  const id = `${messageID}.compaction.${compactions - 1}`
  return { id, messageID, status: 'sealed', raw: undefined, type: 'compaction', auto: true }
}

/** Stores the session's new total. Only the difference to the previous total is the cost of a call. */
function noteSpent(
  session: SessionMemory,
  { cost, tokens }: z.infer<(typeof eventSchemas)['session.usage.updated']>,
): void {
  const spent = { cost, tokens: toTokens(tokens) }
  if (session.summary && session.spent) session.summary.call = minus(spent, session.spent)
  session.spent = spent
}

/**
 * The usage of the call that wrote the summary. It is included in the total before the compaction's end. Undefined if
 * it is unknown.
 */
function endCompaction(session: SessionMemory): SummaryStep | undefined {
  const { messageID, call } = session.summary ?? {}
  session.summary = undefined
  return messageID === undefined || call === undefined ? undefined : { messageID, ...call }
}

function minus({ cost, tokens }: Spent, before: Spent): Spent {
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
