/**
 * Returns a function that makes pseudo-random numbers from 0 to below 1, the same for the same seed. Only the 32 lowest
 * bits of the seed count. Mulberry32: 32 bits of state are enough for a plan.
 */
export function seededRandom(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
