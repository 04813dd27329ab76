import { expect, test } from 'vitest'
import { judge, planBySeed, showUnder } from './once.ts'
import { recordingsOf, type Timeline, timelinesOf } from './timeline.ts'

const versions = ['1.18.33', '1.1.65']

/**
 * Random plans, one per seed. A failure names its seed, and this replays it:
 * `REPLY_TESTS=nightly REPLY_SINK_SEED=<seed> REPLY_SINK_PLANS=1 npx vitest run packages/sink/test/once.nightly.ts`.
 */
export function playSeeds({ first, count }: { readonly first: number; readonly count: number }): void {
  test(`${count} random plans from seed ${first} on show each reply once, or report what is missing`, {
    timeout: 3_600_000,
  }, async () => {
    const timelines = await timelinesOfAll()
    const failures: string[] = []
    for (let seed = first; seed < first + count && failures.length < 25; seed++) {
      const timeline = timelines[seed % timelines.length]
      if (!timeline) continue
      const problems = await problemsOf(timeline, seed)
      if (problems.length > 0) failures.push(`seed ${seed} (${timeline.name}): ${problems.slice(0, 2).join('; ')}`)
    }
    expect(failures).toEqual([])
  })
}

async function timelinesOfAll(): Promise<readonly Timeline[]> {
  const found = await Promise.all(versions.flatMap(recordingsOf).map((recording) => timelinesOf(recording)))
  return found.flat()
}

async function problemsOf(timeline: Timeline, seed: number): Promise<readonly string[]> {
  try {
    return judge(await showUnder(timeline, planBySeed(seed)))
  } catch (error) {
    return [String(error)]
  }
}
