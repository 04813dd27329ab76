import type { FailureCounts } from './failed-deliveries.ts'

/** The numbers of failures in the shards of this process. */
export interface ShardFailures {
  /** Replaces the numbers of a shard, and emits the new sum if it changed. */
  set(shard: string, counts: FailureCounts): void
  /** Forgets a shard that this process no longer has. */
  remove(shard: string): void
}

/** Adds up the numbers of all shards of a process. */
export function createFailureCounts(onSum: (sum: FailureCounts) => void): ShardFailures {
  const byShard = new Map<string, FailureCounts>()
  let last: string | undefined
  return {
    set: (shard, counts) => {
      byShard.set(shard, counts)
      emitSum()
    },
    remove: (shard) => {
      if (byShard.delete(shard)) emitSum()
    },
  }

  /** Emits the sum, unless it is that of the last call. */
  function emitSum(): void {
    const all = [...byShard.values()]
    const sumOf = (name: keyof FailureCounts): number => all.reduce((sum, counts) => sum + counts[name], 0)
    const sum = {
      deliveries: sumOf('deliveries'),
      prompts: sumOf('prompts'),
      rows: sumOf('rows'),
      poison: sumOf('poison'),
    }
    const text = JSON.stringify(sum)
    if (text === last) return
    last = text
    onSum(sum)
  }
}
