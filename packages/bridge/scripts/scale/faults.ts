import { setTimeout as pause } from 'node:timers/promises'
import type { Stage } from './stage.ts'
import type { Takeovers } from './takeovers.ts'

/** How often each fault happens. */
export interface FaultCounts {
  /** A member is killed. */
  readonly kills: number
  /** A member is stopped past its lease, and continues. */
  readonly stops: number
  /** PostgreSQL crashes, and starts again. */
  readonly crashes: number
}

/** How long before the next fault, in ms: from and to. Some hit while others are being recovered from. */
const gapMs = [2000, 8000] as const
/** How long a member is stopped, in ms: longer than its leases, which last 4 s. */
const suspendMs = [4500, 9000] as const
/** How long PostgreSQL is away, in ms: shorter and longer than a lease. */
const awayMs = [1000, 6000] as const

/**
 * Plays the faults one after the other, in random order at random times. Tells `takeovers` of each. Resolves when the last one is over.
 */
export async function playFaults(
  { members, postgres, random }: Stage,
  { kills, stops, crashes }: FaultCounts,
  takeovers: Pick<Takeovers, 'struck' | 'isBack'>,
): Promise<void> {
  const plan = shuffled([
    ...new Array<'kill'>(kills).fill('kill'),
    ...new Array<'stop'>(stops).fill('stop'),
    ...new Array<'crash'>(crashes).fill('crash'),
  ])
  let crashed = 0
  for (const fault of plan) {
    await pause(between(gapMs))
    const member = members[Math.floor(random() * members.length)]
    switch (fault) {
      case 'kill':
        member?.kill()
        takeovers.struck()
        break
      case 'stop':
        member?.suspend(between(suspendMs))
        takeovers.struck()
        break
      case 'crash':
        await postgres.crash()
        await pause(awayMs[crashed++ % awayMs.length])
        await postgres.start()
        takeovers.isBack()
        break
      default:
        fault satisfies never
    }
  }
  while (members.some((member) => member.isSuspended())) await pause(100)

  function between([from, to]: readonly [number, number]): number {
    return from + random() * (to - from)
  }

  function shuffled<Item>(items: readonly Item[]): readonly Item[] {
    return items
      .map((item) => ({ item, order: random() }))
      .toSorted((one, other) => one.order - other.order)
      .map(({ item }) => item)
  }
}
