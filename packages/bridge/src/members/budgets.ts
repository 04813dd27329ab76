import type { SteadyClock } from '@reply/core/source'
import type { BridgeConnection } from '@reply/sink/channel'
import type { ChannelBudget } from '../events/event.ts'
import type { Beat, BeatRequest, UsedCalls } from '../store/store.ts'

/** Divides the rate limits of the bots among the members. */
export interface MemberBudgets {
  /**
   * Returns what the next beat says about each budget, with the pauses that others must learn of. A process that may make no calls,
   * because it was refused or has expired, has no share until a beat gives it one.
   */
  request(): BeatRequest['budgets']
  /** Sets this process's share of each budget, and pauses those that another process found exhausted. */
  apply(beat: Extract<Beat, { readonly type: 'admitted' }>): void
  /** Returns this process's share of each budget, as the last beat said. */
  shares(): readonly ChannelBudget[]
  /** Returns how many calls of each budget count now. */
  used(): UsedCalls
}

/** Creates the budgets of the connections. */
export function createMemberBudgets({
  connections,
  clock,
  isHeld,
  beat,
}: {
  /** Those through which this process posts, by the names of the channels. More may be added later. */
  readonly connections: ReadonlyMap<string, Pick<BridgeConnection, 'budgets'>>
  readonly clock: Pick<SteadyClock, 'monotonic'>
  /** Whether this process may make calls. */
  readonly isHeld: () => boolean
  /** Beats, or joins a beat in progress. */
  readonly beat: () => Promise<void>
}): MemberBudgets {
  type SharedBudget = BridgeConnection['budgets'][string]
  /** What each budget has been set to. A process has its first shares before it makes a call. */
  const set = new Map<SharedBudget, number>()
  /** By budget: until when others must pause, by the monotonic clock. Kept until a beat that said so was answered. */
  const freezes = new Map<string, number>()
  /** What the last request told of pauses, and of the calls that count. */
  let told: ReadonlyMap<string, number> = new Map()
  let toldUsed: UsedCalls = {}
  /** Whether another beat would free calls for others, because a share shrank that was not used up. */
  let freesCalls = false
  let isTelling = false
  let shares: readonly ChannelBudget[] = []
  return {
    request,
    apply,
    shares: () => shares,
    used: () => Object.fromEntries(all().map(({ name, budget }) => [name, budget.used()])),
  }

  /** Returns the budgets of all channels. A name has the channel and what the channel calls the budget. */
  function all() {
    return [...connections].flatMap(([channel, { budgets }]) =>
      Object.entries(budgets).map(([ofChannel, budget]) => {
        return { name: `${channel}/${ofChannel}`, channel, ofChannel, budget }
      }),
    )
  }

  function request(): BeatRequest['budgets'] {
    const now = clock.monotonic()
    for (const [name, until] of freezes) if (until <= now) freezes.delete(name)
    told = new Map(freezes)
    const entries = all().map(({ name, budget }) => {
      listen(name, budget)
      if (!isHeld()) setShare(budget, 0)
      const { total, windowMs } = budget
      const until = told.get(name)
      const used = Math.max(budget.used(), set.get(budget) ?? 0)
      const freeze = until === undefined ? {} : { freezeForMs: until - now }
      return [name, { total, windowMs, demand: budget.demand(), used, ...freeze }] as const
    })
    toldUsed = Object.fromEntries(entries.map(([name, { used }]) => [name, used]))
    return Object.fromEntries(entries)
  }

  /** Remembers each pause of a budget that this process finds exhausted, until others know it. */
  function listen(name: string, budget: SharedBudget): void {
    if (set.has(budget)) return
    set.set(budget, 0)
    budget.onFrozen((forMs) => {
      freezes.set(name, Math.max(clock.monotonic() + forMs, freezes.get(name) ?? Number.NEGATIVE_INFINITY))
      void tell()
    })
  }

  function apply({ budgets }: Parameters<MemberBudgets['apply']>[0]): void {
    for (const [name, until] of told) if (freezes.get(name) === until) freezes.delete(name)
    freesCalls = false
    shares = all().flatMap(({ name, channel, ofChannel, budget }) => {
      const given = budgets[name]
      if (!given) return []
      const share = Math.min(given.share, budget.total)
      setShare(budget, share)
      if (given.frozenForMs > 0) budget.freeze(given.frozenForMs)
      freesCalls ||= (toldUsed[name] ?? 0) > Math.max(share, budget.used())
      return [{ channel, budget: ofChannel, share, total: budget.total }]
    })
    void tell()
  }

  /** Sets a share at once, because the store gives out only what no other process uses. */
  function setShare(budget: SharedBudget, share: number): void {
    set.set(budget, share)
    budget.setShare(share, { afterMs: 0 })
  }

  /**
   * Beats until others know of all pauses, and can have the calls that this process frees. If a beat fails, the next regular one
   * tells them.
   */
  async function tell(): Promise<void> {
    if (isTelling) return
    isTelling = true
    try {
      while (isHeld() && (freesCalls || freezes.size > 0)) await beat()
    } catch {
      // The membership reports it.
    } finally {
      isTelling = false
    }
  }
}
