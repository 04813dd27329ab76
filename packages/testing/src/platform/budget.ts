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
  /**
   * Takes one call from each scope. If a scope is used up or frozen, takes none and throws `refusalOf(secondsToWait)`.
   * A scope that is used up is then frozen until its next call may be made.
   */
  spend(scopes: readonly Scope[], refusalOf: (waitS: number) => Error): void
  /** Refuses all calls of this scope for this many seconds from now, whatever was frozen before. */
  freeze(scopeName: string, seconds: number): void
}

/** The calls that share allowances, for example those to one chat. */
interface Scope {
  readonly name: string
  readonly allowances: readonly Allowance[]
}

/** The recent calls of one scope, and until when it is frozen. */
interface Account {
  readonly spent: readonly number[]
  readonly frozenUntil: number
}

const fresh: Account = { spent: [], frozenUntil: 0 }

/** Returns the rate limits of a fake, with no call counted yet. Calls during a freeze don't extend it. */
export function createBudget(clock: TestClock): Budget {
  const accounts = new Map<string, Account>()
  return {
    spend: (scopes, refusalOf) => {
      const now = clock.now()
      const waits = scopes.map((scope) => waitMsOf(accounts.get(scope.name) ?? fresh, scope, now))
      const longest = Math.max(0, ...waits)
      for (const [index, { name, allowances }] of scopes.entries()) {
        const account = accounts.get(name) ?? fresh
        const waitMs = waits[index] ?? 0
        if (longest === 0) accounts.set(name, { ...account, spent: [...countedCalls(account, allowances, now), now] })
        else if (waitMs > 0 && account.frozenUntil <= now) accounts.set(name, { ...account, frozenUntil: now + waitMs })
      }
      if (longest > 0) throw refusalOf(longest / 1000)
    },
    freeze: (name, seconds) => {
      const account = accounts.get(name) ?? fresh
      accounts.set(name, { ...account, frozenUntil: clock.now() + seconds * 1000 })
    },
  }
}

/**
 * How long the scope's next call has to wait, in ms, rounded up to seconds like `retry_after`. 0 if it needn't wait.
 */
function waitMsOf(account: Account, { allowances }: Scope, now: number): number {
  const waits = allowances.map(({ count, perMs }) => {
    const counted = account.spent.filter((at) => at > now - perMs)
    const oldest = counted.at(-count)
    return oldest === undefined ? 0 : oldest + perMs - now
  })
  return Math.ceil(Math.max(0, account.frozenUntil - now, ...waits) / 1000) * 1000
}

/** The times of the calls that some allowance still counts. */
function countedCalls(account: Account, allowances: readonly Allowance[], now: number): readonly number[] {
  const longest = Math.max(...allowances.map(({ perMs }) => perMs))
  return account.spent.filter((at) => at > now - longest)
}

/** A window after a call, as platforms report it with each response. */
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
  /**
   * Takes one call from a window, unless it is empty or frozen, and returns the window after it. While it is frozen,
   * nothing remains and `resetAfterMs` is the rest of the freeze.
   */
  take(name: string, allowance: Allowance): WindowState
  /** Refuses all calls of this window for this long from now, whatever was frozen before. */
  freeze(name: string, forMs: number): void
}

interface Window {
  readonly until: number
  readonly spent: number
  readonly frozenUntil: number
}

const freshWindow: Window = { until: 0, spent: 0, frozenUntil: 0 }

/** Returns rate limits like Discord's, in windows that begin with the first call, with no call counted yet. */
export function createWindowBudget(clock: TestClock): WindowBudget {
  const windows = new Map<string, Window>()
  return { take, freeze }

  /**
   * Takes one call from the window, unless it is empty or frozen, and returns the window after it. Begins a new one
   * if the last has ended.
   */
  function take(name: string, { count, perMs }: Allowance): WindowState {
    const now = clock.now()
    const latest = windows.get(name) ?? freshWindow
    const window = latest.until > now ? latest : { ...latest, until: now + perMs, spent: 0 }
    const frozenMs = Math.max(0, window.frozenUntil - now)
    const isEmpty = frozenMs > 0 || window.spent >= count
    const spent = isEmpty ? window.spent : window.spent + 1
    windows.set(name, { ...window, spent })
    const remaining = frozenMs > 0 ? 0 : count - spent
    return { name, limit: count, remaining, resetAfterMs: frozenMs || window.until - now, isEmpty }
  }

  /** Makes `take` return an empty window for this long from now. */
  function freeze(name: string, forMs: number): void {
    windows.set(name, { ...(windows.get(name) ?? freshWindow), frozenUntil: clock.now() + forMs })
  }
}
