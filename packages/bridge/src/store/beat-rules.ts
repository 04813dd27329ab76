import { isValidUntil, leaseAfter, type StoredLease } from './lease-rules.ts'
import type { Beat, BeatRequest, BudgetRequest } from './store.ts'

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
  readonly expiresAt: number
  readonly windowMs: number
  /** What the member had before its share shrank, which others can't have before `reservedUntil`. */
  readonly reserved: number
  readonly reservedUntil: number
}

/** A budget that no member may use before a time. */
export interface StoredFreeze {
  readonly budget: string
  /** In ms since the epoch by the store's clock. */
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

/** Returns the rows after a member has left. What it had of a budget stays reserved for one window, as when it dies. */
export function leaveAfter(rows: MemberRows, member: string, now: number): MemberRows {
  return {
    ...rows,
    members: rows.members.filter((one) => one.member !== member),
    leases: rows.leases.map((lease) => (lease.holder === member ? { ...lease, expiresAt: 0 } : lease)),
    shares: rows.shares.map((row) => (row.member === member && isUsed(row, now) ? withShare(row, 0, now, now) : row)),
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
  const counted = before.filter((row) => isUsed(row, now) || reservationOf(row, now) > 0)
  const shares = counted
    .filter(({ budget }) => !Object.hasOwn(budgets, budget))
    .map((row) => (row.member === member && isUsed(row, now) ? withShare(row, 0, now, now) : row))
  const parts: (readonly [string, number])[] = []
  for (const [budget, request] of Object.entries(budgets)) {
    const rows = counted.filter((row) => row.budget === budget)
    const isNew = !rows.some((row) => isUsed(row, now))
    const others = isNew ? [] : rows.filter((row) => row.member !== member)
    const own = isNew ? undefined : rows.find((row) => row.member === member)
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
  const demand = Math.min(1_000_000, Math.max(0, Math.ceil(request.demand)))
  const nothing = { share: 0, expiresAt: 0, reserved: 0, reservedUntil: 0 }
  const row = { ...nothing, ...own, budget, member, demand, windowMs: request.windowMs }
  const rivals = [...others.filter((one) => isUsed(one, now)), row].toSorted((one, other) =>
    one.member < other.member ? -1 : 1,
  )
  const demands = rivals.map((one) => one.demand)
  const total = Math.max(0, Math.floor(request.total))
  const target = evenPart(total, demands, rivals.indexOf(row))
  // Within a window, a share does not shrink a second time: that would hold back all that it had for another window.
  const least = isReserved(row, now) ? row.share : 0
  const most = total - others.reduce((sum, one) => sum + reservationOf(one, now), 0)
  return withShare(row, Math.max(0, Math.min(Math.max(least, target), most)), now, now + forMs)
}

/** What `shareAfter` needs to know of a beat. */
interface ShareRequest {
  readonly budget: string
  readonly member: string
  readonly forMs: number
  readonly request: BudgetRequest
  readonly now: number
}

/**
 * Returns the part of a total for the demand at an index: 1 for each, and the rest by demand. The parts add up to the total. If
 * the total is too small, the first ones get 1.
 */
function evenPart(total: number, demands: readonly number[], index: number): number {
  if (total < demands.length) return index < total ? 1 : 0
  const rest = total - demands.length
  const isIdle = demands.every((demand) => demand === 0)
  const upTo = (end: number): number => demands.slice(0, end).reduce((sum, demand) => sum + (isIdle ? 1 : demand), 0)
  const restUpTo = (end: number): number => Math.floor((rest * upTo(end)) / upTo(demands.length))
  return 1 + restUpTo(index + 1) - restUpTo(index)
}

/** Returns a row with another share. If that is less than before, the difference stays reserved for one window. */
function withShare(row: StoredShare, share: number, now: number, expiresAt: number): StoredShare {
  const before = reservationOf(row, now)
  if (share >= before) return { ...row, share, expiresAt, reserved: 0, reservedUntil: 0 }
  const reservedUntil = isReserved(row, now) && share >= row.share ? row.reservedUntil : now + row.windowMs
  return { ...row, share, expiresAt, reserved: before, reservedUntil }
}

/** Whether a member may use its share. */
function isUsed({ expiresAt }: StoredShare, now: number): boolean {
  return isValidUntil(expiresAt, now)
}

/** Returns what others can't have of a budget: what a member has or had within the last window. */
function reservationOf(row: StoredShare, now: number): number {
  const { share, expiresAt, windowMs, reserved } = row
  const lately = isUsed(row, now) || (expiresAt <= now && expiresAt + windowMs > now) ? share : 0
  return Math.max(lately, isReserved(row, now) ? reserved : 0)
}

/** Whether the share shrank within the last window. */
function isReserved({ reservedUntil, windowMs }: StoredShare, now: number): boolean {
  // It is later than one window from now if the clock was set back.
  return reservedUntil > now && reservedUntil - now <= windowMs
}

/** Returns the budgets that are frozen, after those that a request freezes. */
function freezesAfter(before: readonly StoredFreeze[], { budgets }: BeatRequest, now: number): readonly StoredFreeze[] {
  const freezes = new Map(before.filter(({ until }) => until > now).map((freeze) => [freeze.budget, freeze]))
  for (const [budget, { freezeForMs = 0 }] of Object.entries(budgets)) {
    const until = now + freezeForMs
    if (freezeForMs > 0 && until > (freezes.get(budget)?.until ?? 0)) freezes.set(budget, { budget, until })
  }
  return [...freezes.values()]
}

/** Returns for how long a budget is frozen, in ms. */
function frozenForMs(freezes: readonly StoredFreeze[], budget: string, now: number): number {
  return Math.max(0, (freezes.find((freeze) => freeze.budget === budget)?.until ?? 0) - now)
}
