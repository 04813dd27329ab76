import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Clock, systemClock } from '@reply/core'
import { writeAll } from './apply-writes.ts'
import { granted, isHeld, leaseAfter } from './lease-rules.ts'
import { type Database, isOpenToOthers, openDatabase, requireUnread } from './sqlite/database.ts'
import { damaged } from './sqlite/errors.ts'
import { checkVersion, migrate, type Tables, tablesOf } from './sqlite/schema.ts'
import { createMerging } from './sqlite/wal.ts'
import {
  type Committed,
  type Lease,
  type LeaseRequest,
  type Store,
  type StoredValue,
  StoreError,
  type Write,
} from './store.ts'

/** The options of `sqliteStore`. */
export interface SqliteStoreOptions {
  /** Where `bridge.db` and SQLite's own files beside it are; made for its owner alone if missing. On a local disk. */
  readonly folder: string
  /** Decides what has expired. Default: the computer's. Processes on one folder need clocks that agree. */
  readonly clock?: Clock | undefined
  /**
   * How long a call waits for another process that is writing, in ms, before it rejects with `busy`. This process does
   * nothing else meanwhile. Default: 2000; a write takes a few.
   */
  readonly busyTimeoutMs?: number | undefined
}

/**
 * A store in one SQLite file, `bridge.db`, for one machine. Rejects with a `StoreError`: `newer` for a state that a newer
 * version wrote, `failed` for a folder or file that can't be used. Calls are made in their order, and a commit resolves
 * when the disk has it; commits of one turn of the event loop wait for the disk once, unless one of them writes what is
 * read before its end. This process does nothing else meanwhile.
 */
export async function sqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { folder, clock = systemClock, busyTimeoutMs = 2000 } = options
  const file = join(folder, 'bridge.db')
  const database = await openDatabase(file, busyTimeoutMs)
  try {
    migrate(database, file)
    return storeOf(database, clock)
  } catch (error) {
    database.close()
    throw error
  }
}

/** Whether a folder that exists has a state. Rejects with a `StoreError` if this version can't use it, or could not make one. */
export async function hasState(folder: string): Promise<boolean> {
  const file = join(folder, 'bridge.db')
  isOpenToOthers(folder)
  requireUnread(file)
  if (!existsSync(file)) return false
  const database = await openDatabase(file, 2000)
  try {
    checkVersion(database, file)
    if (database.pragma('quick_check(1)') !== 'ok') throw damaged(file)
    return true
  } finally {
    database.close()
  }
}

/**
 * The values below a prefix, ordered by key, also while another process works with the state. Empty without a state.
 * Nothing is written. Rejects with a `StoreError` if this version can't read it.
 */
export async function readState(folder: string, prefix: string): Promise<readonly StoredValue[]> {
  const file = join(folder, 'bridge.db')
  if (!existsSync(file)) return []
  requireUnread(file)
  const database = await openDatabase(file, 2000)
  try {
    // A file without tables is one that a bridge is about to fill.
    if (checkVersion(database, file) === 0) return []
    database.exec('PRAGMA query_only = ON')
    return tablesOf(database, systemClock).list(prefix)
  } finally {
    database.close()
  }
}

/**
 * Removes a value, also while another process works with the state. `false`: there is none. Rejects with a `StoreError` as
 * `readState` does.
 */
export async function removeFromState(folder: string, key: string): Promise<boolean> {
  const file = join(folder, 'bridge.db')
  if (!existsSync(file)) return false
  requireUnread(file)
  const database = await openDatabase(file, 2000)
  try {
    if (checkVersion(database, file) === 0) return false
    // The process that works with the state merges its WAL.
    database.exec('PRAGMA wal_autocheckpoint = 0')
    database.waitForDisk(true)
    const tables = tablesOf(database, systemClock)
    return database.transact(() => {
      const isThere = tables.read(key) !== undefined
      tables.remove(key)
      return { keep: isThere, result: isThere }
    })
  } finally {
    database.close()
  }
}

function storeOf(database: Database, clock: Clock): Store {
  let open: Tables | undefined = tablesOf(database, clock)
  const merging = createMerging(database)
  const commits = createGrouped<Commit, Committed>({
    run: (group) => {
      const results = commitAll(database, tables(), { group, clock })
      if (results.some(({ type }) => type === 'done')) merging.wrote(lengthOf(group))
      return results
    },
    isBusy: (error) => error instanceof StoreError && error.type === 'busy',
  })
  return {
    read: async (key) => after((write) => 'key' in write && write.key === key).read(key),
    list: async (prefix) => after((write) => 'key' in write && write.key.startsWith(prefix)).list(prefix),
    queue: async (name) => after((write) => 'queue' in write && write.queue === name).queue(name),
    queues: async (prefix) => after((write) => 'queue' in write && write.queue.startsWith(prefix)).queues(prefix),
    commit: async (writes, lease, { survives = 'machine' } = {}) => {
      tables()
      return await commits.add({ writes, lease, survives })
    },
    lease: async (request) => {
      const taken = lease(database, settled(), { request, clock })
      if (taken) merging.wrote(0)
      return taken
    },
    release: async (given) => settled().release(given),
    sweep: async () => settled().sweep(),
    close: async () => {
      if (!open) return
      commits.flush()
      // The driver keeps the files open until its statements are collected.
      open = undefined
      try {
        merging.close()
      } finally {
        database.close()
      }
    },
  }

  /**
   * The tables as all earlier commits left them, for who reads what `isRead` says. Commits that write nothing of it may
   * stay open: the answer is the same before and after them, and each group that ends costs a wait for the disk.
   */
  function after(isRead: (write: Write) => boolean): Tables {
    const isChanged = commits.waiting().some(({ writes }) => writes.some(isRead))
    return isChanged ? settled() : tables()
  }

  /** Calls are made in their order. */
  function settled(): Tables {
    commits.flush()
    return tables()
  }

  function tables(): Tables {
    if (!open) throw new StoreError('closed', 'The store is closed. Open it again to use it.')
    return open
  }
}

interface Commit {
  readonly writes: readonly Write[]
  readonly lease: Lease | undefined
  readonly survives: 'machine' | 'process'
}

/** About how many bytes a group writes. */
function lengthOf(group: readonly Commit[]): number {
  const writes = group.flatMap((commit) => commit.writes)
  return writes.reduce((sum, write) => sum + ('value' in write ? (write.value?.length ?? 0) : 0), 0)
}

function commitAll(
  database: Database,
  tables: Tables,
  { group, clock }: { readonly group: readonly Commit[]; readonly clock: Clock },
): readonly Committed[] {
  database.waitForDisk(group.some(({ survives }) => survives === 'machine'))
  return database.transact(() => {
    const results = group.map((commit) => database.nested(() => commitOne(tables, commit, clock)))
    return { keep: results.some(({ type }) => type === 'done'), result: results }
  })
}

function commitOne(
  tables: Tables,
  { writes, lease }: Commit,
  clock: Clock,
): { readonly keep: boolean; readonly result: Committed } {
  // Within the transaction: the wait for it may have outlasted the lease, and from here on no other can take it.
  if (lease && !isHeld(tables.leased(lease.name), lease, clock.now()))
    return { keep: false, result: { type: 'fenced' } }
  const index = writeAll(tables, writes)
  if (index !== undefined) return { keep: false, result: { type: 'conflict', index } }
  return { keep: true, result: { type: 'done' } }
}

function lease(
  database: Database,
  tables: Tables,
  { request, clock }: { readonly request: LeaseRequest; readonly clock: Clock },
): Lease | undefined {
  // A process that waits for a lease asks often, and doesn't hold up its holder.
  const stands = tables.leased(request.name)
  const expected = leaseAfter(stands, request, clock.now())
  if (!expected) return undefined
  // A renewal that the machine forgets in a crash was of a process that is gone, too: an idle bridge spares the disk.
  database.waitForDisk(expected.fence !== stands?.fence)
  return database.transact(() => {
    const next = leaseAfter(tables.leased(request.name), request, clock.now())
    if (next) tables.take(next)
    return { keep: next !== undefined, result: next && granted(next, request) }
  })
}

/** One transaction for all that is asked for in the same turn of the event loop: the disk is waited for once. */
interface Grouped<Task, Result> {
  /** Resolves with the result of the task, once its transaction is on the disk. */
  add(task: Task): Promise<Result>
  /** What was added and not done yet, in its order. */
  waiting(): readonly Task[]
  /** Does at once what was added so far, so that what follows sees it. */
  flush(): void
}

interface GroupedOptions<Task, Result> {
  /** Does all tasks in one transaction, each as a whole or not at all. Throws if the transaction failed. */
  readonly run: (tasks: readonly Task[]) => readonly Result[]
  /** Whether an error says that nothing was changed, and that a later try may succeed. */
  readonly isBusy: (error: unknown) => boolean
}

interface Waiting<Task, Result> {
  readonly task: Task
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

export function createGrouped<Task, Result>({ run, isBusy }: GroupedOptions<Task, Result>): Grouped<Task, Result> {
  let waiting: readonly Waiting<Task, Result>[] = []
  return { add, flush, waiting: () => waiting.map(({ task }) => task) }

  async function add(task: Task): Promise<Result> {
    return await new Promise((resolve, reject) => {
      if (waiting.length === 0) setImmediate(flush)
      waiting = [...waiting, { task, resolve, reject }]
    })
  }

  function flush(): void {
    const group = waiting
    waiting = []
    if (group.length > 0) settle(group)
  }

  function settle(group: readonly Waiting<Task, Result>[]): void {
    try {
      const results = run(group.map(({ task }) => task))
      for (const [index, result] of results.entries()) group[index]?.resolve(result)
    } catch (error) {
      // One of them may be the cause, which is not the fault of the others.
      if (group.length > 1 && !isBusy(error)) for (const one of group) settle([one])
      else for (const { reject } of group) reject(error)
    }
  }
}
