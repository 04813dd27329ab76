import type { Clock } from '@reply/core'
import { pause } from '@reply/core/internal'
import { backOffMs, withResolvers } from '@reply/sink/internal'
import { isOfEnd } from '../error.ts'
import { type HeldLease, takenOverError } from '../members/membership.ts'
import { type CommitOptions, type Store, type StoredValue, StoreError, type Write } from '../store/store.ts'
import { keyInShard, keyOutOfShard } from './shard-of.ts'

/**
 * The rows of one shard, with writes under its lease. Keys and queues have no shard in their names here. Reads are retried while
 * the store is busy, until the shard stops.
 */
export interface State extends Pick<Store, 'read' | 'list' | 'queue' | 'queues'> {
  /**
   * Applies all writes or none. Resolves with false if one of them conflicts. Rejects with `taken-over` once another process
   * took over the shard. If it rejects, nothing was written.
   */
  commit(writes: readonly Write[], options?: LeasedCommitOptions): Promise<boolean>
  /**
   * Retries a call while the store fails, for data that must not be lost. Rejects with other errors of the call, and once
   * the bridge is stopping.
   */
  withRetries<Result>(call: () => Promise<Result>): Promise<Result>
}

/** Options of `State.commit`. */
export interface LeasedCommitOptions extends CommitOptions {
  /**
   * Called right before each try, and returns within how many ms it must be made. If it throws, nothing is written, and the commit
   * rejects with that.
   */
  readonly requireDue?: (() => number) | undefined
}

/** The rows of all shards, which any process may read. Keys and queues are as the store has them. */
export interface SharedState
  extends Pick<Store, 'read' | 'list' | 'queue' | 'queues' | 'sweep'>,
    Pick<State, 'withRetries'> {
  /**
   * Applies all writes or none without a lease, for rows that a process may write that does not own their chat. Resolves with
   * false if one of them conflicts. Retries while the store is busy, `mostTries` times in all. Rejects like the store.
   */
  commitWithoutLease(writes: readonly Write[], options?: CommitOptions): Promise<boolean>
}

/** How often a busy state is tried, and the pause after each attempt, in ms. */
const mostTries = 5
const retryMs = 500
/** The longest pause between the attempts of `withRetries`, in ms. */
const mostPauseMs = 5000

/** Reports a failing store once until it works again, however many shards use it. */
export interface StoreReports {
  /** Call it after each failure. */
  onFailure(error: Error): void
  /** Call it after each success. */
  onSuccess(): void
}

/** Creates the reports of a process. */
export function createStoreReports(onError: (error: Error) => void): StoreReports {
  let isReported = false
  return {
    onFailure: (error) => {
      if (!isReported) onError(error)
      isReported = true
    },
    onSuccess: () => {
      isReported = false
    },
  }
}

/**
 * Returns a function that reports errors. Once `stopping` has aborted, it ignores those that say so, because the next owner continues
 * everything, and reports a store that can't be used only once.
 */
export function createErrorReports(
  report: (error: Error) => void,
  reports: StoreReports,
  stopping: AbortSignal,
): (error: Error) => void {
  return (error) => {
    if (!stopping.aborted) return report(error)
    if (isOfEnd(error)) return
    if (isBusy(error)) reports.onFailure(error)
    else report(error)
  }
}

/** Returns the state of a shard, see `keyInShard`. */
export function createState(options: {
  readonly store: Store
  readonly shard: string
  readonly lease: Pick<HeldLease, 'current' | 'renew'>
  readonly clock: Clock
  /** Aborts when the shard is stopping. */
  readonly stopping: AbortSignal
  readonly reports: StoreReports
  /** Called when the store refuses a commit because the lease has run out, or another process has it. */
  readonly onFenced?: (() => void) | undefined
}): State {
  const { store, shard } = options
  const retryWhile = createRetries(options)
  const commit = createLeasedCommit(options)
  return {
    read: async (key) => await retryWhile(isBusy, async () => await store.read(keyInShard(shard, key))),
    list: async (prefix) => {
      const stored = await retryWhile(isBusy, async () => await store.list(keyInShard(shard, prefix)))
      return stored.map((one) => ({ ...one, key: keyOutOfShard(shard, one.key) }))
    },
    queue: async (name) => await retryWhile(isBusy, async () => await store.queue(keyInShard(shard, name))),
    queues: async (prefix) => {
      const names = await retryWhile(isBusy, async () => await store.queues(keyInShard(shard, prefix)))
      return names.map((name) => keyOutOfShard(shard, name))
    },
    commit: async (writes, commitOptions) =>
      await commit(
        writes.map((write) => writeInShard(shard, write)),
        commitOptions,
      ),
    withRetries: async (call) => await retryWhile(isTemporary, call),
  }
}

/**
 * Returns a function that commits writes under a lease. It resolves with false if a write conflicts, and nothing is written
 * then. If another process keeps the state locked, or the lease expired, it tries again, `mostTries` times in all, and then
 * rejects with `busy`. It rejects with `taken-over` once another process took the lease.
 */
export function createLeasedCommit({
  store,
  lease,
  clock,
  stopping,
  onFenced = () => {},
}: {
  readonly store: Pick<Store, 'commit'>
  readonly lease: Pick<HeldLease, 'current' | 'renew'>
  readonly clock: Clock
  readonly stopping: AbortSignal
  readonly onFenced?: (() => void) | undefined
}): State['commit'] {
  return async (writes, { requireDue, ...options } = {}) => {
    for (let tries = 1; ; tries++) {
      const withinMs = requireDue?.()
      const current = lease.current()
      if (!current) throw takenOverError()
      try {
        const { type } = await store.commit(writes, current, { ...options, withinMs })
        if (type === 'late') {
          requireDue?.()
          throw new StoreError('busy', 'The state made no write within its time. Check how slow it is.')
        }
        if (type !== 'fenced') return type === 'done'
        onFenced()
        if (!(await lease.renew())) throw takenOverError()
        if (tries === mostTries)
          throw new StoreError('busy', 'The lease on the state ran out before each write. Check how slow its disk is.')
      } catch (error) {
        if (!(error instanceof StoreError) || error.type !== 'busy' || tries === mostTries) throw error
        await pause(clock, retryMs, stopping)
      }
    }
  }
}

/** Returns the rows of all shards. */
export function createSharedState(options: Omit<Parameters<typeof createState>[0], 'shard' | 'lease'>): SharedState {
  const { store, clock } = options
  const retryWhile = createRetries(options)
  return {
    read: async (key) => await retryWhile(isBusy, async () => await store.read(key)),
    list: async (prefix) => await retryWhile(isBusy, async () => await store.list(prefix)),
    queue: async (name) => await retryWhile(isBusy, async () => await store.queue(name)),
    queues: async (prefix) => await retryWhile(isBusy, async () => await store.queues(prefix)),
    sweep: store.sweep,
    withRetries: async (call) => await retryWhile(isTemporary, call),
    commitWithoutLease,
  }

  /** Commits writes without a lease. Retries while the store is busy, `mostTries` times in all. */
  async function commitWithoutLease(writes: readonly Write[], commitOptions?: CommitOptions): Promise<boolean> {
    for (let tries = 1; ; tries++) {
      try {
        return (await store.commit(writes, undefined, commitOptions)).type === 'done'
      } catch (error) {
        if (!(error instanceof StoreError) || error.type !== 'busy' || tries === mostTries) throw error
        // Does not stop with the bridge, which may be about to leave a note for its successor.
        await pause(clock, retryMs)
      }
    }
  }
}

/** Returns the rows of a shard for any process. */
export function createShardRows(
  state: Pick<SharedState, 'commitWithoutLease'>,
  shard: string,
): Pick<SharedState, 'commitWithoutLease'> {
  return {
    commitWithoutLease: async (writes, options) =>
      await state.commitWithoutLease(
        writes.map((write) => writeInShard(shard, write)),
        options,
      ),
  }
}

/** Returns a write with the shard in its key or queue. */
function writeInShard(shard: string, write: Write): Write {
  return 'queue' in write
    ? { ...write, queue: keyInShard(shard, write.queue) }
    : { ...write, key: keyInShard(shard, write.key) }
}

/** Retries a call while it rejects with an error for which the first argument is true. */
type RetryWhile = <Result>(
  isRetried: (error: unknown) => error is StoreError,
  call: () => Promise<Result>,
) => Promise<Result>

/** Returns the retries of one state. */
function createRetries({
  clock,
  stopping,
  reports,
}: {
  readonly clock: Clock
  readonly stopping: AbortSignal
  readonly reports: StoreReports
}): RetryWhile {
  return async (isRetried, call) => {
    for (let failures = 0; ; failures++) {
      try {
        const result = await call()
        reports.onSuccess()
        return result
      } catch (error) {
        if (!isRetried(error) || stopping.aborted) throw error
        reports.onFailure(error)
        await pause(clock, Math.min(backOffMs(failures), mostPauseMs), stopping)
      }
    }
  }
}

/** Returns the value of a key with its expiry, which `read` leaves out. Undefined if the key has none, or if it has expired. */
export async function readWithExpiry(state: Pick<State, 'list'>, key: string): Promise<StoredValue | undefined> {
  return (await state.list(key)).find((one) => one.key === key)
}

/**
 * Returns a function that commits writes with retries, in the order of its calls. For a row that each call stores as a whole: a retry
 * of an earlier one would undo a later one. If a write conflicts, commits what `onConflict` resolves with instead, or nothing without
 * it. Rejects like `State.withRetries`, and the next call is made nevertheless.
 */
export function createOrderedCommits({
  commit,
  withRetries,
}: Pick<State, 'commit' | 'withRetries'>): (
  writes: readonly Write[],
  onConflict?: () => Promise<readonly Write[]>,
) => Promise<void> {
  let last: Promise<void> = Promise.resolve()
  return async (writes, onConflict) => {
    const before = last
    const over = withResolvers<void>()
    last = over.promise
    try {
      await before
      let isMade = await withRetries(() => commit(writes))
      while (onConflict && !isMade) {
        const others = await onConflict()
        isMade = await withRetries(() => commit(others))
      }
    } finally {
      over.resolve()
    }
  }
}

/** Whether the store can't be used now, and can be later without a repair. */
function isBusy(error: unknown): error is StoreError {
  return error instanceof StoreError && error.type === 'busy'
}

/** Whether a retry may succeed: the store is busy or failed, and is neither closed nor newer. */
function isTemporary(error: unknown): error is StoreError {
  return error instanceof StoreError && (error.type === 'busy' || error.type === 'failed')
}
