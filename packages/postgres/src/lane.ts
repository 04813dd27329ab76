import { type Committed, StoreError, type StoreLease, type Write } from '@reply/bridge'
import { systemClock } from '@reply/core'
import { pause, stopwatch } from '@reply/core/internal'
import type pg from 'pg'
import type { Connection } from './connection.ts'
import { keyBytes, packed } from './encoding.ts'
import { closedError, codeOf, isRefusedByServer, toStoreError } from './errors.ts'

/** Runs the calls of a store, so that each sees the commits before it. A read may also see later commits. */
export interface Lane {
  /** Commits. Commits that wait at the same time are sent together. */
  commit(commit: Commit): Promise<Committed>
  /**
   * Reads the rows of a range. Reads that wait at the same time are sent together: a statement is
   * run once for all of its ranges.
   */
  read<Row extends object>(statement: RangeStatement<Row>, range: KeyRange): Promise<readonly Row[]>
  /** Runs a statement that can be repeated without harm. Resolves with its rows. */
  run<Row extends pg.QueryResultRow>(sql: string, values: readonly unknown[]): Promise<readonly Row[]>
  /** Waits for the calls so far, at most `closeMs`, and then rejects those that are left, and all later ones. */
  close(): Promise<void>
}

/** The keys from `low` to before `high`, in the order of their bytes. */
export interface KeyRange {
  readonly low: Buffer
  readonly high: Buffer
}

/** A statement that reads the rows of several ranges, by `inRanges`. */
export interface RangeStatement<Row extends object> {
  readonly sql: string
  /** Decodes a row. Undefined for one that is left out. */
  readonly toRow: (row: pg.QueryResultRow) => Row | undefined
}

/**
 * Returns a statement that runs `select` for each of several ranges, from `low` to before `high`. Its rows are in the order of a column,
 * and have the number of their range, from 1, as `n`.
 */
export function inRanges(select: string, order: string): string {
  const ranges = 'unnest($1::bytea[], $2::bytea[]) WITH ORDINALITY AS ranges(low, high, n)'
  // PostgreSQL can't know how few rows a range has. OFFSET keeps it from reading the whole table instead of the index for each range.
  return `SELECT n, found.* FROM ${ranges} CROSS JOIN LATERAL (${select} OFFSET 0) AS found ORDER BY n, ${order}`
}

/** A call of `Store.commit`. */
export interface Commit {
  readonly writes: readonly Write[]
  readonly lease: StoreLease | undefined
  readonly hint: string | undefined
  readonly withinMs: number | undefined
}

/** A commit, and how much of its time is left, in ms, if that has a limit. */
type TimedCommit = Omit<Commit, 'withinMs'> & { readonly leftMs: (() => number) | undefined }

/** A commit or another call that was not answered yet. */
type Task = { readonly reject: (error: StoreError) => void } & (
  | { readonly type: 'commit'; readonly commit: TimedCommit; readonly resolve: (result: Committed) => void }
  | {
      readonly type: 'read'
      readonly sql: string
      readonly range: KeyRange
      readonly resolve: (rows: readonly pg.QueryResultRow[]) => void
    }
  | { readonly type: 'run'; readonly run: () => Promise<void> }
)
type ReadTask = Extract<Task, { readonly type: 'read' }>
type CommitTask = Extract<Task, { readonly type: 'commit' }>

/** How long a batch may take, in ms. Then it is sent again, which is harmless. */
const commitMs = 3000
/** How long another statement may take, in ms. */
const runMs = 10_000
/** The pause before a batch is sent for the third time, and each time after that, in ms. */
const againMs = 250
/** How long calls wait for a batch whose outcome is unknown, and a batch for other processes, in ms. */
const patienceMs = 5000
/** How many commits, or reads, are sent together. */
const mostOfBatch = 100
/** How long `close` waits for calls, in ms. */
const closeMs = 2000

/**
 * Creates the lane of a store in a quoted schema. `server` is its address for error messages, `writer` the id of the store, a
 * UUID. Its batches are numbered, and the server stores the number and the results of the last one in the same transaction.
 * A batch whose answer was lost is sent again under its number until the server responds, so its outcome is never guessed.
 */
export function createLane(connection: Connection, schema: string, server: string, writer: string): Lane {
  const closing = new AbortController()
  // It changes in place, because thousands may wait while the server can't be reached.
  const tasks: Task[] = []
  let batches = 0
  let working: Promise<void> | undefined
  let isClosed = false
  return { commit, read, run, close }

  async function commit(commit: Commit): Promise<Committed> {
    requireOpen()
    const { withinMs } = commit
    const sinceMs = stopwatch(systemClock)
    const leftMs = withinMs === undefined ? undefined : () => withinMs - sinceMs()
    return await new Promise((resolve, reject) =>
      add({ type: 'commit', commit: { ...commit, leftMs }, resolve, reject }),
    )
  }

  async function read<Row extends object>(
    { sql, toRow }: RangeStatement<Row>,
    range: KeyRange,
  ): Promise<readonly Row[]> {
    requireOpen()
    const rows = await new Promise<readonly pg.QueryResultRow[]>((resolve, reject) =>
      add({ type: 'read', sql, range, resolve, reject }),
    )
    return rows.flatMap((row) => toRow(row) ?? [])
  }

  async function run<Row extends pg.QueryResultRow>(sql: string, values: readonly unknown[]): Promise<readonly Row[]> {
    requireOpen()
    return await new Promise((resolve, reject) =>
      add({ type: 'run', run: async () => resolve(await runRepeatable<Row>(sql, values)), reject }),
    )
  }

  /** Adds a task, and starts to work after this turn of the event loop, so that its commits are sent together. */
  function add(task: Task): void {
    tasks.push(task)
    working ??= new Promise<void>((resolve) => setImmediate(resolve)).then(work)
  }

  /** Runs the tasks until none is left. Never rejects. */
  async function work(): Promise<void> {
    for (let head = tasks[0]; head; head = tasks[0]) {
      if (head.type === 'run') {
        tasks.shift()
        await head.run().catch((error: unknown) => head.reject(toStoreError(server, error)))
        continue
      }
      // Commits overtake earlier reads, so that callers who read and commit in turn share two round trips.
      const commits = nextBatch('commit', ['run'])
      if (commits.length > 0) await commitBatch(commits)
      await readBatch(nextBatch('read', ['run', 'commit']))
    }
    working = undefined
  }

  /** Removes the tasks of a type that come before those of other types, at most `mostOfBatch`, and returns them. */
  function nextBatch<Type extends Task['type']>(
    type: Type,
    before: readonly Task['type'][],
  ): readonly Extract<Task, { readonly type: Type }>[] {
    const end = tasks.findIndex((task) => before.includes(task.type))
    const reached = end === -1 ? tasks : tasks.slice(0, end)
    const batch = reached.filter((task) => isOf(task, type)).slice(0, mostOfBatch)
    const taken = new Set<Task>(batch)
    const left = tasks.filter((task) => !taken.has(task))
    tasks.length = 0
    for (const task of left) tasks.push(task)
    return batch
  }

  /** Runs each statement of some reads once for all of its ranges. A read that is refused rejects alone. Never rejects. */
  async function readBatch(batch: readonly ReadTask[]): Promise<void> {
    for (const sql of new Set(batch.map((one) => one.sql)))
      await readRanges(
        sql,
        batch.filter((one) => one.sql === sql),
      )
  }

  /** Runs a statement for the ranges of all its reads. If the server refuses it, runs it for each. Never rejects. */
  async function readRanges(sql: string, reads: readonly ReadTask[]): Promise<void> {
    try {
      const ranges = [reads.map(({ range }) => range.low), reads.map(({ range }) => range.high)]
      const found = reads.map((): pg.QueryResultRow[] => [])
      for (const row of await runRepeatable<pg.QueryResultRow>(sql, ranges)) found[Number(row.n) - 1]?.push(row)
      for (const [index, { resolve }] of reads.entries()) resolve(found[index] ?? [])
    } catch (cause) {
      if (reads.length > 1 && isRefusedByServer(cause)) for (const one of reads) await readRanges(sql, [one])
      else for (const { reject } of reads) reject(toStoreError(server, cause))
    }
  }

  /**
   * Commits a batch and settles its tasks. If the server refuses the batch, commits one by one, because a single commit may be
   * the cause, unless it is only busy. Never rejects.
   */
  async function commitBatch(batch: readonly CommitTask[]): Promise<void> {
    try {
      const results = await sendBatch(batch.map(({ commit }) => commit))
      for (const [index, { resolve }] of batch.entries()) resolve(committedOf(results[index]))
    } catch (cause) {
      const error = toStoreError(server, cause)
      const isCausedByOne = batch.length > 1 && isRefusedByServer(cause) && !isServedLater(cause)
      if (isCausedByOne) for (const one of batch) await commitBatch([one])
      else for (const { reject } of batch) reject(error)
    }
  }

  /**
   * Sends a batch until its outcome is known, and resolves with the result of each commit. Rejects if nothing was written: the
   * server can't be reached, or refuses the batch. Once an answer was lost, only the server's own record counts, because the
   * first try may be on its way while the server refuses the second. So a batch without commits then takes its number: that
   * tells whether the first try was made, and if not, it never will be.
   */
  async function sendBatch(commits: readonly TimedCommit[]): Promise<readonly number[]> {
    const number = ++batches
    const sql = `SELECT ${schema}.commit_batch($1, $2, $3) AS results`
    const startedAt = systemClock.monotonic()
    const isTimed = commits.some(({ leftMs }) => leftMs)
    let isUnknown = false
    let refusal: unknown
    for (let tries = 1; ; tries++) {
      try {
        await openOrRejectWaiting()
        const time = isTimed ? await serverTime() : 0
        const sent = JSON.stringify(refusal === undefined ? commits.map((commit) => encoded(commit, time)) : [])
        const [row] = await connection.query<{ results: number[] }>(sql, [writer, number, sent], commitMs)
        if (row?.results.length === commits.length) return row.results
        break
      } catch (error) {
        const isPatient = systemClock.monotonic() - startedAt < patienceMs
        const isRefused = isRefusedByServer(error)
        if (!isRefused && !(error instanceof StoreError)) isUnknown = true
        if (!isUnknown && !(isServedLater(error) && isPatient)) throw error
        if (closing.signal.aborted) throw closedError()
        if (isUnknown && isRefused && !isServedLater(error)) refusal ??= error
        if (!isPatient) rejectWaiting(toStoreError(server, error))
      }
      // A connection that was lost can often be opened again at once.
      if (tries > 1) await pause(systemClock, againMs, closing.signal)
    }
    throw refusal
  }

  /**
   * Resolves with the server's time, in ms since the epoch, by which commits have a limit: one that is held up on its way must not
   * be made later. Asked for each try, because the next one may reach another server.
   */
  async function serverTime(): Promise<number> {
    const sql = `SELECT (extract(epoch FROM ${schema}.store_time()) * 1000)::float8 AS ms`
    const [row] = await connection.query<{ ms: number }>(sql, [], commitMs)
    return row?.ms ?? 0
  }

  /**
   * Opens the connection. If it can't, also rejects the waiting tasks, which were not sent, so that their callers need not
   * wait until the server can be reached.
   */
  async function openOrRejectWaiting(): Promise<void> {
    try {
      await connection.open()
    } catch (error) {
      rejectWaiting(toStoreError(server, error))
      throw error
    }
  }

  /** Rejects the tasks that were not sent. */
  function rejectWaiting(error: StoreError): void {
    for (const { reject } of tasks.splice(0)) reject(error)
  }

  /** Runs a statement that can be repeated. Tries once more if the connection was lost. */
  async function runRepeatable<Row extends pg.QueryResultRow>(
    sql: string,
    values: readonly unknown[],
  ): Promise<readonly Row[]> {
    for (let tries = 1; ; tries++) {
      await openOrRejectWaiting()
      try {
        return await connection.query<Row>(sql, values, runMs)
      } catch (error) {
        if (tries === 2 || isRefusedByServer(error)) throw error
      }
    }
  }

  /** Waits for the calls so far, at most `closeMs`, and rejects the others. */
  async function close(): Promise<void> {
    isClosed = true
    const done = new AbortController()
    await Promise.race([working, pause(systemClock, closeMs, done.signal)])
    done.abort()
    closing.abort()
    rejectWaiting(closedError())
    connection.close()
  }

  /** Throws after `close`. */
  function requireOpen(): void {
    if (isClosed) throw closedError()
  }
}

/** Whether a task is of a type. */
function isOf<Type extends Task['type']>(task: Task, type: Type): task is Extract<Task, { readonly type: Type }> {
  return task.type === type
}

/** Whether the server served another process first, and would serve this one if it tried again. */
function isServedLater(error: unknown): boolean {
  return /^(40001|40P01|55P03)$/.test(codeOf(error) ?? '')
}

/** Decodes the result of one commit: -1 for done, -2 for fenced, -3 for late, else the index of the write that conflicts. */
function committedOf(result: number | undefined): Committed {
  if (result === -1) return { type: 'done' }
  if (result === -3) return { type: 'late' }
  return result === undefined || result === -2 ? { type: 'fenced' } : { type: 'conflict', index: result }
}

/** Encodes a commit for `commit_batch`. `serverTime`: the server's time before now, in ms since the epoch. */
function encoded({ writes, lease, hint, leftMs }: TimedCommit, serverTime: number): object {
  const rows = writes.map((write, n) => ({ n, ...encodedWrite(write) }))
  const until = leftMs && serverTime + leftMs()
  const sent = { writes: rows, hint: hint === undefined ? undefined : packed(hint), until }
  return lease ? { ...sent, lease: hex(lease.name), holder: packed(lease.holder), fence: lease.fence } : sent
}

/** Encodes a write for `apply_write`: its kind, key or queue, id, value, expected value and expiry. */
function encodedWrite(write: Write): object {
  switch (write.type) {
    case 'put':
    case 'put-if-absent':
      return { t: write.type, k: hex(write.key), v: packed(write.value), e: expiry(write.expiresInMs) }
    case 'compare-and-set': {
      const { key, expected, value, expiresInMs } = write
      if (value === undefined)
        return expected === undefined
          ? { t: 'require-absent', k: hex(key) }
          : { t: 'remove-value', k: hex(key), x: packed(expected) }
      const set = { k: hex(key), v: packed(value), e: expiry(expiresInMs) }
      return expected === undefined
        ? { t: 'put-if-absent', ...set }
        : { t: 'replace-value', ...set, x: packed(expected) }
    }
    case 'remove':
      return { t: write.type, k: hex(write.key) }
    case 'enqueue':
    case 'replace':
      return { t: write.type, k: hex(write.queue), i: hex(write.id), v: packed(write.value) }
    case 'dequeue':
      return { t: write.type, k: hex(write.queue), i: hex(write.id) }
    default:
      write satisfies never
      return {}
  }
}

/** Returns a time in ms that PostgreSQL can add to its own. Undefined for a longer one, which is for ever. */
function expiry(expiresInMs: number | undefined): number | undefined {
  // Its times end in the year 294276. This is 100,000 years.
  return expiresInMs !== undefined && expiresInMs < 3e15 ? Math.max(0, expiresInMs) : undefined
}

/** Returns a key as PostgreSQL writes bytes in text. */
function hex(text: string): string {
  return `\\x${keyBytes(text).toString('hex')}`
}
