import type { Clock } from '@reply/core'
import { pause } from '@reply/core/internal'
import { backOffMs } from '@reply/sink/internal'
import { type CommitOptions, type Store, type StoredValue, StoreError, type Write } from '../store/store.ts'
import { type BridgeLease, takenOverError } from './bridge-lease.ts'

/** The store, with writes under the bridge's lease. Reads are retried while the store is busy, until the bridge stops. */
export interface State extends Pick<Store, 'read' | 'list' | 'queue' | 'queues' | 'sweep'> {
  /**
   * Applies all writes or none. Resolves with false if one of them conflicts. Rejects with `taken-over` once another process
   * took over. If it rejects, nothing was written.
   */
  commit(writes: readonly Write[], options?: CommitOptions): Promise<boolean>
  /**
   * Retries a call while the store fails, for data that must not be lost. Rejects with other errors of the call, and once
   * the bridge is stopping.
   */
  withRetries<Result>(call: () => Promise<Result>): Promise<Result>
  /**
   * Applies all writes or none without the lease, for rows that a process may write that does not own their chat. Resolves with
   * false if one of them conflicts. Retries while the store is busy, `mostTries` times in all. Rejects like the store.
   */
  commitWithoutLease(writes: readonly Write[], options?: CommitOptions): Promise<boolean>
}

/** How often a busy state is tried, and the pause after each attempt, in ms. */
const mostTries = 5
const retryMs = 500
/** The longest pause between the attempts of `withRetries`, in ms. */
const mostPauseMs = 5000

/** Wraps a store. `sweep` goes to it directly. */
export function createState(options: {
  readonly store: Store
  readonly lease: Pick<BridgeLease, 'current' | 'renew'>
  readonly clock: Clock
  /** Aborts when the bridge is stopping. */
  readonly stopping: AbortSignal
  /** Called with the error of a failing store, once until it works again. */
  readonly onError: (error: Error) => void
}): State {
  const { store, lease, clock, stopping, onError } = options
  let isReported = false
  return {
    read: async (key) => await retryWhile(isBusy, async () => await store.read(key)),
    list: async (prefix) => await retryWhile(isBusy, async () => await store.list(prefix)),
    queue: async (name) => await retryWhile(isBusy, async () => await store.queue(name)),
    queues: async (prefix) => await retryWhile(isBusy, async () => await store.queues(prefix)),
    sweep: store.sweep,
    commit,
    withRetries: async (call) => await retryWhile(isTemporary, call),
    commitWithoutLease,
  }

  /**
   * Commits writes under the lease. Resolves with false if a write conflicts, and nothing is written then. If another process
   * keeps the state locked, or the lease expired, tries again, `mostTries` times in all, and then rejects with `busy`. Rejects
   * with `taken-over` without a lease or if another process took over.
   */
  async function commit(writes: readonly Write[], options?: CommitOptions): Promise<boolean> {
    for (let tries = 1; ; tries++) {
      const current = lease.current()
      if (!current) throw takenOverError()
      try {
        const { type } = await store.commit(writes, current, options)
        if (type !== 'fenced') return type === 'done'
        if (!(await lease.renew())) throw takenOverError()
        if (tries === mostTries)
          throw new StoreError('busy', 'The lease on the state ran out before each write. Check how slow its disk is.')
      } catch (error) {
        if (!(error instanceof StoreError) || error.type !== 'busy' || tries === mostTries) throw error
        await pause(clock, retryMs, stopping)
      }
    }
  }

  /** Commits writes without the lease. Resolves with false on a conflict. Also retries while the bridge stops. */
  async function commitWithoutLease(writes: readonly Write[], options?: CommitOptions): Promise<boolean> {
    for (let tries = 1; ; tries++) {
      try {
        return (await store.commit(writes, undefined, options)).type === 'done'
      } catch (error) {
        if (!(error instanceof StoreError) || error.type !== 'busy' || tries === mostTries) throw error
        // Does not stop with the bridge, which may be stopping because it was taken over.
        await pause(clock, retryMs)
      }
    }
  }

  /**
   * Resolves as the call does. Retries these errors with growing pauses, without a limit until the bridge stops. Reports the
   * first one, and then none until a call succeeds. Rejects with other errors at once.
   */
  async function retryWhile<Result>(
    isRetried: (error: unknown) => error is StoreError,
    call: () => Promise<Result>,
  ): Promise<Result> {
    for (let failures = 0; ; failures++) {
      try {
        const result = await call()
        isReported = false
        return result
      } catch (error) {
        if (!isRetried(error) || stopping.aborted) throw error
        if (!isReported) onError(error)
        isReported = true
        await pause(clock, Math.min(backOffMs(failures), mostPauseMs), stopping)
      }
    }
  }
}

/** Returns the value of a key with its expiry, which `read` leaves out. Undefined if the key has none, or if it has expired. */
export async function readWithExpiry(state: Pick<State, 'list'>, key: string): Promise<StoredValue | undefined> {
  return (await state.list(key)).find((one) => one.key === key)
}

/** Whether the store can't be used now, and can be later without a repair. */
function isBusy(error: unknown): error is StoreError {
  return error instanceof StoreError && error.type === 'busy'
}

/** Whether a retry may succeed: the store is busy or failed, and is neither closed nor newer. */
function isTemporary(error: unknown): error is StoreError {
  return error instanceof StoreError && (error.type === 'busy' || error.type === 'failed')
}
