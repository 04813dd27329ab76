import type { TestClock } from '../clock.ts'

/** A maximum number of calls within a time span. */
export interface Allowance {
  /** The most calls. */
  readonly count: number
  /** The length of the time span, in ms. */
  readonly perMs: number
}

/** Counts calls within any time span of an allowance's length. */
export interface Budget {
  /** Takes one call from each scope. If one of them is used up, takes none and returns the seconds to wait. */
  spend(scopes: readonly Scope[]): number | undefined
  /** Refuses all calls for this many seconds. */
  freeze(name: string, seconds: number): void
}

export interface Scope {
  readonly name: string
  readonly allowances: readonly Allowance[]
}

/** The recent calls of one scope, and until when it is frozen. */
interface Account {
  readonly spent: readonly number[]
  readonly frozenUntil: number
}

const fresh: Account = { spent: [], frozenUntil: 0 }

/**
 * Counts calls by the clock. A caller that exceeds the budget is frozen until the oldest counted call expires. Further
 * calls don't extend that.
 */
export function createBudget(clock: TestClock): Budget {
  const accounts = new Map<string, Account>()
  return {
    spend: (scopes) => {
      const now = clock.now()
      const waits = scopes.map((scope) => waitOf(accounts.get(scope.name) ?? fresh, scope, now))
      const longest = Math.max(0, ...waits)
      for (const [index, { name, allowances }] of scopes.entries()) {
        const account = accounts.get(name) ?? fresh
        const waitMs = waits[index] ?? 0
        if (longest === 0) accounts.set(name, { ...account, spent: [...recent(account, allowances, now), now] })
        else if (waitMs > 0 && account.frozenUntil <= now) accounts.set(name, { ...account, frozenUntil: now + waitMs })
      }
      return longest === 0 ? undefined : longest / 1000
    },
    freeze: (name, seconds) => {
      const account = accounts.get(name) ?? fresh
      accounts.set(name, { ...account, frozenUntil: clock.now() + seconds * 1000 })
    },
  }
}

/** In whole seconds, like `retry_after`. */
function waitOf(account: Account, { allowances }: Scope, now: number): number {
  const waits = allowances.map(({ count, perMs }) => {
    const counting = account.spent.filter((at) => at > now - perMs)
    const oldest = counting.at(-count)
    return oldest === undefined ? 0 : oldest + perMs - now
  })
  return Math.ceil(Math.max(0, account.frozenUntil - now, ...waits) / 1000) * 1000
}

function recent(account: Account, allowances: readonly Allowance[], now: number): readonly number[] {
  const longest = Math.max(...allowances.map(({ perMs }) => perMs))
  return account.spent.filter((at) => at > now - longest)
}

/** The state of a window, which platforms report with each response. */
export interface WindowState {
  readonly name: string
  readonly limit: number
  readonly remaining: number
  readonly resetAfterMs: number
  /** Whether the call was refused because nothing is left. */
  readonly isEmpty: boolean
}

/** Counts calls in windows. Each begins with the first call after the previous one ended. */
export interface WindowBudget {
  take(name: string, allowance: Allowance): WindowState
  /** Refuses all calls for this long. */
  freeze(name: string, forMs: number): void
}

interface Window {
  readonly until: number
  readonly spent: number
  readonly frozenUntil: number
}

const freshWindow: Window = { until: 0, spent: 0, frozenUntil: 0 }

export function createWindowBudget(clock: TestClock): WindowBudget {
  const windows = new Map<string, Window>()
  return { take, freeze }

  function take(name: string, { count, perMs }: Allowance): WindowState {
    const now = clock.now()
    const known = windows.get(name) ?? freshWindow
    const window = known.until > now ? known : { ...known, until: now + perMs, spent: 0 }
    const frozenMs = Math.max(0, window.frozenUntil - now)
    const isEmpty = frozenMs > 0 || window.spent >= count
    const spent = isEmpty ? window.spent : window.spent + 1
    windows.set(name, { ...window, spent })
    const remaining = frozenMs > 0 ? 0 : count - spent
    return { name, limit: count, remaining, resetAfterMs: frozenMs || window.until - now, isEmpty }
  }

  function freeze(name: string, forMs: number): void {
    windows.set(name, { ...(windows.get(name) ?? freshWindow), frozenUntil: clock.now() + forMs })
  }
}
