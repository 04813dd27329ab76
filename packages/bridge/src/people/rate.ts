import type { Clock } from '@reply/core'

/** Counts what each actor sends. */
export interface Rate {
  /** Whether this one is still within the limit; it counts if so. */
  take(actor: string): boolean
}

const minuteMs = 60_000

/** At most `perMinute` in any minute, for each actor. Remembers only actors of the last minute. */
export function createRate({ perMinute, clock }: { readonly perMinute: number; readonly clock: Clock }): Rate {
  const times = new Map<string, readonly number[]>()
  let sweptAt = clock.now()
  return { take }

  function take(actor: string): boolean {
    const now = clock.now()
    if (now - sweptAt > minuteMs) sweep(now)
    const recent = (times.get(actor) ?? []).filter((at) => at > now - minuteMs)
    if (recent.length >= perMinute) return false
    times.set(actor, [...recent, now])
    return true
  }

  function sweep(now: number): void {
    sweptAt = now
    for (const [actor, all] of times) if ((all.at(-1) ?? 0) <= now - minuteMs) times.delete(actor)
  }
}
