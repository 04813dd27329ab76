import type { Clock } from '../../clock.ts'
import { type OnError, ReplyError } from '../../error.ts'
import { isFields } from '../../fields.ts'
import type { SessionRef } from '../../session-ref.ts'
import type { AskList, MessageRead, Reach, Reading, SessionInfo, SessionRead, WorkStatus } from '../port.ts'
import { reaches } from '../reaches.ts'
import type { InboxRead } from './decode/inbox.ts'
import { type Memory, storeAcceptedAt, storeMessageID } from './decode/memory.ts'
import {
  addPromptsAndTimes,
  dataIn,
  endsInRejection,
  listIn,
  nextIn,
  toReadActive,
  toReadForms,
  toReadMessages,
  toReadPermissions,
  toReadQuestions,
  toReadSession,
  toReadSessions,
} from './decode/rest-responses.ts'
import type { Inbox } from './inbox.ts'
import type { Rest } from './rest.ts'

/** The parts of the source that a reading uses. */
export interface ReadingSource {
  readonly rest: Rest
  readonly inbox: Inbox
  readonly memory: Memory
  /** Reads the sessions of the server that are not idle. */
  readonly working: () => ReturnType<Reading['working']>
  readonly clock: Clock
  readonly onError: OnError
}

/** Begins a reading. The list of running sessions covers the whole server, so it is requested once per reading. */
export function startReading(source: ReadingSource): Reading {
  const { rest, inbox, memory, onError } = source
  let statuses: Promise<ReadonlyMap<string, WorkStatus>> | undefined
  return { working: readWorkingOnce, session: readWholeSession }

  /** Returns the sessions that are not idle. All calls share one request. */
  function readWorkingOnce(): Promise<ReadonlyMap<string, WorkStatus>> {
    statuses ??= source.working()
    return statuses
  }

  /**
   * Returns the status with the inbox and messages that are read after it. They are at least as new, so a session with
   * the status idle is read complete.
   */
  async function readState(sessionID: string, reach: Reach, reportUnsound: OnError, status: WorkStatus | undefined) {
    // Before the messages, so an input that has left the inbox by then is one of them.
    const waiting = await inbox.read(sessionID)
    return { status, waiting, history: await readHistory(rest, sessionID, reach, reportUnsound) }
  }

  /**
   * Reads a session and stores what later events don't repeat. Reads its state a second time if a prompt without a step
   * contradicts its status. A session without messages, or with only those that a fork copied, counts as idle. It has
   * no asks if the server reports it as idle.
   */
  async function readWholeSession(place: SessionRef, reach: Reach): Promise<SessionRead> {
    let isSound = true
    const reportUnsound: OnError = (error) => {
      isSound = false
      onError(error)
    }
    const { sessionID } = place
    const info = await readSession(rest, place)
    const first = await readState(sessionID, reach, reportUnsound, (await readWorkingOnce()).get(sessionID))
    // A prompt without a step may belong to a run that began between the two readings. A second read then shows it.
    const isSure = first.status !== undefined || first.history.messages.at(-1)?.head.role !== 'user'
    const { status, waiting, history } = isSure
      ? first
      : await readState(sessionID, reach, reportUnsound, (await source.working()).get(sessionID))
    const [children, asks] = await Promise.all([readChildren(rest, sessionID), readSessionAsks(source, info)])
    storeSession(memory, info, history.messages)
    storeWaiting(memory, sessionID, waiting)
    const { acceptedAt, cutIDs } = memory.of(sessionID)
    const joined = addPromptsAndTimes(history.messages, acceptedAt)
    const last = joined.at(-1)
    if (status === undefined && last && isAbortedStep(last) && (await wasServerStopped(source, sessionID)))
      cutIDs.add(last.head.id)
    // A managed service resumes such a run with the next step.
    const messages = joined.map((message, at) => {
      const isOver = joined[at + 1]?.head.role === 'assistant'
      return cutIDs.has(message.head.id) && !isOver ? reopenStep(message) : message
    })
    // An execution without a prompt or a step runs nothing of ours, for example a person's own shell command.
    const isIdle = history.isWhole && history.messages.every((message) => isForkedCopy(message, info))
    return {
      info,
      ...history,
      messages,
      isSound,
      working: isIdle ? undefined : status,
      asks: status ? asks : [],
      todos: [],
      children,
    }
  }
}

/** Returns a session without its content. Rejects with `malformed` if the response isn't one. */
export async function readSession(rest: Rest, { sessionID }: SessionRef): Promise<SessionInfo> {
  const session = toReadSession(dataIn(await rest.get(`/session/${sessionID}`)))
  if (session) return session
  const message = `The server's response for session ${JSON.stringify(sessionID)} is not a session.`
  throw new ReplyError('malformed', message)
}

/** Returns the sessions of the server that are not idle, each as `busy`. */
export async function readWorking(rest: Rest): Promise<ReadonlyMap<string, WorkStatus>> {
  return new Map(toReadActive(await rest.get('/session/active')).map((id) => [id, { status: 'busy' }]))
}

/** Returns the sessions of the sub-agents that this session started. */
export async function readChildren(rest: Rest, sessionID: string): Promise<readonly SessionInfo[]> {
  return toReadSessions(await readAllPages(rest, '/session', { parentID: sessionID, limit: '100' }))
}

/**
 * Returns the permissions and questions of a directory, and stores the questions' forms, which answers need. Servers of
 * preview builds list forms under another route, which is tried if the first fails.
 */
export async function readAsks(source: ReadingSource, directory: string | undefined): Promise<AskList> {
  const { rest, memory, clock } = source
  const query = { 'location[directory]': directory }
  const [permissions, forms] = await Promise.all([
    rest.get('/permission/request', { query }),
    rest.get('/form/request', { query }).catch(() => rest.get('/form', { query })),
  ])
  const origin = { at: clock.now(), directory }
  const read = toReadForms(listIn(forms))
  for (const form of read) memory.of(form.sessionID).forms.set(form.id, form)
  return { asks: [...toReadPermissions(listIn(permissions), origin), ...toReadQuestions(read, origin)], isWhole: true }
}

/** Returns the permissions and questions of one session, and stores the questions' forms, which answers need. */
async function readSessionAsks(source: ReadingSource, { sessionID, directory }: SessionInfo): Promise<AskList['asks']> {
  const { rest, memory, clock } = source
  const [permissions, forms] = await Promise.all([
    rest.get(`/session/${sessionID}/permission`),
    rest.get(`/session/${sessionID}/form`),
  ])
  const origin = { at: clock.now(), directory }
  const read = toReadForms(listIn(forms))
  for (const form of read) memory.of(sessionID).forms.set(form.id, form)
  return [...toReadPermissions(listIn(permissions), origin), ...toReadQuestions(read, origin)]
}

/** Servers return at most 200 messages a page. */
const firstPage = 20
const largestPage = 200

/**
 * Returns a session's newest messages, oldest first, back to the beginning of the last run or of the run that `reach`
 * requires. Reports and drops malformed ones.
 */
async function readHistory(
  rest: Rest,
  sessionID: string,
  reach: Reach,
  onError: OnError,
): Promise<{ readonly messages: readonly MessageRead[]; readonly isWhole: boolean }> {
  let messages: readonly MessageRead[] = []
  let limit = firstPage
  let cursor: string | undefined
  for (;;) {
    // A cursor keeps the order of its page, newest first.
    const query = cursor === undefined ? { limit: String(limit), order: 'desc' } : { limit: String(limit), cursor }
    const page = await rest.get(`/session/${sessionID}/message`, { query })
    const items = listIn(page)
    messages = [...toReadMessages(items.toReversed(), onError), ...messages]
    const next = nextIn(page)
    if (items.length < limit || next === undefined || next === cursor) return { messages, isWhole: true }
    if (reaches(messages, reach)) return { messages, isWhole: false }
    cursor = next
    limit = Math.min(2 * limit, largestPage)
  }
}

/**
 * Returns the items of all pages of a list. The query must have a `limit`. A page with fewer items or without a new
 * cursor is the last.
 */
export async function readAllPages(
  rest: Rest,
  route: string,
  query: Readonly<Record<string, string | undefined>>,
): Promise<readonly unknown[]> {
  const allItems: unknown[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await rest.get(route, { query: { ...query, cursor } })
    const items = listIn(page)
    allItems.push(...items)
    const next = nextIn(page)
    if (items.length < Number(query.limit) || next === undefined || next === cursor) return allItems
    cursor = next
  }
}

/**
 * Stores what later events don't repeat: the session's parent, the ids of its messages, its newest prompt, its
 * unfinished calls, and whether a rejection ended its last step.
 */
function storeSession(memory: Memory, info: SessionInfo, messages: readonly MessageRead[]): void {
  const session = memory.of(info.sessionID)
  session.info = info
  session.isKnown = true
  if (endsInRejection(messages)) session.isRejected = true
  session.isStopped = messages.at(-1)?.head.endsRun === true
  for (const { head, parts } of messages) {
    storeMessageID(session, head.id)
    if (head.role === 'user') session.promptID = head.id
    for (const part of parts) {
      if (part.type !== 'tool' || part.status === 'sealed') continue
      const { status, input, metadata, startedAt } = part.state
      const isCalled = status !== 'pending'
      session.calls.set(`${part.messageID} ${part.callID}`, { tool: part.tool, input, isCalled, metadata, startedAt })
    }
  }
}

/**
 * Stores waiting inputs, because the event that delivers one only has its id. Skips those that are already messages.
 */
function storeWaiting(memory: Memory, sessionID: string, waiting: readonly InboxRead[]): void {
  const session = memory.of(sessionID)
  for (const { id, type, payload, createdAt } of waiting) {
    if (session.messageIDs.has(id)) continue
    session.inbox.set(id, { ...payload, type })
    storeAcceptedAt(session, id, createdAt)
  }
}

/**
 * Whether a message was copied by a fork: it is older than the session and has ended. False if either time is unknown.
 */
function isForkedCopy({ head }: MessageRead, { createdAt: forkedAt = 0 }: SessionInfo): boolean {
  const { role, createdAt = forkedAt, completedAt, finish } = head
  const isOver = role === 'user' || (completedAt !== undefined && finish !== 'tool-calls')
  return isOver && createdAt < forkedAt
}

/** Whether a step ended because it was interrupted. */
function isAbortedStep({ head }: MessageRead): boolean {
  return head.error?.name === 'MessageAbortedError'
}

/**
 * Whether the session's last run ended because its server stopped. Its step looks like one that a person interrupted, and
 * only the log tells the reason. Resolves to false if no event of the session was seen or the log can't be read. The
 * log is experimental, and long without a start position.
 */
async function wasServerStopped({ rest, memory }: ReadingSource, sessionID: string): Promise<boolean> {
  const { lastSeq: after } = memory.of(sessionID)
  if (after === undefined) return false
  const query = { after: String(after) }
  const events = await rest.events(`/experimental/session/${sessionID}/log`, { query }).catch(() => [])
  return interruptReason(events) === 'shutdown'
}

/** Returns a message without its end, finish and error, for a step that was cut off with its server. */
function reopenStep(message: MessageRead): MessageRead {
  const { error: _, finish: __, completedAt: ___, ...head } = message.head
  return { ...message, head }
}

/** Returns why the last execution in a session's log was interrupted. Undefined if it was not, or without a reason. */
function interruptReason(events: readonly unknown[]): string | undefined {
  const last = events.findLast(
    (event) => isFields(event) && typeof event.type === 'string' && event.type.startsWith('session.execution.'),
  )
  const reason = isFields(last) && isFields(last.data) ? last.data.reason : undefined
  return typeof reason === 'string' ? reason : undefined
}
