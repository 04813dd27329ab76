/** Returns how long to wait after a failure, in ms: 1 s, doubled for each of the `failures` before it, at most 60 s. */
export function backOffMs(failures: number): number {
  return Math.min(60_000, 1000 * 2 ** failures)
}

/** Returns the earliest of the known times. Undefined if none is known. */
export function earliest(...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}
