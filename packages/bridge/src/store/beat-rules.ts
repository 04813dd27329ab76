import { clockStepMs, isValidUntil, leaseAfter, type StoredLease } from './lease-rules.ts'
import type { Beat, BeatRequest, BudgetRequest, UsedCalls } from './store.ts'

/** A member as an engine stores it. */
export interface StoredMember {
  readonly member: string
  readonly layout: string
  readonly isAlone: boolean
  /** The groups from which it wants leases. */
  readonly groups: readonly string[]
  /** When it is gone unless it beats, in ms since the epoch by the store's clock. */
  readonly expiresAt: number
}

/** A member's part of a budget as an engine stores it. Times are in ms since the epoch by the store's clock. */
export interface StoredShare {
  readonly budget: string
  readonly member: string
  readonly demand: number
  /** What the member may use until `expiresAt`. */
  readonly share: number
  /** What others can't have until one window after `expiresAt`. At least `share`, also what it used before that shrank. */
  readonly reserved: number
  readonly expiresAt: number
  readonly windowMs: number
}

/** A budget that no member may use before a time. */
export interface StoredFreeze {
  readonly budget: string
  /** When it began, in ms since the epoch by the store's clock. */
  readonly since: number
  /** When it ends, in ms since the epoch by the store's clock. */
  readonly until: number
}

/** What an engine stores of its members. */
export interface MemberRows {
  readonly members: readonly StoredMember[]
  /** Includes expired ones, which keep their fence. */
  readonly leases: readonly StoredLease[]
  readonly shares: readonly StoredShare[]
  readonly freezes: readonly StoredFreeze[]
}

/** The effect of a call: its result, the rows after it, and the hints to send once they are stored. */
export interface BeatEffect {
  readonly beat: Beat
  /** A row that did not change is the same object. */
  readonly rows: MemberRows
  readonly hints: readonly string[]
}

/**
 * Returns the effect of a beat. `mostMembers` is how many the engine admits at a time. PostgreSQL has the same rules in SQL, and a
 * test compares them.
 */
export function beatAfter(
  rows: MemberRows,
  request: BeatRequest,
  now: number,
  mostMembers = Number.POSITIVE_INFINITY,
): BeatEffect {
  const { member, forMs, layout, isAlone, wants } = request
  const others = rows.members.filter((one) => one.member !== member && isValidUntil(one.expiresAt, now))
  const reason = refusalOf(request, others, mostMembers)
  if (reason) return { beat: { type: 'refused', reason }, rows, hints: [] }

  const groups = Object.keys(wants).filter((group) => wants[group]?.length)
  const { leases, excess } = leasesAfter(rows.leases, request, others, now)
  const { shares, parts } = sharesAfter(rows.shares, request, now)
  const freezes = freezesAfter(rows.freezes, request, now)
  const isFrozen = freezes.some((freeze) => !rows.freezes.includes(freeze))
  return {
    beat: {
      type: 'admitted',
      leases: leases
        .filter(({ holder, expiresAt }) => holder === member && isValidUntil(expiresAt, now))
        .map(({ name, holder, fence }) => ({ name, holder, fence, validForMs: forMs }))
        .toSorted((one, other) => (one.name < other.name ? -1 : 1)),
      excess,
      others: others.filter((one) => one.groups.length > 0).length,
      budgets: Object.fromEntries(
        parts.map(([budget, share]) => [budget, { share, frozenForMs: frozenForMs(freezes, budget, now) }]),
      ),
    },
    rows: {
      members: [...others, { member, layout, isAlone: isAlone === true, groups, expiresAt: now + forMs }],
      leases,
      shares,
      freezes,
    },
    hints: isFrozen ? ['frozen'] : [],
  }
}

/**
 * Returns the rows after a member has left. What it used of a budget stays reserved for one window, or all that it had if `used`
 * does not say, as when it dies.
 */
export function leaveAfter(rows: MemberRows, member: string, now: number, used: UsedCalls = {}): MemberRows {
  return {
    ...rows,
    members: rows.members.filter((one) => one.member !== member),
    leases: rows.leases.map((lease) => (lease.holder === member ? { ...lease, expiresAt: 0 } : lease)),
    shares: rows.shares.map((row) => (row.member === member ? givenBack(row, now, used[row.budget]) : row)),
  }
}

/** Returns why a member is refused beside living others. Undefined if it is admitted. */
function refusalOf(
  { layout, isAlone }: BeatRequest,
  others: readonly StoredMember[],
  mostMembers: number,
): Extract<Beat, { readonly type: 'refused' }>['reason'] | undefined {
  if (others.length >= mostMembers) return 'full'
  if (others.some((one) => one.isAlone) || (isAlone && others.length > 0)) return 'alone'
  return others.some((one) => one.layout !== layout) ? 'layout' : undefined
}

/**
 * Renews the leases of a member, and takes free ones in the order of their names in the request, until it has its share of each
 * group. Never takes one away: `excess` says how many it is to release.
 */
function leasesAfter(
  before: readonly StoredLease[],
  { member, forMs, wants }: BeatRequest,
  others: readonly StoredMember[],
  now: number,
): { readonly leases: readonly StoredLease[]; readonly excess: Readonly<Record<string, number>> } {
  const leases = new Map(before.map((lease) => [lease.name, lease]))
  const held = new Set<string>()
  for (const { name, holder, expiresAt } of before) if (holder === member && isValidUntil(expiresAt, now)) take(name)
  const excess: Record<string, number> = {}
  for (const [group, names] of Object.entries(wants)) {
    const wanting = others.filter(({ groups }) => groups.includes(group)).length + 1
    const share = Math.ceil(names.length / wanting)
    let count = names.filter((name) => held.has(name)).length
    for (const name of names) if (count < share && !held.has(name) && take(name)) count++
    if (count > share) excess[group] = count - share
  }
  return { leases: [...leases.values()], excess }

  /** Renews a lease, or takes it if it is free. Returns false while another holds it. */
  function take(name: string): boolean {
    const lease = leaseAfter(leases.get(name), { name, holder: member, forMs }, now)
    if (!lease) return false
    leases.set(name, lease)
    held.add(name)
    return true
  }
}

/**
 * Divides each budget of a request, and gives back the member's part of other budgets. A budget that a member begins to use
 * while no other one does is all its own, like that of a bridge that restarts: what was left of others is forgotten.
 */
function sharesAfter(
  before: readonly StoredShare[],
  { member, forMs, budgets }: BeatRequest,
  now: number,
): { readonly shares: readonly StoredShare[]; readonly parts: readonly (readonly [string, number])[] } {
  const counted = before.filter((row) => reservationOf(row, now) > 0 || isUsed(row, now))
  const shares = counted
    .filter(({ budget }) => !Object.hasOwn(budgets, budget))
    .map((row) => (row.member === member ? givenBack(row, now) : row))
  const parts: (readonly [string, number])[] = []
  for (const [budget, request] of Object.entries(budgets)) {
    const rows = counted.filter((row) => row.budget === budget)
    const isNew = !rows.some((row) => row.member === member || isUsed(row, now))
    const others = isNew ? [] : rows.filter((row) => row.member !== member)
    const own = rows.find((row) => row.member === member)
    const next = shareAfter(own, others, { budget, member, forMs, request, now })
    shares.push(...others, next)
    parts.push([budget, next.share])
  }
  return { shares, parts }
}

/** Returns a member's part of a budget after its beat. */
function shareAfter(
  own: StoredShare | undefined,
  others: readonly StoredShare[],
  { budget, member, forMs, request, now }: ShareRequest,
): StoredShare {
  const { total, windowMs, demand, used } = request
  const rivals = [...others.filter((one) => isUsed(one, now)), { member, demand: wholeCalls(demand) }].toSorted(
    (one, other) => (one.member < other.member ? -1 : 1),
  )
  const demands = rivals.map((one) => one.demand)
  const whole = Math.max(0, Math.floor(total))
  const target = fairPart(
    whole,
    demands,
    rivals.findIndex((one) => one.member === member),
  )
  const most = whole - others.reduce((sum, one) => sum + reservationOf(one, now), 0)
  const share = Math.max(0, Math.min(target, most))
  // A member that expired may report calls that others were given since then.
  const kept = Math.min(own ? reservationOf(own, now) : 0, wholeCalls(used))
  const reserved = Math.max(share, kept)
  return { budget, member, demand: wholeCalls(demand), share, reserved, expiresAt: now + forMs, windowMs }
}

/** What `shareAfter` needs to know of a beat. */
interface ShareRequest {
  readonly budget: string
  readonly member: string
  readonly forMs: number
  readonly request: BudgetRequest
  readonly now: number
}

/** Returns a number of calls that a member reports, as engines store it. */
function wholeCalls(calls: number): number {
  return Math.min(1_000_000, Math.max(0, Math.ceil(calls)))
}

/**
 * Returns the part of a total for the demand at an index: 1 for each, then what each demands, and the rest evenly. If the
 * demands are more than the total, it is divided by them. The parts add up to the total. If that is too small for all, the first
 * ones get 1.
 */
function fairPart(total: number, demands: readonly number[], index: number): number {
  const count = demands.length
  if (total < count) return index < total ? 1 : 0
  const demanded = (end: number): number =>
    demands.slice(0, end).reduce((sum, demand) => sum + Math.max(0, demand - 1), 0)
  const all = demanded(count)
  const divided = Math.min(total - count, all)
  const byDemand = (end: number): number => (all === 0 ? 0 : Math.floor((divided * demanded(end)) / all))
  const evenly = (end: number): number => Math.floor(((total - count - divided) * end) / count)
  return 1 + byDemand(index + 1) - byDemand(index) + evenly(index + 1) - evenly(index)
}

/**
 * Returns a row whose member no longer uses the budget. What it used stays reserved for one window: all that it had by default.
 * A row that is not used is the same.
 */
function givenBack(row: StoredShare, now: number, used = row.reserved): StoredShare {
  if (!isUsed(row, now)) return row
  return { ...row, share: 0, reserved: Math.min(row.reserved, wholeCalls(used)), expiresAt: now }
}

/** Whether a member may use its share. */
function isUsed({ expiresAt }: StoredShare, now: number): boolean {
  return isValidUntil(expiresAt, now)
}

/**
 * Returns what others can't have of a budget: the most calls of the member that count within a window from now on. After its
 * death, that is what it could use until it expired, for one window.
 */
function reservationOf(row: StoredShare, now: number): number {
  const { reserved, expiresAt, windowMs } = row
  return isUsed(row, now) || (expiresAt <= now && expiresAt + windowMs > now) ? reserved : 0
}

/** Returns the budgets that are frozen, after those that a request freezes. */
function freezesAfter(before: readonly StoredFreeze[], { budgets }: BeatRequest, now: number): readonly StoredFreeze[] {
  const freezes = new Map(before.filter((freeze) => isFrozenAt(freeze, now)).map((freeze) => [freeze.budget, freeze]))
  for (const [budget, { freezeForMs = 0 }] of Object.entries(budgets)) {
    const until = now + freezeForMs
    if (freezeForMs > 0 && until > (freezes.get(budget)?.until ?? 0)) freezes.set(budget, { budget, since: now, until })
  }
  return [...freezes.values()]
}

/** Whether a freeze counts: it has not ended, and the clock was not set back since it began by more than `clockStepMs`. */
function isFrozenAt({ since, until }: StoredFreeze, now: number): boolean {
  return until > now && since - now <= clockStepMs
}

/** Returns for how long a budget is frozen, in ms. */
function frozenForMs(freezes: readonly StoredFreeze[], budget: string, now: number): number {
  return Math.max(0, (freezes.find((freeze) => freeze.budget === budget)?.until ?? 0) - now)
}
