import type { SimpleShardingStrategy } from 'discord.js'
import { DiscordError } from '../error.ts'

/**
 * Reports frames that discord.js itself can't read, and passes them over. It reads each in a promise that it doesn't
 * await, so that an event without a field that it wants would end the process.
 */
export function guardFrames(
  strategy: SimpleShardingStrategy,
  onError: (error: DiscordError) => void,
): SimpleShardingStrategy {
  const spawn = strategy.spawn.bind(strategy)
  strategy.spawn = async (ids) => {
    await spawn(ids)
    for (const shard of shardsOf(strategy)) guard(shard, onError)
  }
  return strategy
}

/** Private in the types of discord.js. */
function shardsOf(strategy: SimpleShardingStrategy): readonly object[] {
  const shards: unknown = Reflect.get(strategy, 'shards')
  return shards instanceof Map ? [...shards.values()] : []
}

/** The shard's connection calls its `onMessage` for each frame. */
function guard(shard: object, onError: (error: DiscordError) => void): void {
  const read: unknown = Reflect.get(shard, 'onMessage')
  if (typeof read !== 'function') return
  const guarded = async (...frame: readonly unknown[]): Promise<void> => {
    try {
      await Reflect.apply(read, shard, frame)
    } catch (cause) {
      const what = cause instanceof Error ? cause.name : 'no reason'
      onError(new DiscordError('updates', `A frame of Discord's gateway is unreadable, and was passed over: ${what}.`))
    }
  }
  Reflect.set(shard, 'onMessage', guarded)
}
