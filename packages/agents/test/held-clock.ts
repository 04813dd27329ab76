import { type Clock, systemClock } from '@reply/core'

/** A clock whose timers of this length run when they are told to. */
export function heldClock(heldMs: number): { readonly clock: Clock; elapse(): void } {
  const pending = new Set<() => void>()
  const after = (delayMs: number, run: () => void): (() => void) => {
    if (delayMs !== heldMs) return systemClock.after(delayMs, run)
    pending.add(run)
    return () => void pending.delete(run)
  }
  return {
    clock: { ...systemClock, after },
    elapse: () => {
      for (const run of [...pending]) run()
    },
  }
}
