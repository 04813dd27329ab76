import type { Clock } from '@reply/core'
import { createMirrors, type Mirrors } from '../src/config/mirrors.ts'
import type { ChatPlace } from '../src/place.ts'
import { allShards, keyInShard, keyOutOfShard, shardLeasePrefix, shardOf } from '../src/state/shard-of.ts'
import type { Store } from '../src/store/store.ts'
import { createMemoryStore, type StoreMemory } from '../src/testing.ts'

/** A private chat of the fake Telegram. */
export function telegramChat(id: number): ChatPlace {
  return { channel: 'telegram', chat: { id: String(id) } }
}

/** Returns the store of one member, and what tells the names of the shards that this member has a lease on. */
export function storeOfMember({ memory, clock }: { readonly memory: StoreMemory; readonly clock: Clock }): {
  readonly store: Store
  readonly shards: () => readonly string[]
} {
  const store = createMemoryStore({ memory, clock })
  let member: string | undefined
  return {
    store: {
      ...store,
      beat: async (request) => {
        member = request.member
        return await store.beat(request)
      },
    },
    shards: () =>
      memory.members.leases
        .filter(({ holder, expiresAt }) => holder === member && expiresAt > clock.now())
        .flatMap(({ name }) => (name.startsWith(shardLeasePrefix) ? [name.slice(shardLeasePrefix.length)] : [])),
  }
}

/** Returns a key or queue of a chat as the store has it, with the chat's shard. */
export function keyOfChat(
  place: ChatPlace,
  key: string,
  mirrors: Pick<Mirrors, 'chatKeyOf' | 'needsListener'> = createMirrors([]),
): string {
  return keyInShard(shardOf(place, mirrors), key)
}

/** Returns a key or queue of the store without its shard. */
export function keyWithoutShard(key: string): string {
  const [, shard = ''] = key.split('/')
  return allShards.includes(shard) ? keyOutOfShard(shard, key) : key
}
