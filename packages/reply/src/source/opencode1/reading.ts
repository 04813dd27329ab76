import type { Clock } from '../../clock.ts'
import { type OnError, ReplyError, undefinedIfGone } from '../../error.ts'
import type { SessionRef } from '../../session-ref.ts'
import type { AskList, MessageRead, Reach, Reading, SessionInfo, SessionRead, WorkStatus } from '../port.ts'
import { reaches } from '../reaches.ts'
import {
  toReadMessages,
  toReadPermissions,
  toReadQuestions,
  toReadSessions,
  toReadStatuses,
  toReadTodos,
} from './decode/rest-responses.ts'
import type { Places } from './places.ts'
import type { Rest } from './rest.ts'

/** The parts of the source that a reading uses. */
export interface ReadingSource {
  readonly rest: Rest
  readonly places: Places
  /** Reads the sessions of a directory that are not idle. */
  readonly working: Reading['working']
  readonly clock: Clock
  readonly onError: OnError
}

type Directory = string | undefined

/** The lists that cover all sessions of a directory. */
interface DirectoryLists {
  readonly working: Reading['working']
  readonly asks: (directory: Directory) => Promise<AskList & { readonly isSound: boolean }>
}

/**
 * Begins a reading. Lists that cover all sessions of a directory are requested once per reading, no matter how many
 * sessions are read.
 */
export function startReading(source: ReadingSource): Reading {
  const { rest, places, clock, onError } = source
  const working = oncePerDirectory(source.working)
  const asks = oncePerDirectory(readAllAsks)
  return { working, session: readSession }

  /** Returns the asks of a directory and whether all items could be read. Reports malformed ones. */
  async function readAllAsks(directory: Directory) {
    let isSound = true
    const reportUnsound: OnError = (error) => {
      isSound = false
      onError(error)
    }
    return { ...(await readAsks(rest, clock, reportUnsound, directory)), isSound }
  }

  /**
   * Reads a session's status, then its messages, to-do list, sub-agents and asks. Everything after the status is at
   * least as new, so a session that it reports as idle is read complete. The to-do list and the sub-agents are
   * undefined if the server no longer has the session.
   */
  async function readState(place: SessionRef, reach: Reach, report: OnError, lists: DirectoryLists) {
    const statuses = await lists.working(place.directory)
    const [history, todos, children, pending] = await Promise.all([
      readHistory(rest, place, reach, report),
      rest.todos(place).catch(undefinedIfGone),
      rest.children(place).catch(undefinedIfGone),
      lists.asks(place.directory),
    ])
    return { status: statuses.get(place.sessionID), history, todos, children, pending }
  }

  /**
   * Reads a session. Reads its state a second time if its status and messages contradict each other. An idle session
   * has no asks.
   */
  async function readSession(place: SessionRef, reach: Reach): Promise<SessionRead> {
    let isSound = true
    const reportUnsound: OnError = (error) => {
      isSound = false
      onError(error)
    }
    const info = await places.session(place)
    const { sessionID, directory = place.directory } = info
    const spelledPlace = { sessionID, directory }
    const first = await readState(spelledPlace, reach, reportUnsound, { working, asks })
    // Either the server was stopped during that step, or the run began between the two readings, and then the next ones
    // show it.
    const isUnsure = first.status === undefined && isAtStep(first.history.messages)
    const freshLists = { working: source.working, asks: readAllAsks }
    const { status, history, todos, children, pending } = isUnsure
      ? await readState(spelledPlace, reach, reportUnsound, freshLists)
      : first
    return {
      info,
      ...history,
      working: status,
      // An idle session has no pending asks. An aborted run leaves its asks behind, on servers up to 1.2 forever.
      asks: status ? pending.asks.filter((ask) => ask.sessionID === sessionID) : [],
      todos: toReadTodos(todos, reportUnsound),
      children: toReadSessions(children, reportUnsound),
      // Last, because the lines above report too.
      isSound: isSound && pending.isSound,
    }
  }
}

/** Whether the newest step has not ended. False without steps. */
function isAtStep(messages: readonly MessageRead[]): boolean {
  const last = messages.findLast(({ head }) => head.role === 'assistant')?.head
  return last !== undefined && last.completedAt === undefined && last.error === undefined
}

/** Returns the sessions of a directory that are not idle. Reports an unknown status, which counts as busy. */
export async function readWorking(
  rest: Pick<Rest, 'status'>,
  onError: OnError,
  directory: Directory,
): Promise<ReadonlyMap<string, WorkStatus>> {
  return toReadStatuses(await rest.status(directory), onError)
}

/**
 * Returns the pending questions and permissions of a directory. The list isn't whole if the server lacks or fails one
 * of the routes.
 */
export async function readAsks(
  rest: Pick<Rest, 'questions' | 'permissions'>,
  clock: Clock,
  onError: OnError,
  directory: Directory,
): Promise<AskList> {
  const [questions, permissions] = await Promise.all([
    rest.questions(directory).catch(undefinedIfUnknownRoute),
    rest.permissions(directory).catch(undefinedIfUnlistable),
  ])
  const origin = { at: clock.now(), directory }
  return {
    asks: [...toReadQuestions(questions, origin, onError), ...toReadPermissions(permissions, origin, onError)],
    isWhole: Array.isArray(questions) && Array.isArray(permissions),
  }
}

/** Returns a function that reads each directory once and then repeats its result, also its error. */
function oncePerDirectory<T>(read: (directory: Directory) => Promise<T>): (directory: Directory) => Promise<T> {
  const reads = new Map<Directory, Promise<T>>()
  return (directory) => {
    const found = reads.get(directory) ?? read(directory)
    reads.set(directory, found)
    return found
  }
}

/**
 * Returns undefined if the server can't list permissions, and throws other errors. Servers from 1.17 on answer 400
 * while a permission to fetch a page is pending whose call has no `timeout` (measured on 1.17.19, 1.18.33 and 1.18.34).
 * Pending asks are then only known from the stream.
 */
function undefinedIfUnlistable(error: unknown): undefined {
  const isBroken = error instanceof ReplyError && error.type === 'refused' && /\(400\)/.test(error.message)
  if (!isBroken) undefinedIfUnknownRoute(error)
}

/** Returns undefined if the server doesn't have the route, as before 1.1, and throws other errors. */
function undefinedIfUnknownRoute(error: unknown): undefined {
  if (!(error instanceof ReplyError) || error.type !== 'not-opencode') throw error
}

interface History {
  /** The messages in the server's order. */
  readonly messages: readonly MessageRead[]
  /** Whether these are all messages of the session. */
  readonly isWhole: boolean
}

/** Most runs have fewer messages. */
const firstPage = 20

/** A page of this size parses in a few milliseconds. */
const largestPage = 160

/** How many messages are decoded per batch. Other work can run between batches. */
const batchSize = 100

/**
 * Returns a session's newest messages, back to the beginning of the last run or of the run that `reach` requires. Reads
 * pages from 1.2 on. Older servers only take a limit, so this requests again with a larger one.
 */
export async function readHistory(
  rest: Pick<Rest, 'messages'>,
  place: SessionRef,
  reach: Reach,
  onError: OnError,
): Promise<History> {
  let messages: readonly MessageRead[] = []
  let limit = firstPage
  let before: string | undefined
  for (;;) {
    const page = await rest.messages(place, { limit, before })
    const read = await toMessagesInBatches(page.data, onError)
    const { next } = page
    messages = before === undefined ? read : [...read, ...messages]
    const isLast = next === undefined && (before !== undefined || lengthOfList(page.data) !== limit)
    if (isLast || (next === before && next !== undefined)) return { messages, isWhole: true }
    if (reaches(messages, reach)) return { messages, isWhole: false }
    limit = next === undefined ? limit * 4 : Math.min(2 * limit, largestPage)
    before = next
  }
}

/** Converts a response to messages, in batches between which other work can run. Reports and drops malformed ones. */
async function toMessagesInBatches(data: unknown, onError: OnError): Promise<readonly MessageRead[]> {
  if (!Array.isArray(data) || data.length <= batchSize) return toReadMessages(data, onError)
  const read: (readonly MessageRead[])[] = []
  for (let at = 0; at < data.length; at += batchSize) {
    if (at > 0) await new Promise((resolve) => setTimeout(resolve, 0))
    read.push(toReadMessages(data.slice(at, at + batchSize), onError))
  }
  return read.flat()
}

/** Returns the number of items. 0 if the value isn't a list. */
function lengthOfList(data: unknown): number {
  return Array.isArray(data) ? data.length : 0
}

/**
 * Returns the newest time in a directory, in ms since the epoch. Undefined without sessions. Also reads the newest
 * message of the newest session and of its parent, because a session's own time may be older, and ignores one that
 * can't be read. Servers before 1.2 order sessions by creation, so all are read.
 */
export async function readNewestTime(
  { rest, places, onError }: Pick<ReadingSource, 'rest' | 'places' | 'onError'>,
  directory: string | undefined,
): Promise<number | undefined> {
  const isOrdered = !(await places.keepsProjectsApart())
  const listed = await (isOrdered ? rest.newestSession(directory) : rest.sessions(undefined, directory))
  const newest = newestSession(toReadSessions(listed, onError))
  const ids = [newest?.sessionID, newest?.parentID].filter((id) => id !== undefined)
  const home = newest?.directory ?? directory
  const read = ids.map((sessionID) => rest.newestMessage({ sessionID, directory: home }).catch(() => []))
  const times = (await Promise.all(read)).flatMap((value) => toReadMessages(value, onError).flatMap(timesOf))
  const allTimes = [...times, ...(newest?.updatedAt === undefined ? [] : [newest.updatedAt])]
  return allTimes.length === 0 ? undefined : Math.max(...allTimes)
}

/** Returns the most recently updated session. One without a time counts as the oldest. Undefined without sessions. */
function newestSession(sessions: readonly SessionInfo[]): SessionInfo | undefined {
  return sessions.reduce<SessionInfo | undefined>(
    (newest, session) => ((session.updatedAt ?? 0) > (newest?.updatedAt ?? -1) ? session : newest),
    undefined,
  )
}

/** Returns when a message was created and completed, as far as known. */
function timesOf({ head: { createdAt, completedAt } }: MessageRead): readonly number[] {
  return [createdAt, completedAt].filter((time) => time !== undefined)
}
