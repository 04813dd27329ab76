import type { Clock } from '@reply/core'

/** One timer for each key. A stop clears them all. */
export interface Timers {
  /** Takes the place of the key's timer. Does nothing after `stop`. */
  set(key: string, delayMs: number, run: () => void): void
  clear(key: string): void
  stop(): void
}

export function createTimers(clock: Pick<Clock, 'after'>): Timers {
  const clears = new Map<string, () => void>()
  let isStopped = false
  return { set, clear, stop }

  function set(key: string, delayMs: number, run: () => void): void {
    clear(key)
    if (!isStopped) clears.set(key, clock.after(delayMs, run))
  }

  function clear(key: string): void {
    clears.get(key)?.()
    clears.delete(key)
  }

  function stop(): void {
    isStopped = true
    for (const key of [...clears.keys()]) clear(key)
  }
}

/** Waits for something, but not longer than that, in ms. */
export async function atMost(done: Promise<unknown>, ms: number, clock: Clock): Promise<void> {
  let stopTimer = (): void => {}
  const late = new Promise<void>((resolve) => {
    stopTimer = clock.after(ms, resolve)
  })
  await Promise.race([done, late])
  stopTimer()
}
