import { setMaxListeners } from 'node:events'
import type { Clock } from '@reply/core'

/** Timers by key. */
export interface Timers {
  /** Starts a timer, and clears the key's previous one. Starts none after `stop`. */
  restart(key: string, delayMs: number, run: () => void): void
  /** Clears the timer of a key, if it has one. */
  clear(key: string): void
  /** Clears all timers, and ignores later ones. */
  stop(): void
}

/** Keeps one timer for each key. */
export function createTimers(clock: Pick<Clock, 'after'>): Timers {
  const clears = new Map<string, () => void>()
  let isStopped = false
  return { restart, clear, stop }

  /** Replaces the timer of the key. After `stop`, only clears it. */
  function restart(key: string, delayMs: number, run: () => void): void {
    clear(key)
    if (!isStopped) clears.set(key, clock.after(delayMs, run))
  }

  /** Clears the timer of a key. Does nothing if it has none. */
  function clear(key: string): void {
    clears.get(key)?.()
    clears.delete(key)
  }

  /** Clears all timers, and starts no more. */
  function stop(): void {
    isStopped = true
    for (const key of [...clears.keys()]) clear(key)
  }
}

/** Resolves when `done` does, or after `ms`. Rejects if `done` rejects first. A late `done` is ignored, also if it rejects. */
export async function waitAtMost(done: Promise<unknown>, ms: number, clock: Clock): Promise<void> {
  let stopTimer = (): void => {}
  const late = new Promise<void>((resolve) => {
    stopTimer = clock.after(ms, resolve)
  })
  await Promise.race([done, late]).finally(() => stopTimer())
}

/** Creates a controller whose signal can have many listeners. Node warns of more than ten otherwise. */
export function newAbortController(): AbortController {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}
