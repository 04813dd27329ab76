import type { Effort } from './goal.ts'

export interface Race {
  readonly first: () => unknown
  readonly second: () => unknown
  readonly effort: Effort
  /** Of a full run. Less for what takes many seconds. */
  readonly rounds?: number | undefined
}

/** How long each side is warmed up: until the compiler has made of its code what it will, also on a machine that is busy. */
const warmUpMs = { full: 2000, quick: 500 }

/** A round shorter than this says more about the machine than about the code, so short runs are repeated within it. */
const leastMs = 30

/**
 * How many times as long the second takes as the first: the median over rounds that run both in turn, so that whatever
 * else the machine does meets both. Neither pays for collecting the other's garbage.
 */
export async function race({ first, second, effort, rounds = 21 }: Race): Promise<number> {
  const count = effort === 'quick' ? Math.min(rounds, 5) : rounds
  const firstTimes = await repeatsOf(first, warmUpMs[effort])
  const secondTimes = await repeatsOf(second, warmUpMs[effort])
  const ratios: number[] = []
  for (let round = 0; round < count; round++) {
    const before = (await time(first, firstTimes)) / firstTimes
    const after = (await time(second, secondTimes)) / secondTimes
    ratios.push(after / before)
  }
  return median(ratios)
}

/**
 * Milliseconds of `times` runs. What the other left behind is collected before, by a young collection only: a whole one
 * would also throw away compiled code whose objects happen to be dead just now, which no running server ever meets.
 */
async function time(run: () => unknown, times: number): Promise<number> {
  globalThis.gc?.({ type: 'minor' })
  const start = performance.now()
  for (let at = 0; at < times; at++) await run()
  return performance.now() - start
}

/** Warms up, and finds how many runs make a round. */
async function repeatsOf(run: () => unknown, forMs: number): Promise<number> {
  const start = performance.now()
  let fastest = Number.POSITIVE_INFINITY
  while (performance.now() - start < forMs) fastest = Math.min(fastest, await time(run, 1))
  return Math.max(1, Math.ceil(leastMs / fastest))
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const [low = Number.NaN, high = Number.NaN] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[middle]]
  return (low + high) / 2
}

/** The value below which that share of them lies. NaN without any. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
