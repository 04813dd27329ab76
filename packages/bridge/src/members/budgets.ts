import type { BridgeConnection } from '@reply/sink/channel'
import type { ChannelBudget } from '../events/event.ts'
import type { Beat, BeatRequest } from '../store/store.ts'

/** Divides the rate limits of the bots among the members. */
export interface MemberBudgets {
  /** Returns what the next beat says about each budget. Pauses that others must learn of are in one beat only. */
  request(): BeatRequest['budgets']
  /** Sets this process's share of each budget, and pauses those that another process found exhausted. */
  apply(beat: Extract<Beat, { readonly type: 'admitted' }>): void
  /** Returns this process's share of each budget, as the last beat said. */
  shares(): readonly ChannelBudget[]
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
  let shares: readonly ChannelBudget[] = []
  return { request, apply, shares: () => shares }

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
    shares = [...connections].flatMap(([channel, connection]) =>
      Object.entries(connection.budgets).flatMap(([name, budget]) => {
        const given = budgets[`${channel}/${name}`]
        if (!given) return []
        const share = Math.min(given.share, budget.total)
        budget.setShare(share)
        if (given.frozenForMs > 0) budget.freeze(given.frozenForMs)
        return [{ channel, budget: name, share, total: budget.total }]
      }),
    )
  }
}
