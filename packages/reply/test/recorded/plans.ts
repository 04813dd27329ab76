import { listRecordings } from '@reply/testing'
import { expect, test } from 'vitest'
import { expectedOf } from './play.ts'
import { isSameForAll, planBySeed, problemsOf } from './sweep.ts'

export interface PlansOptions {
  /** Of the recorded servers. Default: 1. */
  readonly generation?: 1 | 2
  readonly first: number
  readonly count: number
  /** Called with the result. */
  readonly note?: (result: { readonly runs: number; readonly failed: number; readonly firstSeed: number }) => void
}

/**
 * Random plans, one per seed. A failure names its seed, and this replays it: `REPLY_TESTS=nightly
 * REPLY_PLANS_SEED=<seed> REPLY_PLANS=1 npx vitest run packages/reply/test/recorded/plans.nightly.ts`.
 */
export function playPlans({ generation = 1, first, count, note }: PlansOptions): void {
  // Leaves out the burst, one part's deltas over and over; the sweeps include it.
  const recordings = listRecordings({ generation }).filter((one) => one.scenario !== 'burst' && isSameForAll(one))
  test(`${count} random plans from seed ${first} on lose nothing, duplicate nothing and end once`, {
    timeout: 3_600_000,
  }, async () => {
    const failures: string[] = []
    let seed = first
    for (; seed < first + count && failures.length < 25; seed++) {
      const plan = planBySeed(seed, recordings)
      const key = `${plan.recording.version}/${plan.recording.scenario}`
      const problems = await problemsOf(plan, await expectedOf(plan.recording))
      if (problems.length > 0)
        failures.push(
          `seed ${seed} (${key} ${JSON.stringify(plan.faults)} ahead ${plan.ahead} from ${plan.attachAt}): ${problems.slice(0, 2).join('; ')}`,
        )
    }
    note?.({ runs: seed - first, failed: failures.length, firstSeed: first })
    expect(failures).toEqual([])
  })
}
