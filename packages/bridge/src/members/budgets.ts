import type { BridgeConnection } from '@reply/sink/channel'
import type { Beat, BeatRequest } from '../store/store.ts'

/** Divides the rate limits of the bots among the members. */
export interface MemberBudgets {
  /** Returns what the next beat says about each budget. Pauses that others must learn of are in one beat only. */
  request(): BeatRequest['budgets']
  /** Sets this process's share of each budget, and pauses those that another process found exhausted. */
  apply(beat: Extract<Beat, { readonly type: 'admitted' }>): void
}

/** Creates the budgets of the connections. `onFrozen` is called when a platform's limit was reached, so that others can learn it. */
export function createMemberBudgets(
  connections: ReadonlyMap<string, BridgeConnection>,
  onFrozen: () => void,
): MemberBudgets {
  type SharedBudget = BridgeConnection['budgets'][string]
  /** By budget: for how long others must pause, in ms. */
  const freezes = new Map<string, number>()
  /** The budgets whose pauses this process reports. */
  const known = new Set<SharedBudget>()
  return { request, apply }

  /** Returns the budgets of all channels, by the channel and the name of the budget. */
  function all(): readonly (readonly [string, SharedBudget])[] {
    return [...connections].flatMap(([channel, { budgets }]) =>
      Object.entries(budgets).map(([name, budget]) => [`${channel}/${name}`, budget] as const),
    )
  }

  function request(): BeatRequest['budgets'] {
    const entries = all().map(([name, budget]) => {
      listen(name, budget)
      const { total, windowMs } = budget
      const freezeForMs = freezes.get(name)
      return [
        name,
        { total, windowMs, demand: budget.demand(), ...(freezeForMs !== undefined && { freezeForMs }) },
      ] as const
    })
    freezes.clear()
    return Object.fromEntries(entries)
  }

  /** Remembers each pause of a budget that this process finds exhausted, for the next beat. */
  function listen(name: string, budget: SharedBudget): void {
    if (known.has(budget)) return
    known.add(budget)
    budget.onFrozen((forMs) => {
      freezes.set(name, Math.max(forMs, freezes.get(name) ?? 0))
      onFrozen()
    })
  }

  function apply({ budgets }: Parameters<MemberBudgets['apply']>[0]): void {
    for (const [name, budget] of all()) {
      const given = budgets[name]
      if (!given) continue
      budget.setShare(Math.min(given.share, budget.total))
      if (given.frozenForMs > 0) budget.freeze(given.frozenForMs)
    }
  }
}
