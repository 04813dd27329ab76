import type { Clock } from '@reply/core'
import { pause } from '@reply/sink/channel'
import { BridgeError } from './error.ts'
import { type CommitOptions, type Committed, type Lease, type Store, StoreError, type Write } from './store/store.ts'

/** The store, written to under the bridge's own lease. */
export interface State extends Pick<Store, 'read' | 'list' | 'queue' | 'queues' | 'sweep'> {
  /** Makes all writes or none. `false`: one of them conflicts. Rejects with `taken-over` once another process took over. */
  commit(writes: readonly Write[], options?: CommitOptions): Promise<boolean>
}

export interface StateOptions {
  readonly store: Store
  /** The newest lease; undefined once it was given back or lost. */
  readonly lease: () => Lease | undefined
  /** Takes the lease again if it ran out. `false`: another process had it meanwhile. */
  readonly retake: () => Promise<boolean>
  readonly clock: Clock
  /** Another process took over. */
  readonly onFenced: () => void
}

/** How often a busy state is tried, and how long after each try, in ms. */
const mostTries = 5
const againMs = 500

export function createState({ store, lease, retake, clock, onFenced }: StateOptions): State {
  /** A state that another process keeps locked is tried again: nothing was written. */
  async function commit(writes: readonly Write[], options?: CommitOptions): Promise<Committed> {
    for (let tries = 1; ; tries++) {
      const held = lease()
      if (!held) return { type: 'fenced' }
      try {
        return await store.commit(writes, held, options)
      } catch (error) {
        if (!(error instanceof StoreError) || error.type !== 'busy' || tries === mostTries) throw error
        await pause(clock, againMs)
      }
    }
  }

  return {
    read: store.read,
    list: store.list,
    queue: store.queue,
    queues: store.queues,
    sweep: store.sweep,
    commit: async (writes, options) => {
      const committed = await commit(writes, options)
      if (committed.type !== 'fenced') return committed.type === 'done'
      if (await retake()) {
        const again = await commit(writes, options)
        if (again.type !== 'fenced') return again.type === 'done'
      }
      onFenced()
      throw new BridgeError('taken-over', 'Another process took over this state, so this one writes nothing more.')
    },
  }
}
