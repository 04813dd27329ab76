import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Clock, systemClock } from '@reply/core'
import { stopwatch } from '@reply/core/internal'
import { applyWrites } from '../apply-writes.ts'
import { beatAfter, leaveAfter } from '../beat-rules.ts'
import { createHints } from '../hints.ts'
import { isCurrentLease, type StoredLease } from '../lease-rules.ts'
import {
  type Beat,
  type BeatRequest,
  type Committed,
  type Store,
  StoreError,
  type StoreLease,
  type UsedCalls,
  type Write,
} from '../store.ts'
import { type Database, needsRestriction, openDatabase, requirePrivate } from './database.ts'
import { damagedError } from './errors.ts'
import { checkVersion, migrate, syncCommits, type Tables, tablesOf } from './schema.ts'
import { createWalMerger, type WalMerger } from './wal.ts'

/** Options of `sqliteStore`. */
export interface SqliteStoreOptions {
  /** Folder of `bridge.db` and SQLite's own files. Created with mode 700 if it is missing. Must be on a local disk. */
  readonly folder: string
  /** Decides when values expire. Default: the computer's clock. Processes that share a folder need the same time. */
  readonly clock?: Clock | undefined
  /**
   * How long a call waits for another process that is writing, in ms, before it rejects with `busy`. It blocks this
   * process meanwhile. Default: 2000. A write takes a few ms.
   */
  readonly busyTimeoutMs?: number | undefined
}

/**
 * Opens a store in one SQLite file, `bridge.db`, for one machine. Rejects with a `StoreError`: `newer` for a state that a
 * newer version wrote, `failed` for a folder or file that can't be used. Calls are executed in order, and block the
 * process. A commit resolves when it is on the disk. Commits in the same turn of the event loop are synced together, unless
 * a value that one of them writes is read before the turn ends.
 */
export async function sqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { folder, clock = systemClock, busyTimeoutMs = 2000 } = options
  const file = join(folder, 'bridge.db')
  const database = await openDatabase(file, busyTimeoutMs)
  try {
    migrate(database, file)
    return storeOf(database, clock, createWalMerger(database))
  } catch (error) {
    database.close()
    throw error
  }
}

/**
 * Whether an existing folder has a state. Rejects with a `StoreError` if this version can't use it, if it is damaged, if others
 * can read it, or if this version could not create one in that folder.
 */
export async function hasState(folder: string): Promise<boolean> {
  const file = join(folder, 'bridge.db')
  // Only for its error: a state could not be created there.
  needsRestriction(folder)
  requirePrivate(file)
  if (!existsSync(file)) return false
  const database = await openDatabase(file, 2000)
  try {
    checkVersion(database, file)
    if (database.pragma('quick_check(1)') !== 'ok') throw damagedError(file)
    return true
  } finally {
    database.close()
  }
}

/**
 * Opens the store of an existing state, for commands that may run beside a bridge. Undefined if there is none. Creates and
 * migrates nothing. Doesn't merge the WAL, because the process that uses the state does. Rejects with a `StoreError` if this
 * version can't read the state.
 */
export async function existingSqliteStore(options: SqliteStoreOptions): Promise<Store | undefined> {
  const { folder, clock = systemClock, busyTimeoutMs = 2000 } = options
  const file = join(folder, 'bridge.db')
  if (!existsSync(file)) return undefined
  requirePrivate(file)
  const database = await openDatabase(file, busyTimeoutMs)
  let store: Store | undefined
  try {
    // Without tables, a bridge is about to create them.
    if (checkVersion(database, file) > 0) {
      syncCommits(database)
      database.exec('PRAGMA wal_autocheckpoint = 0')
      store = storeOf(database, clock, { addAndMerge: () => {}, mergeAll: () => {} })
    }
    return store
  } finally {
    if (!store) database.close()
  }
}

/** Returns the store of an open database. It groups commits, and flushes them before calls that would see their effect. */
function storeOf(database: Database, clock: Clock, merging: WalMerger): Store {
  let open: Tables | undefined = tablesOf(database, clock)
  // Only one process works on the state at a time, so its hints are its own.
  const hints = createHints()
  const stops = new Set<() => void>()
  const commits = createTaskGroups<Commit, Committed>(
    (group) => {
      const results = commitAll(database, requireTables(), group, clock)
      if (results.some(({ type }) => type === 'done')) merging.addAndMerge(sizeOf(group))
      return results
    },
    (error) => error instanceof StoreError && error.type === 'busy',
  )
  return {
    read: async (key) => tablesAfter((write) => 'key' in write && write.key === key).read(key),
    list: async (prefix) => tablesAfter((write) => 'key' in write && write.key.startsWith(prefix)).list(prefix),
    queue: async (name) => tablesAfter((write) => 'queue' in write && write.queue === name).queue(name),
    queues: async (prefix) => tablesAfter((write) => 'queue' in write && write.queue.startsWith(prefix)).queues(prefix),
    commit: async (writes, lease, { survives = 'machine', hint, withinMs = Number.POSITIVE_INFINITY } = {}) => {
      requireTables()
      const sinceMs = stopwatch(clock)
      const committed = await commits.addTask({ writes, lease, survives, isLate: () => sinceMs() > withinMs })
      if (committed.type === 'done' && hint !== undefined) hints.send(hint)
      return committed
    },
    beat: async (request) => {
      const { beat, sent } = takeBeat(database, tablesAfterFlush(), request, clock)
      if (beat.type === 'admitted') merging.addAndMerge(0)
      for (const hint of sent) hints.send(hint)
      return beat
    },
    release: async (lease) => {
      if (tablesAfterFlush().expireLease(lease)) hints.send('free')
    },
    leave: async (member, used) => {
      removeMember(database, tablesAfterFlush(), { member, used }, clock)
      hints.send('free')
    },
    watch: (onHint) => {
      requireTables()
      const stop = hints.watch(onHint)
      stops.add(stop)
      return stop
    },
    sweep: async () => tablesAfterFlush().sweep(),
    close: async () => {
      if (!open) return
      commits.flush()
      for (const stop of stops) stop()
      // The driver keeps the files open until its statements are garbage-collected.
      open = undefined
      try {
        merging.mergeAll()
      } finally {
        database.close()
      }
    },
  }

  /**
   * Returns the tables, after it has flushed waiting commits that write a row for which `isRead` is true. Other commits
   * can keep waiting: they don't change the result, and each flush costs a sync of the disk.
   */
  function tablesAfter(isRead: (write: Write) => boolean): Tables {
    const isChanged = commits.waiting().some(({ writes }) => writes.some(isRead))
    return isChanged ? tablesAfterFlush() : requireTables()
  }

  /** Flushes all waiting commits, so that calls are executed in order, then returns the tables. Throws after `close`. */
  function tablesAfterFlush(): Tables {
    commits.flush()
    return requireTables()
  }

  /** Returns the tables. Throws a `StoreError` after `close`. */
  function requireTables(): Tables {
    if (!open) throw new StoreError('closed', 'The store is closed. Open it again to use it.')
    return open
  }
}

/** A call of `Store.commit`. */
interface Commit {
  readonly writes: readonly Write[]
  readonly lease: StoreLease | undefined
  readonly survives: 'machine' | 'process'
  /** Whether its time is over. */
  readonly isLate: () => boolean
}

/** Estimates how many bytes a group adds to the WAL, as the length of its values. */
function sizeOf(group: readonly Commit[]): number {
  const writes = group.flatMap((commit) => commit.writes)
  return writes.reduce((sum, write) => sum + ('value' in write ? (write.value?.length ?? 0) : 0), 0)
}

/**
 * Commits a group in one transaction, and returns the result of each. A commit that conflicts or is fenced does not affect the
 * others. Syncs the disk if one of them must survive a crash of the machine.
 */
function commitAll(database: Database, tables: Tables, group: readonly Commit[], clock: Clock): readonly Committed[] {
  database.setSynced(group.some(({ survives }) => survives === 'machine'))
  return database.transact(() => {
    const results = group.map((commit) => database.withSavepoint(() => commitOne(tables, commit, clock)))
    return { keep: results.some(({ type }) => type === 'done'), result: results }
  })
}

/**
 * Applies the writes of one commit if its lease is current, or if it has none. `keep` is false for one that is fenced, late or
 * conflicts: its writes must then be undone.
 */
function commitOne(
  tables: Tables,
  { writes, lease, isLate }: Commit,
  clock: Clock,
): { readonly keep: boolean; readonly result: Committed } {
  // Checked within the transaction: the lease may have expired while it waited, and now no other process can take it.
  if (lease && !isCurrentLease(tables.storedLease(lease.name), lease, clock.now()))
    return { keep: false, result: { type: 'fenced' } }
  if (isLate()) return { keep: false, result: { type: 'late' } }
  const conflictIndex = applyWrites(tables, writes)
  if (conflictIndex !== undefined) return { keep: false, result: { type: 'conflict', index: conflictIndex } }
  return { keep: true, result: { type: 'done' } }
}

/** How many members a file has at a time. */
const mostMembers = 1

/** Admits or renews the only member, and its leases and budgets. Returns also the hints to send. */
function takeBeat(
  database: Database,
  tables: Tables,
  request: BeatRequest,
  clock: Clock,
): { readonly beat: Beat; readonly sent: readonly string[] } {
  // A process that waits to be admitted polls, and must not block the member with a transaction.
  const before = tables.memberRows()
  const expected = beatAfter(before, request, clock.now(), mostMembers)
  if (expected.beat.type === 'refused') return { beat: expected.beat, sent: [] }
  // A renewal needs no sync: a crash of the machine also ends the process that renewed. This keeps an idle bridge off the disk.
  database.setSynced(fencesIn(expected.rows.leases) !== fencesIn(before.leases))
  return database.transact(() => {
    const current = tables.memberRows()
    const { beat, rows, hints } = beatAfter(current, request, clock.now(), mostMembers)
    const keep = beat.type === 'admitted'
    if (keep) tables.putMemberRows(current, rows)
    return { keep, result: { beat, sent: hints } }
  })
}

/** Returns the sum of the fences of leases, which grows with each lease that is taken. */
function fencesIn(leases: readonly StoredLease[]): number {
  return leases.reduce((sum, { fence }) => sum + fence, 0)
}

/** Removes a member, and ends its leases. */
function removeMember(
  database: Database,
  tables: Tables,
  { member, used }: { readonly member: string; readonly used: UsedCalls | undefined },
  clock: Clock,
): void {
  database.setSynced(false)
  database.transact(() => {
    const before = tables.memberRows()
    tables.putMemberRows(before, leaveAfter(before, member, clock.now(), used))
    return { keep: true, result: undefined }
  })
}

/** Groups the tasks of one turn of the event loop into one transaction, which syncs the disk once. */
interface TaskGroups<Task, Result> {
  /** Resolves with the result of the task, once its transaction is on the disk. */
  addTask(task: Task): Promise<Result>
  /** Tasks that have not run yet, oldest first. */
  waiting(): readonly Task[]
  /** Runs the waiting tasks now, so that later calls see their effect. */
  flush(): void
}

/** A task that has not run yet, with the functions that settle its promise. */
interface Waiting<Task, Result> {
  readonly task: Task
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/**
 * Runs tasks in groups. `run` runs all tasks in one transaction, each completely or not at all, and throws if the
 * transaction failed. Then its tasks are run one by one, unless `isBusy` says that nothing was changed and a retry may
 * succeed.
 */
export function createTaskGroups<Task, Result>(
  run: (tasks: readonly Task[]) => readonly Result[],
  isBusy: (error: unknown) => boolean,
): TaskGroups<Task, Result> {
  let waiting: readonly Waiting<Task, Result>[] = []
  return { addTask, flush, waiting: () => waiting.map(({ task }) => task) }

  /**
   * Adds a task, and resolves with its result. All tasks of one turn of the event loop run together after it, or earlier on
   * `flush`. Rejects with the error of the task's transaction.
   */
  async function addTask(task: Task): Promise<Result> {
    return await new Promise((resolve, reject) => {
      if (waiting.length === 0) setImmediate(flush)
      waiting = [...waiting, { task, resolve, reject }]
    })
  }

  /** Runs the waiting tasks now. Does nothing if there are none. */
  function flush(): void {
    const group = waiting
    waiting = []
    if (group.length > 0) runGroup(group)
  }

  /**
   * Runs tasks together, and settles their promises. If that fails, runs them one by one. If the store is busy, or there is a
   * single task, rejects instead.
   */
  function runGroup(group: readonly Waiting<Task, Result>[]): void {
    try {
      const results = run(group.map(({ task }) => task))
      for (const [index, result] of results.entries()) group[index]?.resolve(result)
    } catch (error) {
      // A single task may be the cause, so the others are run again without it.
      if (group.length > 1 && !isBusy(error)) for (const one of group) runGroup([one])
      else for (const { reject } of group) reject(error)
    }
  }
}
