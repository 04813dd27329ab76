import { shardCount } from '../../src/state/shard-of.ts'
import type { Member } from './member.ts'

/** Measures how long chats are without an owner after faults. */
export interface Takeovers {
  /** Call it after a member was killed or stopped, and when the database is back after a crash. */
  struck(): void
  /** Call it often. */
  look(): void
  /**
   * The time of each takeover that is over, from its last fault until the members that run owned all shards, in ms. One that a
   * member ends by coming back counts, too.
   */
  readonly timesMs: readonly number[]
  /** Whether some shard has no owner that runs. */
  isOpen(): boolean
}

/** Creates the measurement. `now` is in ms. */
export function createTakeovers(members: readonly Pick<Member, 'owned'>[], now: () => number): Takeovers {
  const timesMs: number[] = []
  let struckAt: number | undefined
  const isOwned = (): boolean => members.reduce((sum, member) => sum + member.owned(), 0) >= shardCount
  return {
    timesMs,
    isOpen: () => struckAt !== undefined,
    struck: () => {
      if (!isOwned()) struckAt = now()
    },
    look: () => {
      if (struckAt === undefined || !isOwned()) return
      timesMs.push(now() - struckAt)
      struckAt = undefined
    },
  }
}
