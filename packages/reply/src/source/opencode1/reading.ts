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
} from './decode/rest.ts'
import type { Places } from './places.ts'
import type { Rest } from './rest.ts'

export interface ReadingOptions {
  readonly rest: Rest
  readonly places: Places
  /** Reads the sessions of a directory that are not idle. */
  readonly working: Reading['working']
  readonly clock: Clock
  readonly onError: OnError
}

type Directory = string | undefined

interface StateOptions {
  readonly reach: Reach
  readonly note: OnError
  readonly working: Reading['working']
  readonly asks: (directory: Directory) => Promise<AskList & { readonly isSound: boolean }>
}

/**
 * Begins a reading. Lists that cover all sessions of a directory are requested once per reading, no matter how many
 * sessions are read.
 */
export function startReading(options: ReadingOptions): Reading {
  const { rest, places, clock, onError } = options
  const working = once(options.working)
  const asks = once(readAllAsks)
  return { working, session }

  async function readAllAsks(directory: Directory) {
    let isSound = true
    const note: OnError = (error) => {
      isSound = false
      onError(error)
    }
    return { ...(await readAsks({ rest, clock, onError: note }, directory)), isSound }
  }

  /**
   * Reads the statuses first. Everything after them is at least as new, so a session that they report as idle is read
   * complete.
   */
  async function readState(place: SessionRef, { reach, note, working, asks }: StateOptions) {
    const statuses = await working(place.directory)
    const [history, todos, children, pending] = await Promise.all([
      readHistory({ rest, onError: note }, place, reach),
      rest.todos(place).catch(undefinedIfGone),
      rest.children(place).catch(undefinedIfGone),
      asks(place.directory),
    ])
    return { status: statuses.get(place.sessionID), history, todos, children, pending }
  }

  async function session(place: SessionRef, reach: Reach): Promise<SessionRead> {
    let isSound = true
    const note: OnError = (error) => {
      isSound = false
      onError(error)
    }
    const info = await places.session(place)
    const { sessionID, directory = place.directory } = info
    const home = { sessionID, directory }
    const first = await readState(home, { reach, note, working, asks })
    // Either the server was stopped during that step, or the run began between the two readings, and then the next ones
    // show it.
    const isUnsure = first.status === undefined && isAtStep(first.history.messages)
    const again = { reach, note, working: options.working, asks: readAllAsks }
    const { status, history, todos, children, pending } = isUnsure ? await readState(home, again) : first
    return {
      info,
      ...history,
      working: status,
      // An idle session has no pending asks. An aborted run leaves its asks behind, on servers up to 1.2 forever.
      asks: status ? pending.asks.filter((ask) => ask.sessionID === sessionID) : [],
      todos: toReadTodos(todos, note),
      children: toReadSessions(children, note),
      // Last, because the lines above report too.
      isSound: isSound && pending.isSound,
    }
  }
}

/** Whether the newest step has not ended. */
function isAtStep(messages: readonly MessageRead[]): boolean {
  const last = messages.findLast(({ head }) => head.role === 'assistant')?.head
  return last !== undefined && last.completedAt === undefined && last.error === undefined
}

export async function readWorking(
  { rest, onError }: Pick<ReadingOptions, 'onError'> & { readonly rest: Pick<Rest, 'status'> },
  directory: Directory,
): Promise<ReadonlyMap<string, WorkStatus>> {
  return toReadStatuses(await rest.status(directory), onError)
}

export async function readAsks(
  { rest, clock, onError }: Pick<ReadingOptions, 'rest' | 'clock' | 'onError'>,
  directory: Directory,
): Promise<AskList> {
  const [questions, permissions] = await Promise.all([
    rest.questions(directory).catch(unlessUnknown),
    rest.permissions(directory).catch(unlessUnlisted),
  ])
  const seen = { at: clock.now(), directory }
  return {
    asks: [...toReadQuestions(questions, seen, onError), ...toReadPermissions(permissions, seen, onError)],
    isWhole: Array.isArray(questions) && Array.isArray(permissions),
  }
}

function once<T>(read: (directory: Directory) => Promise<T>): (directory: Directory) => Promise<T> {
  const known = new Map<Directory, Promise<T>>()
  return (directory) => {
    const found = known.get(directory) ?? read(directory)
    known.set(directory, found)
    return found
  }
}

/**
 * Servers from 1.17 on answer 400 while a permission to fetch a page is pending whose call has no `timeout` (measured
 * on 1.17.19, 1.18.33 and 1.18.34). Pending asks are then only known from the stream.
 */
function unlessUnlisted(error: unknown): undefined {
  const isBroken = error instanceof ReplyError && error.type === 'refused' && /\(400\)/.test(error.message)
  if (!isBroken) unlessUnknown(error)
}

/** Servers before 1.1 don't have the route. */
function unlessUnknown(error: unknown): undefined {
  if (!(error instanceof ReplyError) || error.type !== 'not-opencode') throw error
}

interface History {
  /** The messages in the server's order. */
  readonly messages: readonly MessageRead[]
  /** Whether these are all messages of the session. */
  readonly isWhole: boolean
}

interface HistoryOptions {
  readonly rest: Pick<Rest, 'messages'>
  readonly onError: OnError
}

/** Most runs have fewer messages. */
const firstPage = 20

/** A page of this size parses in a few milliseconds. */
const largestPage = 160

/** How many messages are decoded per batch. Other work can run between batches. */
const slice = 100

/**
 * Reads a session's newest messages, back to the beginning of the last run or of the run that `reach` requires. Reads
 * pages from 1.2 on. Older servers only take a limit, so this requests again with a larger one.
 */
export async function readHistory(
  { rest, onError }: HistoryOptions,
  place: SessionRef,
  reach: Reach,
): Promise<History> {
  let messages: readonly MessageRead[] = []
  let limit = firstPage
  let before: string | undefined
  for (;;) {
    const page = await rest.messages(place, { limit, before })
    const read = await decoded(page.data, onError)
    const { next } = page
    messages = before === undefined ? read : [...read, ...messages]
    const isLast = next === undefined && (before !== undefined || lengthOf(page.data) !== limit)
    if (isLast || (next === before && next !== undefined)) return { messages, isWhole: true }
    if (reaches(messages, reach)) return { messages, isWhole: false }
    limit = next === undefined ? limit * 4 : Math.min(2 * limit, largestPage)
    before = next
  }
}

async function decoded(data: unknown, onError: OnError): Promise<readonly MessageRead[]> {
  if (!Array.isArray(data) || data.length <= slice) return toReadMessages(data, onError)
  const read: (readonly MessageRead[])[] = []
  for (let at = 0; at < data.length; at += slice) {
    if (at > 0) await new Promise((resolve) => setTimeout(resolve, 0))
    read.push(toReadMessages(data.slice(at, at + slice), onError))
  }
  return read.flat()
}

function lengthOf(data: unknown): number {
  return Array.isArray(data) ? data.length : 0
}

/**
 * Reads the newest time in a directory. Also reads the newest message of the newest session and of its parent, because
 * a session's own time may be older. Servers before 1.2 order sessions by creation, so all are read.
 */
export async function readNewestTime(
  { rest, places, onError }: Pick<ReadingOptions, 'rest' | 'places' | 'onError'>,
  directory: string | undefined,
): Promise<number | undefined> {
  const isOrdered = !(await places.keepsProjectsApart())
  const listed = await (isOrdered ? rest.newestSession(directory) : rest.sessions(undefined, directory))
  const newest = newestOf(toReadSessions(listed, onError))
  const ids = [newest?.sessionID, newest?.parentID].filter((id) => id !== undefined)
  const home = newest?.directory ?? directory
  const read = ids.map((sessionID) => rest.newestMessage({ sessionID, directory: home }).catch(() => []))
  const times = (await Promise.all(read)).flatMap((value) => toReadMessages(value, onError).flatMap(timesOf))
  const all = [...times, ...(newest?.updatedAt === undefined ? [] : [newest.updatedAt])]
  return all.length === 0 ? undefined : Math.max(...all)
}

/** The most recently updated session. */
function newestOf(sessions: readonly SessionInfo[]): SessionInfo | undefined {
  return sessions.reduce<SessionInfo | undefined>(
    (newest, session) => ((session.updatedAt ?? 0) > (newest?.updatedAt ?? -1) ? session : newest),
    undefined,
  )
}

function timesOf({ head: { createdAt, completedAt } }: MessageRead): readonly number[] {
  return [createdAt, completedAt].filter((time) => time !== undefined)
}
