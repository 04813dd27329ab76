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
  /** Returns the calls of each budget that count now. */
  used(): UsedCalls
}

/** How many calls of a budget this process may make. */
interface Setting {
  readonly share: number
  /** What the share is to be once others no longer use it. */
  readonly target: number
  /** How many calls may count until the next beat, as the last one said. */
  readonly given: number
  /** How many calls may count until the next beat. More than what was given after that shrank. */
  readonly most: number
}

const noCalls: Setting = { share: 0, target: 0, given: 0, most: 0 }

/** How long after a beat a process asks again for calls that it needs and others are about to free, in ms. */
const askAgainMs = 150

/** Creates the budgets of the connections. */
export function createMemberBudgets({
  connections,
  clock,
  isHeld,
  beat,
}: {
  /** Those through which this process posts, by the names of the channels. More may be added later. */
  readonly connections: ReadonlyMap<string, Pick<BridgeConnection, 'budgets'>>
  readonly clock: Pick<SteadyClock, 'monotonic' | 'after'>
  /** Whether this process may make calls. */
  readonly isHeld: () => boolean
  /** Beats, or joins a beat in progress. */
  readonly beat: () => Promise<void>
}): MemberBudgets {
  type SharedBudget = BridgeConnection['budgets'][string]
  /** What each budget has been set to. A process has its first shares before it makes a call. */
  const settings = new Map<SharedBudget, Setting>()
  /** The budgets that this process listens to. */
  const heard = new Set<SharedBudget>()
  /** By budget: until when others must pause, by the monotonic clock. Kept until a beat that said so was answered. */
  const freezes = new Map<string, number>()
  /** What the last request told of pauses, and of each budget. */
  let told: ReadonlyMap<string, number> = new Map()
  let asked: BeatRequest['budgets'] = {}
  /** When that was, by the monotonic clock. */
  let askedAt = Number.NEGATIVE_INFINITY
  /** Whether another beat would free calls for others, because a share shrank that was not used up. */
  let freesCalls = false
  let isTelling = false
  let isAsking = false
  let shares: readonly ChannelBudget[] = []
  return {
    request,
    apply,
    shares: () => shares,
    used: () => Object.fromEntries(all().map(({ name, budget }) => [name, budget.usedFor()])),
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
      const setting = settings.get(budget)
      if (!isHeld()) set(budget, noCalls)
      else if (setting) set(budget, { ...setting, most: mostNow(budget, setting.given) })
      const { total, windowMs, mostGrowing } = budget
      const until = told.get(name)
      const used = Math.max(budget.used(), settings.get(budget)?.most ?? 0)
      const freeze = until === undefined ? {} : { freezeForMs: until - now }
      const wanted = { demand: budget.demand(), growing: budget.growing() }
      return [name, { total, mostGrowing, windowMs, ...wanted, used, usedFor: budget.usedFor(), ...freeze }] as const
    })
    asked = Object.fromEntries(entries)
    askedAt = now
    return asked
  }

  /** Remembers each pause of a budget that this process finds exhausted, until others know it. */
  function listen(name: string, budget: SharedBudget): void {
    if (heard.has(budget)) return
    heard.add(budget)
    budget.onFrozen((forMs) => {
      freezes.set(name, Math.max(clock.monotonic() + forMs, freezes.get(name) ?? Number.NEGATIVE_INFINITY))
      void tell()
    })
    budget.onDelayed(() => {
      const { demand, growing = 0 } = asked[name] ?? { demand: 0 }
      const needsMore = neededOf(budget) > Math.max(1, demand - growing)
      // Texts leave some calls of a share to others, so they may lack calls although the share is as large as the demand. This costs
      // up to half as many beats again while many texts grow, and saves the one that goes on with another bridge's text a second.
      const { share, target } = settings.get(budget) ?? noCalls
      if (needsMore || share < target || budget.demand() >= 2 * Math.max(1, demand)) askSoon()
    })
  }

  function apply({ budgets }: Parameters<MemberBudgets['apply']>[0]): void {
    for (const [name, until] of told) if (freezes.get(name) === until) freezes.delete(name)
    freesCalls = false
    let lacksCalls = false
    shares = all().flatMap(({ name, channel, ofChannel, budget }) => {
      const part = budgets[name]
      if (!part) return []
      const share = Math.min(part.share, budget.total)
      const target = Math.min(part.target, budget.total)
      const given = Math.min(part.most, budget.total)
      const most = mostNow(budget, given)
      set(budget, { share, target, given, most })
      const isFar = neededOf(budget) > share || 2 * share < Math.min(target, Math.max(1, budget.demand()))
      lacksCalls ||= isFar && share < target && share <= budget.used()
      if (part.frozenForMs > 0) budget.freeze(part.frozenForMs)
      freesCalls ||= (asked[name]?.used ?? 0) > Math.max(share, most, budget.used())
      return [{ channel, budget: ofChannel, share, total: budget.total }]
    })
    if (lacksCalls) askSoon()
    void tell()
  }

  /**
   * Returns how many calls of a budget may count until the next beat. If more than the share do, they go on at the rate of the share,
   * and the next beat leaves others all but those that count and the next one.
   */
  function mostNow(budget: SharedBudget, given: number): number {
    const next = budget.demand() > 0 ? 1 : 0
    return Math.max(given, Math.min(settings.get(budget)?.most ?? 0, budget.used() + next))
  }

  /** Sets a budget at once, because the store gives out only what no other process uses. */
  function set(budget: SharedBudget, setting: Setting): void {
    const before = settings.get(budget)
    const { share, target, most } = setting
    settings.set(budget, setting)
    if (before?.share === share && before.target === target && before.most === most) return
    budget.setShare(share, { isFree: true, growsTo: target, mostCounted: most })
  }

  /** Beats as soon as `askAgainMs` have passed since the last request. If that fails, the next regular beat asks. */
  function askSoon(): void {
    if (isAsking) return
    isAsking = true
    clock.after(Math.max(0, askedAt + askAgainMs - clock.monotonic()), () => {
      isAsking = false
      if (isHeld() && !isTelling) void beat().catch(() => {})
    })
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

/** Returns how many calls of a budget this process wants for other things than growing texts. */
function neededOf({ demand, growing }: Pick<BridgeConnection['budgets'][string], 'demand' | 'growing'>): number {
  return demand() - growing()
}
