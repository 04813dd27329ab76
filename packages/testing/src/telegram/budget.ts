import type { Clock } from '../clock.ts'
import type { Allowance } from './limits.ts'

export interface Budget {
  /** Takes one from each scope, or, if one of them is empty, from none and returns the seconds to wait. */
  spend(scopes: readonly Scope[]): number | undefined
  /** Refuses all calls for this many seconds. */
  freeze(name: string, seconds: number): void
}

export interface Scope {
  readonly name: string
  readonly allowances: readonly Allowance[]
}

/** What one scope spent recently, and until when it is frozen. */
interface Account {
  readonly spent: readonly number[]
  readonly frozenUntil: number
}

const fresh: Account = { spent: [], frozenUntil: 0 }

/**
 * Counts calls by the clock. A caller that exceeds the budget is frozen until the oldest counted call expires; asking
 * again doesn't extend that.
 */
export function createBudget(clock: Clock): Budget {
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
