/** Returns how long to wait after a failure, in ms: 1 s, doubled for each of the `failures` before it, at most 60 s. */
export function backOffMs(failures: number): number {
  return Math.min(60_000, 1000 * 2 ** failures)
}
