import type { Effort } from './goal.ts'

/** Warm-up time of each side, in ms: long enough to compile its code, even on a busy machine. */
const warmUpMs = { full: 2000, quick: 500 }

/** Minimum time of a round, in ms: shorter ones measure noise, so short runs are repeated within a round. */
const leastMs = 30

/**
 * Resolves with the second's time divided by the first's: the median over rounds that run both in turn, so that other
 * work on the machine affects both. Neither pays for collecting the other's garbage. `rounds` are those of a full run,
 * fewer for measurements that take many seconds. A quick run has at most five.
 */
export async function race(first: () => unknown, second: () => unknown, effort: Effort, rounds = 21): Promise<number> {
  const count = effort === 'quick' ? Math.min(rounds, 5) : rounds
  const firstTimes = await warmUpRepeats(first, warmUpMs[effort])
  const secondTimes = await warmUpRepeats(second, warmUpMs[effort])
  const ratios: number[] = []
  for (let round = 0; round < count; round++) {
    const firstMs = (await timeRuns(first, firstTimes)) / firstTimes
    const secondMs = (await timeRuns(second, secondTimes)) / secondTimes
    ratios.push(secondMs / firstMs)
  }
  return median(ratios)
}

/**
 * Resolves with the milliseconds of `times` runs in sequence. Collects the other side's garbage first, if Node exposes
 * that, but only the young generation: a full collection would also discard compiled code whose objects happen to be
 * dead at the moment, which doesn't happen in a running server.
 */
async function timeRuns(run: () => unknown, times: number): Promise<number> {
  globalThis.gc?.({ type: 'minor' })
  const start = performance.now()
  for (let at = 0; at < times; at++) await run()
  return performance.now() - start
}

/** Runs for `forMs`, and resolves with how many of the fastest runs make a round of at least `leastMs`. */
async function warmUpRepeats(run: () => unknown, forMs: number): Promise<number> {
  const start = performance.now()
  let fastest = Number.POSITIVE_INFINITY
  while (performance.now() - start < forMs) fastest = Math.min(fastest, await timeRuns(run, 1))
  return Math.max(1, Math.ceil(leastMs / fastest))
}

/** The middle value, or the mean of the two middle ones if their number is even. NaN without values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const low = sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN
  const high = sorted[middle] ?? Number.NaN
  return (low + high) / 2
}

/** The value below which that share of the values is, without interpolation. NaN without values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
