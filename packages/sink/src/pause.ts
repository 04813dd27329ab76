import type { Clock } from '@reply/core'

/** Resolves after that many ms, or when the signal aborts. */
export function pause(clock: Clock, forMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const done = (): void => {
      stop()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const stop = clock.after(forMs, done)
    signal?.addEventListener('abort', done)
  })
}

/** How long to wait after that many failures before this one, in ms: 1 s, doubled each time, at most 60 s. */
export function backOffMs(failures: number): number {
  return Math.min(60_000, 1000 * 2 ** failures)
}
