import type { Effort } from './goal.ts'
import { median } from './rounds.ts'

/** How many of a thing are made, so that what they share and the table of them weigh nothing. */
const count = 1000

/**
 * Resolves with the heap that each of 1,000 things takes, in bytes. One more is made before, which pays for what they share.
 */
export async function heapOfEach(make: () => unknown): Promise<number> {
  const first = await make()
  const before = await settledHeap()
  const all: unknown[] = []
  for (let at = 0; at < count; at++) all.push(await make())
  const heap = (await settledHeap()) - before
  // Keeps them until here.
  if (all.length !== count || all.includes(first)) throw new Error('Some thing was not made.')
  return heap / count
}

/** Resolves with the first heap divided by the second: the median over rounds that measure both in turn. */
export async function heapRatio(
  first: () => Promise<number>,
  second: () => Promise<number>,
  effort: Effort,
): Promise<number> {
  const ratios: number[] = []
  for (let round = 0; round < (effort === 'quick' ? 1 : 3); round++) ratios.push((await first()) / (await second()))
  return median(ratios)
}

/**
 * Resolves with the used heap, in bytes, once nothing more can be collected. What has ended still holds memory until the event
 * loop has taken a few turns. If that is freed only during the next measurement, the next one seems to take less: after 1,000
 * readers of a reply that can be half of what 1,000 web streams take. Rejects without `--expose-gc`.
 */
export async function settledHeap(): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let stable = 0; stable < 5; stable++) {
    await new Promise((resolve) => setImmediate(resolve))
    const heap = collectedHeap()
    if (heap < least - noise) stable = 0
    least = Math.min(least, heap)
  }
  return least
}

/** How many bytes the heap changes from one turn to the next without any work. */
const noise = 1000

/** Collects the garbage and returns the used heap, in bytes. Throws without `--expose-gc`. */
function collectedHeap(): number {
  if (!globalThis.gc) throw new Error('Run this with --expose-gc: only a collected heap can be compared.')
  globalThis.gc()
  return process.memoryUsage().heapUsed
}
