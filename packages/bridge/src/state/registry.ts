import { stripVTControlCharacters } from 'node:util'
import { isShownText, type Part, partsOf, type Reply } from '@reply/core'
import { clip } from '@reply/sink/internal'
import type { Mirrors } from '../config/mirrors.ts'
import type { ChatPlace } from '../place.ts'
import type { PutWrite } from '../store/apply-writes.ts'
import type { Write } from '../store/store.ts'
import { toExecution, toLog } from './decode.ts'
import type { Execution, LogLine } from './execution.ts'
import { keyInShard } from './shard-of.ts'
import { readWithExpiry, type State } from './state.ts'

/**
 * The executions of all chats. The store expires finished ones by its own clock: they are listed for an hour. The newest run of
 * each session is remembered for a day in a row of its own, so that a later unprompted run finds its chat.
 */
export interface Registry {
  /** Returns an id that is not used in that place. */
  newID(place: ChatPlace): Promise<string>
  /** Returns the write that stores an execution, without its log. One that is over expires. */
  writeExecution(execution: Execution): PutWrite
  /** Returns the write that stores the log of an execution at its end. Default: the log of the reply that it follows. */
  writeLog(execution: Execution, lines?: readonly LogLine[]): PutWrite
  /** Returns the writes that remember a run as the newest of its session, and its shard as the session's. Empty without a session, and if it steers another. */
  writeNewest(execution: Execution): readonly PutWrite[]
  /**
   * Resolves with the writes to commit with that of an execution that is over: its log then lasts at least as long. If it is the
   * newest run of its session, it is remembered for a day from then on. With `own.newest`, they conflict if it is not.
   */
  writesAtEnd(execution: Execution, own?: OwnRows): Promise<readonly Write[]>
  /** Returns the newest run of each session of this shard, the one that was remembered first comes first. */
  newestOfSessions(): Promise<readonly NewestRun[]>
  /** Whether the store has a newer run of a session in another shard, whose chat then shows the session's unprompted runs. */
  isSessionElsewhere(server: string, sessionID: string): Promise<boolean>
  /** Returns the executions of the shard, oldest first. */
  all(): Promise<readonly Execution[]>
  /**
   * Returns the executions of a place that run, ended within an hour, or have an undelivered answer, newest first. Leaves out
   * those that steered another one.
   */
  listRecent(place: ChatPlace): Promise<readonly Execution[]>
  /**
   * Returns how long ago the runs of a place ended that ended within an hour, by the store's clock, in ms: a delivered one when its
   * delivery was stored. Leaves out those that steered another one.
   */
  endAgesMs(place: ChatPlace): Promise<readonly number[]>
  /** Finds one of `listRecent` by its id or the start of it. Undefined for an empty id, or if none or several match. */
  findRecent(place: ChatPlace, id: string): Promise<Execution | undefined>
  /** Registers the reply of a running execution, for its log. Returns a function that undoes it. */
  followReply(execution: Execution, reply: () => Reply | undefined): () => void
  /** Returns the last lines of the log of an execution: from the reply while it runs, then from the store. */
  logOf(execution: Execution): Promise<readonly LogLine[]>
}

/** What this process stored of a run, so that it need not be read. */
export interface OwnRows {
  /** The last value of `writeNewest`. */
  readonly newest?: string | undefined
  /** How long ago the log was stored while the run was not over, in ms. */
  readonly loggedAgoMs?: number | undefined
}

/** The newest run of a session. */
export interface NewestRun {
  /** As it was when the prompt was posted or at its end. Without text and files: they may be long, and no one needs them. */
  readonly execution: Execution
  /** How long ago it was posted, or ended, by the store's clock, in ms. */
  readonly ageMs: number
}

/** The prefix of the keys of all executions. */
export const executionPrefix = 'execution/'
/**
 * The prefix of the keys of runs that are over, for their pages. They last as long as the links to them.
 */
export const pagePrefix = 'page/'
/** Logs have rows of their own: they are up to 200 kB, and all executions are read at each start and sweep. */
const logPrefix = 'log/'
/** The prefix of the keys of the newest runs of sessions. */
const newestPrefix = 'newest/'
/** How long finished executions are listed, in ms. */
const listedMs = 3_600_000
/**
 * How long the newest run of a session is remembered after its post and its end, in ms: a day, because an agent may go on that long
 * in the background. Not longer, because each start looks at all of these sessions.
 */
const newestMs = 86_400_000
/** How long a log is stored while its answer is delivered, in ms. If that takes longer than an hour, it is stored again. */
const loggedMs = 7_200_000
/** How long an answer may wait until its chat shows it, in ms: a year. */
export const deliveringMs = 31_536_000_000
/** How long an answer that was not delivered is stored with its execution and can be posted again, in ms: 30 days. */
export const undeliveredMs = 2_592_000_000

/** Omits letters and digits that look alike. */
const idLetters = 'abcdefghjkmnpqrstuvwxyz23456789'
const idLength = 6

/** Keeps executions and logs in the state. Its writes are not made until they are committed. */
export function createRegistry(options: {
  readonly state: State
  readonly mirrors: Mirrors
  /** The name of the shard. */
  readonly shard: string
  /** How long runs that are over are kept for their pages, in ms. Default: there are no pages. */
  readonly pageMs?: number | undefined
}): Registry {
  const { state, mirrors, shard, pageMs } = options
  const replies = new Map<string, () => Reply | undefined>()
  return {
    newID,
    writeExecution,
    writeLog,
    writeNewest,
    writesAtEnd,
    newestOfSessions,
    isSessionElsewhere,
    all: async () => await executionsWithin(),
    listRecent,
    endAgesMs,
    findRecent,
    followReply,
    logOf,
  }

  /** Returns the key of an execution. Mirrored places share their keys. */
  function executionKey(place: ChatPlace, id: string): string {
    return `${executionPrefix}${mirrors.keyOf(place)}/${id}`
  }

  /** Returns the writes that keep an execution for its page. Empty if there are no pages. */
  function pageRows(execution: Execution): readonly PutWrite[] {
    const { prompt, id, isSteer } = execution
    if (pageMs === undefined || isSteer) return []
    const key = `${pagePrefix}${mirrors.keyOf(prompt)}/${id}`
    return [{ type: 'put', key, value: withoutPrompt(execution), expiresInMs: pageMs }]
  }

  /** Returns the key of the log of an execution. */
  function logKey({ prompt, id }: Execution): string {
    return `${logPrefix}${mirrors.keyOf(prompt)}/${id}`
  }

  /** Returns a random id of `idLength` letters and digits that no stored execution of the place has. */
  async function newID(place: ChatPlace): Promise<string> {
    for (;;) {
      const id = Array.from(
        { length: idLength },
        () => idLetters[Math.floor(Math.random() * idLetters.length)] ?? 'a',
      ).join('')
      if ((await state.read(executionKey(place, id))) === undefined) return id
    }
  }

  /** Returns the write that stores an execution, or replaces it. */
  function writeExecution(execution: Execution): PutWrite {
    const key = executionKey(execution.prompt, execution.id)
    return { type: 'put', key, value: JSON.stringify(execution), expiresInMs: expiryOf(execution) }
  }

  /** Returns the write that stores a log: by default that of the followed reply, or an empty one if none is followed. */
  function writeLog(execution: Execution, log = logOfFollowed(execution) ?? []): PutWrite {
    const { phase } = execution
    const expiresInMs = phase === 'done' ? listedMs : phase === 'undelivered' ? undeliveredMs : loggedMs
    return { type: 'put', key: logKey(execution), value: JSON.stringify(log), expiresInMs }
  }

  /** Returns the write of the row of the session, or nothing for a run that does not count as its newest. */
  function writeNewest(execution: Execution): readonly PutWrite[] {
    const { server, sessionID, isSteer } = execution
    if (sessionID === undefined || isSteer) return []
    const value = withoutPrompt(execution)
    return [
      { type: 'put', key: newestKey(server, sessionID), value, expiresInMs: newestMs },
      { type: 'put', key: homeKey(server, sessionID), value: shard, expiresInMs: newestMs },
    ]
  }

  /**
   * Reads the log and the newest run of the session, with retries, unless this process knows what it stored. The log is only written
   * again if it would not last as long as the execution, because it may be long.
   */
  async function writesAtEnd(execution: Execution, own: OwnRows = {}): Promise<readonly Write[]> {
    return await state.withRetries(async () => {
      const [log, newest] = await Promise.all([renewedLog(execution, own), renewedNewest(execution, own)])
      return [...log, ...newest, ...pageRows(execution)]
    })
  }

  /** Resolves with the writes that remember a run once more as the newest of its session. Nothing if it is known not to be. */
  async function renewedNewest(execution: Execution, { newest: expected }: OwnRows): Promise<readonly Write[]> {
    const { server, sessionID, id } = execution
    if (expected !== undefined)
      return writeNewest(execution).map((write, index) =>
        index === 0 ? { ...write, type: 'compare-and-set', expected } : write,
      )
    const newest = sessionID === undefined ? undefined : await state.read(newestKey(server, sessionID))
    return newest !== undefined && toExecution(newest).id === id ? writeNewest(execution) : []
  }

  /** Resolves with the write of the log of an execution that is over. Nothing without a log, and if the stored one lasts long enough. */
  async function renewedLog(execution: Execution, { loggedAgoMs }: OwnRows): Promise<readonly PutWrite[]> {
    if (loggedAgoMs !== undefined && loggedAgoMs + listedMs <= loggedMs && execution.phase === 'done') return []
    const key = logKey(execution)
    const stored = await readWithExpiry(state, key)
    const lines = logOfFollowed(execution) ?? (stored ? toLog(stored.value) : [])
    const write = writeLog(execution, lines)
    const isLasting = stored !== undefined && (stored.expiresInMs ?? 0) >= (write.expiresInMs ?? 0)
    return isLasting || lines.length === 0 ? [] : [write]
  }

  /** Reads the newest run of each session that was used in this shard. */
  async function newestOfSessions(): Promise<readonly NewestRun[]> {
    const stored = await state.list(newestPrefix)
    const runs = stored.map(({ value, expiresInMs = newestMs }) => {
      return { execution: toExecution(value), ageMs: Math.max(0, newestMs - expiresInMs) }
    })
    return runs.toSorted((a, b) => b.ageMs - a.ageMs)
  }

  /** Reads which shard has the newest run of a session. False without one. */
  async function isSessionElsewhere(server: string, sessionID: string): Promise<boolean> {
    return ((await state.read(homeKey(server, sessionID))) ?? shard) !== shard
  }

  /** Returns stored executions, the first start first. `within` is the key of a place and a slash, or empty for all places. */
  async function executionsWithin(within = ''): Promise<readonly Execution[]> {
    const stored = await state.list(`${executionPrefix}${within}`)
    return stored.map(({ value }) => toExecution(value)).toSorted((a, b) => a.startedAt - b.startedAt)
  }

  /**
   * Returns the executions that the commands of a place list and find, newest first. Leaves out those that steered another
   * one. The store has those that run, ended within `listedMs`, or have an undelivered answer.
   */
  async function listRecent(place: ChatPlace): Promise<readonly Execution[]> {
    const here = await executionsWithin(`${mirrors.keyOf(place)}/`)
    return here.filter((one) => !one.isSteer).toReversed()
  }

  /** Reads the ages of ends by what is left of the times for which the store keeps them. */
  async function endAgesMs(place: ChatPlace): Promise<readonly number[]> {
    const stored = await state.list(`${executionPrefix}${mirrors.keyOf(place)}/`)
    return stored.flatMap(({ value, expiresInMs }) => {
      const execution = toExecution(value)
      const keptMs = expiryOf(execution)
      if (execution.isSteer || keptMs === undefined || expiresInMs === undefined) return []
      const ageMs = Math.max(0, keptMs - expiresInMs)
      return ageMs <= listedMs ? [ageMs] : []
    })
  }

  /**
   * Returns the recent execution whose id is the text or begins with it, ignoring case. Undefined for an empty text, if none
   * matches, or if several begin with it.
   */
  async function findRecent(place: ChatPlace, id: string): Promise<Execution | undefined> {
    const idStart = id.toLowerCase()
    const here = await listRecent(place)
    const matching = idStart === '' ? [] : here.filter((one) => one.id.startsWith(idStart))
    return matching.find((one) => one.id === idStart) ?? (matching.length === 1 ? matching[0] : undefined)
  }

  /** From now on, makes the log of the execution from its reply. Returns a function that undoes it. */
  function followReply({ prompt, id }: Execution, reply: () => Reply | undefined): () => void {
    const key = executionKey(prompt, id)
    replies.set(key, reply)
    return () => replies.delete(key)
  }

  /** Returns the newest lines of an execution: from the followed reply, else from the store. Empty if it has neither. */
  async function logOf(execution: Execution): Promise<readonly LogLine[]> {
    const newest = logOfFollowed(execution)
    if (newest) return newest
    const stored = await state.read(logKey(execution))
    return stored === undefined ? [] : toLog(stored)
  }

  /** Returns the log of a followed reply. Undefined if the execution isn't followed, or has no reply yet. */
  function logOfFollowed({ prompt, id }: Execution): readonly LogLine[] | undefined {
    const reply = replies.get(executionKey(prompt, id))?.()
    return reply && logLines(reply)
  }
}

/** Returns the key of the newest run of a session. */
function newestKey(server: string, sessionID: string): string {
  return `${newestPrefix}${encodeURIComponent(server)}/${sessionID}`
}

/** Returns the key of the newest run of a session, as the store has it in a shard. Any process may read it. */
export function newestKeyIn(shard: string, server: string, sessionID: string): string {
  return keyInShard(shard, newestKey(server, sessionID))
}

/** Returns the key of the shard with the newest run of a session. Any process may look for it. */
export function homeKey(server: string, sessionID: string): string {
  return `home/${encodeURIComponent(server)}/${sessionID}`
}

/**
 * Returns how long the store keeps an execution, in ms. Undefined without an end, while its run is in progress. An answer that is
 * being delivered has a limit too, which tells how long it has waited by the store's clock.
 */
function expiryOf({ phase, finishedAt }: Execution): number | undefined {
  if (phase === 'done') return listedMs
  if (phase === 'undelivered') return undeliveredMs
  return phase === 'delivering' && finishedAt !== undefined ? deliveringMs : undefined
}

/** How many lines a log has at most. */
export const mostLines = 200

/** How long a line is at most, in UTF-16 units. */
const mostOfLine = 1000

/**
 * Returns the last lines of the log of a reply, at most `mostLines`: the agent's text, and the errors of tools and of the run.
 */
export function logLines(reply: Reply): readonly LogLine[] {
  const lines = [...partsOf(reply).flatMap(linesOfPart), ...errorLines(reply)]
  return lines.slice(-mostLines)
}

/**
 * Returns the lines of the agent's text, of a command's output, or of a tool's error. Empty for other parts. Output without a
 * named stream counts as `stdout`.
 */
function linesOfPart(part: Part): readonly LogLine[] {
  if (isShownText(part)) return splitLines(part.stream ?? 'stdout', part.text)
  if (part.type !== 'tool' || part.state.status !== 'error') return []
  return splitLines('stderr', part.state.error ?? '')
}

/** Returns the message of a reply's error, or else its name, as lines. Empty without an error. */
function errorLines({ error }: Reply): readonly LogLine[] {
  return error ? splitLines('stderr', error.message || error.name) : []
}

/**
 * Splits a text into lines, without empty ones, and shortens each to `mostOfLine`. Removes control sequences first, because
 * they may contain line breaks.
 */
function splitLines(from: LogLine['from'], text: string): readonly LogLine[] {
  const lines = stripVTControlCharacters(text).split('\n')
  return lines.flatMap((line) =>
    line.trim() === '' ? [] : [{ from, text: clip(line.replace(/\r/g, ''), mostOfLine) }],
  )
}

/** Returns an execution as it is stored where no one needs its text and its files, which may be long. */
function withoutPrompt(execution: Execution): string {
  return JSON.stringify({ ...execution, prompt: { ...execution.prompt, text: '', files: [] } } satisfies Execution)
}
