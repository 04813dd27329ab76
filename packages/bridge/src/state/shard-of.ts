import { createHash } from 'node:crypto'
import type { Mirrors } from '../config/mirrors.ts'
import type { ChatPlace } from '../place.ts'

/** How many shards are divided among the members. A state keeps this number for ever. */
export const shardCount = 64

/** The names of these shards: `00` to `63`. */
export const allShards: readonly string[] = Array.from({ length: shardCount }, (_, index) =>
  String(index).padStart(2, '0'),
)

/** The prefix of the names of the leases on shards. */
export const shardLeasePrefix = 'shard/'

/**
 * The shard of all chats of channels that post only where they listen, and of the chats that mirror one of them. The member that
 * has its lease also listens to these channels. It is one shard for all of them, because a chat may mirror two of them.
 */
export const listenerShard = 'listener'

/** The name of the lease on that shard. */
export const listenerLeaseName = `${shardLeasePrefix}${listenerShard}`

/**
 * Returns the shard of a place: that of its chat, or of the first chat of its mirrors, whose threads have the same one.
 * `listenerShard` if it needs the listener.
 */
export function shardOf(place: ChatPlace, mirrors: Pick<Mirrors, 'chatKeyOf' | 'needsListener'>): string {
  if (mirrors.needsListener(place)) return listenerShard
  const [first = 0] = createHash('sha256').update(mirrors.chatKeyOf(place)).digest()
  return allShards[first % shardCount] ?? '00'
}

/** The kinds of keys and queues that are listed for one shard, so that each key of these names its shard. */
const shardedKinds: ReadonlySet<string> = new Set([
  'execution',
  'log',
  'newest',
  'page',
  'failed',
  'notice',
  'unknown',
  'wake',
  'press',
  'fact',
  'suspect',
  'stopping',
  'inbox',
  'prompts',
  'backlog',
])

/**
 * Returns the key as the store has it: with the shard behind its kind, for example `execution/07/tg/1//abc`. A key of a kind
 * that is not listed for one shard stays as it is.
 */
export function keyInShard(shard: string, key: string): string {
  const [kind = key] = key.split('/', 1)
  return shardedKinds.has(kind) ? `${kind}/${shard}${key.slice(kind.length)}` : key
}

/** Returns the key without its shard. The inverse of `keyInShard`. */
export function keyOutOfShard(shard: string, key: string): string {
  const [kind = key] = key.split('/', 1)
  const start = `${kind}/${shard}`
  return shardedKinds.has(kind) && key.startsWith(start) ? `${kind}${key.slice(start.length)}` : key
}

/** Returns the shard in a key or queue of the store. Empty if it has none. */
export function shardIn(key: string): string {
  const [kind = '', shard = ''] = key.split('/', 2)
  return shardedKinds.has(kind) ? shard : ''
}

/** The prefix of the keys of sessions that are handed to a shard: it has the server and the session. */
export const wakePrefix = 'wake/'
