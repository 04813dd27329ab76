import type { Clock } from '../clock.ts'
import type { DiscordAllowance } from './limits.ts'

/** The bucket state that each response reports. */
export interface BucketState {
  readonly name: string
  readonly limit: number
  readonly remaining: number
  readonly resetAfterMs: number
  /** Whether the call was refused because nothing is left. */
  readonly isEmpty: boolean
}

export interface Buckets {
  take(name: string, allowance: DiscordAllowance): BucketState
  /** Refuses all calls for this long. */
  freeze(name: string, forMs: number): void
}

interface Window {
  readonly until: number
  readonly spent: number
  readonly frozenUntil: number
}

const fresh: Window = { until: 0, spent: 0, frozenUntil: 0 }

/** Counts calls by the clock, in windows that begin with the first call after the previous window ended. */
export function createBuckets(clock: Clock): Buckets {
  const windows = new Map<string, Window>()
  return { take, freeze }

  function take(name: string, { count, perMs }: DiscordAllowance): BucketState {
    const now = clock.now()
    const known = windows.get(name) ?? fresh
    const window = known.until > now ? known : { ...known, until: now + perMs, spent: 0 }
    const frozenMs = Math.max(0, window.frozenUntil - now)
    const isEmpty = frozenMs > 0 || window.spent >= count
    const spent = isEmpty ? window.spent : window.spent + 1
    windows.set(name, { ...window, spent })
    const remaining = frozenMs > 0 ? 0 : count - spent
    return { name, limit: count, remaining, resetAfterMs: frozenMs || window.until - now, isEmpty }
  }

  function freeze(name: string, forMs: number): void {
    windows.set(name, { ...(windows.get(name) ?? fresh), frozenUntil: clock.now() + forMs })
  }
}
