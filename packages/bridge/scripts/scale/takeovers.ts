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
  /** For how long each shard that one fault took from its member was taken by none that runs, in ms. */
  readonly takenOverMs: readonly number[]
  /**
   * The same for each shard that another fault hit before it was taken: the member that read it was struck, or the database crashed. A
   * fault of a member that does not have the shard yet changes nothing.
   */
  readonly struckAgain: readonly StruckAgain[]
  /** The same for those that changed their member without a fault, for example because another one joined. */
  readonly handedOverMs: readonly number[]
  /** The names of the shards that no member takes that runs. */
  open(): readonly string[]
}

/** A shard that faults hit more than once before a member took it. Times are in ms. */
export interface StruckAgain {
  /** From the last fault on, as if it were the only one. */
  readonly sinceLastMs: number
  /** From the first one on, which is how long its chats had no bridge. */
  readonly sinceFirstMs: number
}

/** A shard that no member takes. */
interface Open {
  /** Since when that is so. */
  readonly firstAt: number
  /** When the last fault hit it. The same as `firstAt` without one. */
  readonly lastAt: number
  readonly kind: 'handover' | 'takeover' | 'struck-again'
}

/** Creates the measurement. `now` is in ms. */
export function createTakeovers(
  members: readonly Pick<Member, 'taking' | 'restoring'>[],
  now: () => number,
): Takeovers {
  const takenOverMs: number[] = []
  const struckAgain: StruckAgain[] = []
  const handedOverMs: number[] = []
  /** By the name of a shard. */
  const open = new Map<string, Open>()
  /** The shards that members took or restored at the last look. */
  let heldBefore: ReadonlySet<string> = new Set(allShards)
  return { struck, isBack, look, takenOverMs, struckAgain, handedOverMs, open: () => [...open.keys()] }

  /** A shard counts from now on if the fault hit the member that took or restored it. */
  function struck(): void {
    const held = heldNow()
    for (const shard of heldBefore) if (!held.has(shard)) hit(shard)
    heldBefore = held
  }

  /** Those that expired while the database was away were hit by one fault. */
  function isBack(): void {
    for (const shard of notTaken()) hit(shard)
  }

  function hit(shard: string): void {
    const before = open.get(shard)
    if (!before || before.kind === 'handover') open.set(shard, { firstAt: now(), lastAt: now(), kind: 'takeover' })
    else open.set(shard, { ...before, lastAt: now(), kind: 'struck-again' })
  }

  function look(): void {
    const missing = notTaken()
    for (const shard of missing)
      if (!open.has(shard)) open.set(shard, { firstAt: now(), lastAt: now(), kind: 'handover' })
    for (const [shard, one] of open) {
      if (missing.has(shard)) continue
      open.delete(shard)
      note(one)
    }
    heldBefore = heldNow()
  }

  function note({ firstAt, lastAt, kind }: Open): void {
    switch (kind) {
      case 'handover':
        handedOverMs.push(now() - firstAt)
        break
      case 'takeover':
        takenOverMs.push(now() - lastAt)
        break
      case 'struck-again':
        struckAgain.push({ sinceLastMs: now() - lastAt, sinceFirstMs: now() - firstAt })
        break
      default:
        kind satisfies never
    }
  }

  function heldNow(): ReadonlySet<string> {
    return new Set(members.flatMap((member) => [...member.taking(), ...member.restoring()]))
  }

  function notTaken(): ReadonlySet<string> {
    const taken = new Set(members.flatMap((member) => [...member.taking()]))
    return new Set(allShards.filter((shard) => !taken.has(shard)))
  }
}
