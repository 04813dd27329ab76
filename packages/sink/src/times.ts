/** How long to wait after that many failures before this one, in ms: 1 s, doubled each time, at most 60 s. */
export function backOffMs(failures: number): number {
  return Math.min(60_000, 1000 * 2 ** failures)
}

/** The earliest of the times that are known. Undefined if none is. */
export function earliest(...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}
