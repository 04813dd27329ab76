/** How long to wait after that many failures before this one, in ms: 1 s, doubled each time, at most 60 s. */
export function backOffMs(failures: number): number {
  return Math.min(60_000, 1000 * 2 ** failures)
}
