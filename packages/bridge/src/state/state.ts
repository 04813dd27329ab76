import type { Clock } from '@reply/core'
import { backOffMs, pause } from '@reply/sink/internal'
import { type CommitOptions, type Store, StoreError, type Write } from '../store/store.ts'
import { type BridgeLease, takenOver } from './bridge-lease.ts'

/** The store, written to under the bridge's own lease. */
export interface State extends Pick<Store, 'read' | 'list' | 'queue' | 'queues' | 'sweep'> {
  /**
   * Makes all writes or none. `false`: one of them conflicts. Rejects with `taken-over` once another process took over.
   * After any rejection surely nothing was written.
   */
  commit(writes: readonly Write[], options?: CommitOptions): Promise<boolean>
  /**
   * Calls something again for as long as the store fails: what must not be lost waits until the store works. Rejects as
   * the call does for other reasons, and once the bridge is stopping.
   */
  persist<Result>(call: () => Promise<Result>): Promise<Result>
  /**
   * Makes writes without the lease: only what a process that lost it tells the one that has it now. Rejects as the store
   * does.
   */
  leave(writes: readonly Write[]): Promise<void>
}

export interface StateOptions {
  readonly store: Store
  readonly lease: Pick<BridgeLease, 'current' | 'renew'>
  readonly clock: Clock
  /** Aborts when the bridge is stopping. */
  readonly stopping: AbortSignal
  /** Gets why the store fails, once until it works again. */
  readonly onError: (error: Error) => void
}

/** How often a busy state is tried, and how long after each try, in ms. */
const mostTries = 5
const againMs = 500
/** The longest pause before what must not be lost is tried again, in ms. */
const mostPauseMs = 5000

export function createState({ store, lease, clock, stopping, onError }: StateOptions): State {
  let isReported = false
  return {
    read: store.read,
    list: store.list,
    queue: store.queue,
    queues: store.queues,
    sweep: store.sweep,
    commit,
    persist,
    leave,
  }

  /** A state that another process keeps locked is tried again, and so is a lease that ran out. */
  async function commit(writes: readonly Write[], options?: CommitOptions): Promise<boolean> {
    for (let tries = 1; ; tries++) {
      const held = lease.current()
      if (!held) throw takenOver()
      try {
        const { type } = await store.commit(writes, held, options)
        if (type !== 'fenced') return type === 'done'
        if (!(await lease.renew())) throw takenOver()
        if (tries === mostTries)
          throw new StoreError('busy', 'The lease on the state ran out before each write. Check how slow its disk is.')
      } catch (error) {
        if (!(error instanceof StoreError) || error.type !== 'busy' || tries === mostTries) throw error
        await pause(clock, againMs, stopping)
      }
    }
  }

  async function leave(writes: readonly Write[]): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return void (await store.commit(writes))
      } catch (error) {
        if (!(error instanceof StoreError) || error.type !== 'busy' || tries === mostTries) throw error
        // Not ended by a stop: the bridge is stopping as it was taken over.
        await pause(clock, againMs)
      }
    }
  }

  async function persist<Result>(call: () => Promise<Result>): Promise<Result> {
    for (let failures = 0; ; failures++) {
      try {
        const result = await call()
        isReported = false
        return result
      } catch (error) {
        if (!isPassing(error) || stopping.aborted) throw error
        if (!isReported) onError(error)
        isReported = true
        await pause(clock, Math.min(backOffMs(failures), mostPauseMs), stopping)
      }
    }
  }
}

/** Whether a later try may succeed. */
function isPassing(error: unknown): error is StoreError {
  return error instanceof StoreError && (error.type === 'busy' || error.type === 'failed')
}
