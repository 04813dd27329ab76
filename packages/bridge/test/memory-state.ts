import { secretSource } from '@reply/sink/channel'
import * as z from 'zod'
import type { BridgeStore } from '../src/store/bridge-store.ts'
import type { StoredLease } from '../src/store/lease-rules.ts'
import { createMemoryStore, createStoreMemory, type StoreMemory } from '../src/store/memory.ts'

const schema = z.strictObject({ type: z.literal('memory'), name: secretSource })

/** Another kind of state than SQLite, whose data is in this process. */
export interface MemoryState {
  /** For `loadStore`. */
  readonly load: () => Promise<BridgeStore>
  /** By the secret that names them. */
  readonly memories: Map<string, StoreMemory>
}

/** Creates a kind of state with the type `memory`. Its setting `name` is a secret. */
export function createMemoryState(changes: Partial<BridgeStore<z.infer<typeof schema>>> = {}): MemoryState {
  const memories = new Map<string, StoreMemory>()
  const store: BridgeStore<z.infer<typeof schema>> = {
    schema,
    open: async ({ name }, { secret, clock }) => {
      const memory = memories.get(secret(name)) ?? createStoreMemory()
      memories.set(secret(name), memory)
      return createMemoryStore({ memory, clock })
    },
    openExisting: async ({ name }, { secret, clock }) => {
      const memory = memories.get(secret(name))
      return memory && createMemoryStore({ memory, clock })
    },
    check: async ({ name }, { secret }) => [
      `${secret(name)} can be written to`,
      'warning: it is lost with the process',
    ],
    ...changes,
  }
  return { load: async () => store, memories }
}

/** Gives a lease to a holder, also if another one has it. */
export function giveLease(memory: StoreMemory, lease: StoredLease): void {
  const others = memory.members.leases.filter(({ name }) => name !== lease.name)
  memory.members = { ...memory.members, leases: [...others, lease] }
}
