import type { Clock } from '@reply/core'
import type { BridgeConnection } from '@reply/sink/channel'
import type { ChannelBudget } from '../events/event.ts'
import type { Beat, BeatRequest } from '../store/store.ts'

/** Divides the rate limits of the bots among the members. */
export interface MemberBudgets {
  /** Returns what the next beat says about each budget, with the pauses that others must learn of. */
  request(): BeatRequest['budgets']
  /** Sets this process's share of each budget, and pauses those that another process found exhausted. */
  apply(beat: Extract<Beat, { readonly type: 'admitted' }>): void
  /** Returns this process's share of each budget, as the last beat said. */
  shares(): readonly ChannelBudget[]
}

/** Creates the budgets of the connections. */
export function createMemberBudgets({
  connections,
  clock,
  onFrozen,
}: {
  /** By the names of the channels. */
  readonly connections: ReadonlyMap<string, Pick<BridgeConnection, 'budgets'>>
  readonly clock: Pick<Clock, 'now'>
  /** Called when a platform's limit was reached. The next beat tells the others. */
  readonly onFrozen: () => void
}): MemberBudgets {
  type SharedBudget = BridgeConnection['budgets'][string]
  /** By budget: until when others must pause, in ms since the epoch. Kept until a beat that said so was answered. */
  const freezes = new Map<string, number>()
  /** The freezes that the last beat said. */
  let told: ReadonlyMap<string, number> = new Map()
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
    told = new Map(freezes)
    const entries = all().map(([name, budget]) => {
      listen(name, budget)
      const { total, windowMs } = budget
      const freezeForMs = Math.max(0, (told.get(name) ?? 0) - clock.now())
      return [name, { total, windowMs, demand: budget.demand(), ...(freezeForMs > 0 && { freezeForMs }) }] as const
    })
    return Object.fromEntries(entries)
  }

  /** Remembers each pause of a budget that this process finds exhausted, for the next beat. */
  function listen(name: string, budget: SharedBudget): void {
    if (known.has(budget)) return
    known.add(budget)
    budget.onFrozen((forMs) => {
      freezes.set(name, Math.max(clock.now() + forMs, freezes.get(name) ?? 0))
      onFrozen()
    })
  }

  function apply({ budgets }: Parameters<MemberBudgets['apply']>[0]): void {
    for (const [name, until] of told) if (freezes.get(name) === until) freezes.delete(name)
    shares = [...connections].flatMap(([channel, connection]) =>
      Object.entries(connection.budgets).flatMap(([name, budget]) => {
        const given = budgets[`${channel}/${name}`]
        if (!given) return []
        const share = Math.min(given.share, budget.total)
        // The store gives out only what no other process has used for a window.
        budget.setShare(share, { afterMs: 0 })
        if (given.frozenForMs > 0) budget.freeze(given.frozenForMs)
        return [{ channel, budget: name, share, total: budget.total }]
      }),
    )
  }
}
