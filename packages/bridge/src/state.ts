import { BridgeError } from './error.ts'
import type { Lease, Store, Write } from './store/store.ts'

/** The store, written to under the bridge's own lease. */
export interface State extends Pick<Store, 'read' | 'list' | 'queue' | 'queues' | 'sweep'> {
  /** Makes all writes or none. `false`: one of them conflicts. Rejects with `state` once another process took over. */
  commit(writes: readonly Write[]): Promise<boolean>
}

export interface StateOptions {
  readonly store: Store
  /** The newest lease; undefined once it was given back or lost. */
  readonly lease: () => Lease | undefined
  /** Another process took over. */
  readonly onFenced: () => void
}

export function createState({ store, lease, onFenced }: StateOptions): State {
  return {
    read: store.read,
    list: store.list,
    queue: store.queue,
    queues: store.queues,
    sweep: store.sweep,
    commit: async (writes) => {
      const held = lease()
      const committed = held ? await store.commit(writes, held) : ({ type: 'fenced' } as const)
      if (committed.type !== 'fenced') return committed.type === 'done'
      onFenced()
      throw new BridgeError('state', 'Another process took over this state, so this one writes nothing more.')
    },
  }
}
