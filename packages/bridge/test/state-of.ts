import type { SharedState, State } from '../src/state/state.ts'
import type { Store } from '../src/store/store.ts'

/** A store that is written without a lease, and whose rows have no shard. */
export function stateOf(store: Store): State & SharedState {
  return {
    ...store,
    commit: async (writes) => (await store.commit(writes)).type === 'done',
    withRetries: (call) => call(),
    commitWithoutLease: async (writes, options) => (await store.commit(writes, undefined, options)).type === 'done',
  }
}
