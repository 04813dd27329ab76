import { createMirrors, type Mirrors } from '../src/config/mirrors.ts'
import type { ChatPlace } from '../src/place.ts'
import { allShards, keyInShard, keyOutOfShard, shardOf } from '../src/state/shard-of.ts'

/** A private chat of the fake Telegram. */
export function telegramChat(id: number): ChatPlace {
  return { channel: 'telegram', chat: { id: String(id) } }
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
