import { allShards } from '../../src/state/shard-of.ts'
import type { Member } from './member.ts'

/** Measures how long chats are without a bridge. */
export interface Takeovers {
  /** Call it after a member was killed or stopped. */
  struck(): void
  /** Call it when the database is back after a crash. What is not taken then counts from now on. */
  isBack(): void
  /** Call it often. */
  look(): void
  /**
   * For how long each shard that a fault took from its member was taken by none that runs, in ms. A fault of the member that is about
   * to take it begins anew.
   */
  readonly takenOverMs: readonly number[]
  /** The same for those that changed their member without a fault, for example because another one joined. */
  readonly handedOverMs: readonly number[]
  /** Whether some shard is taken by no member that runs. */
  isOpen(): boolean
}

/** Creates the measurement. `now` is in ms. */
export function createTakeovers(
  members: readonly Pick<Member, 'taking' | 'restoring'>[],
  now: () => number,
): Takeovers {
  const takenOverMs: number[] = []
  const handedOverMs: number[] = []
  /** By the name of a shard: since when no member takes it. */
  const open = new Map<string, { readonly since: number; readonly isByFault: boolean }>()
  /** The shards that members took or restored at the last look. */
  let heldBefore: ReadonlySet<string> = new Set(allShards)
  return { struck, isBack, look, takenOverMs, handedOverMs, isOpen: () => open.size > 0 }

  /** A shard counts from now on if the fault hit the member that had it, or was about to. */
  function struck(): void {
    const held = new Set(members.flatMap((member) => [...member.taking(), ...member.restoring()]))
    for (const shard of heldBefore) if (!held.has(shard)) open.set(shard, { since: now(), isByFault: true })
    heldBefore = held
  }

  function isBack(): void {
    for (const shard of notTaken()) open.set(shard, { since: now(), isByFault: true })
  }

  function look(): void {
    const missing = notTaken()
    for (const shard of missing) if (!open.has(shard)) open.set(shard, { since: now(), isByFault: false })
    for (const [shard, { since, isByFault }] of open) {
      if (missing.has(shard)) continue
      open.delete(shard)
      if (isByFault) takenOverMs.push(now() - since)
      else handedOverMs.push(now() - since)
    }
    heldBefore = new Set(members.flatMap((member) => [...member.taking(), ...member.restoring()]))
  }

  function notTaken(): ReadonlySet<string> {
    const taken = new Set(members.flatMap((member) => [...member.taking()]))
    return new Set(allShards.filter((shard) => !taken.has(shard)))
  }
}
