import { windowParts } from '@reply/sink/internal'
import { clockStepMs, isValidUntil, leaseAfter, type StoredLease } from './lease-rules.ts'
import type { Beat, BeatRequest, BudgetRequest, BudgetShare, CountedCalls, UsedCalls } from './store.ts'

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
  /** How much of the demand is for growing texts. */
  readonly growing: number
  /** The member's part until `expiresAt`. */
  readonly share: number
  /** The most calls of the member that count at any time until `expiresAt`, and what others can't have until then. */
  readonly reserved: number
  readonly expiresAt: number
  readonly windowMs: number
  /** Those of the reserved calls that surely count at `expiresAt`, and when they no longer do. */
  readonly counted: readonly StoredCalls[]
}

/** Calls that count until a time, in ms since the epoch by the store's clock. */
export interface StoredCalls {
  readonly calls: number
  readonly until: number
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
  const { shares, given, lacksCalls } = sharesAfter(rows.shares, request, now)
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
        given.map(([budget, part]) => [budget, { ...part, frozenForMs: frozenForMs(freezes, budget, now) }]),
      ),
    },
    rows: {
      members: [...others, { member, layout, isAlone: isAlone === true, groups, expiresAt: now + forMs }],
      leases,
      shares,
      freezes,
    },
    hints: [...(isFrozen ? ['frozen'] : []), ...(lacksCalls ? ['demand'] : [])],
  }
}

/**
 * Returns the rows after a member has left. Its calls of a budget stay reserved for as long as they count, or all that it had for
 * one window if `used` does not say, as when it dies.
 */
export function leaveAfter(rows: MemberRows, member: string, now: number, used: UsedCalls = {}): MemberRows {
  return {
    ...rows,
    members: rows.members.filter((one) => one.member !== member),
    leases: rows.leases.map((lease) => (lease.holder === member ? { ...lease, expiresAt: 0 } : lease)),
    shares: rows.shares.map((row) => (row.member === member ? leftOf(row, used[row.budget], now) : row)),
  }
}

/** Returns what is left of a member's part of a budget: the calls that it counted, at most what it had. */
function leftOf(row: StoredShare, used: readonly CountedCalls[] | undefined, now: number): StoredShare {
  if (!used || !isUsed(row, now)) return givenBack(row, now)
  const counted = used.map(({ calls, forMs }) => {
    return { calls: wholeCalls(calls), until: now + Math.max(0, forMs) }
  })
  const reserved = Math.min(row.reserved, sumOf(counted.map(({ calls }) => calls)))
  return { ...givenBack(row, now), reserved, counted }
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
  // A member that has not beaten for half of the time is probably dead or stopped. Its part must not wait until it has expired.
  const rivals = others.filter(({ expiresAt }) => expiresAt > now + forMs / 2)
  const excess: Record<string, number> = {}
  for (const [group, names] of Object.entries(wants)) {
    const wanting = rivals.filter(({ groups }) => groups.includes(group)).length + 1
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

/** Divides each budget of a request, and gives back the member's part of other budgets. */
function sharesAfter(
  before: readonly StoredShare[],
  { member, forMs, budgets }: BeatRequest,
  now: number,
): {
  readonly shares: readonly StoredShare[]
  readonly given: readonly (readonly [string, GivenShare])[]
  readonly lacksCalls: boolean
} {
  const counted = before.filter((row) => reservationOf(row, now) > 0 || isUsed(row, now))
  const shares = counted
    .filter(({ budget }) => !Object.hasOwn(budgets, budget))
    .map((row) => (row.member === member ? givenBack(row, now) : row))
  const given: (readonly [string, GivenShare])[] = []
  let lacksCalls = false
  for (const [budget, request] of Object.entries(budgets)) {
    const rows = counted.filter((row) => row.budget === budget)
    const own = rows.find((row) => row.member === member)
    const others = rows.filter((row) => row.member !== member)
    const { row, ...part } = shareAfter(own, others, { budget, member, forMs, request, now })
    shares.push(...others, row)
    given.push([budget, part])
    // Others free calls with their next beat, and the hint makes that soon. It is sent only if the demand doubled, because each
    // member that hears it beats.
    lacksCalls ||= part.share < part.target && row.demand >= (own && isUsed(own, now) ? 2 * Math.max(1, own.demand) : 0)
  }
  return { shares, given, lacksCalls }
}

/** What a member gets of a budget. */
type GivenShare = Omit<BudgetShare, 'frozenForMs'>

/** Returns a member's part of a budget after its beat, and the row that is stored of it. */
function shareAfter(
  own: StoredShare | undefined,
  others: readonly StoredShare[],
  { budget, member, forMs, request, now }: ShareRequest,
): GivenShare & { readonly row: StoredShare } {
  const { total, windowMs, used, usedFor } = request
  const demand = wholeCalls(request.demand)
  const growing = Math.min(demand, wholeCalls(request.growing ?? request.demand))
  const users = others.filter((one) => isUsed(one, now))
  const rivals = [...users, { member, demand, growing }].toSorted((one, other) => (one.member < other.member ? -1 : 1))
  const whole = wholeTotal(total)
  const mostGrowing = request.mostGrowing === undefined ? whole : wholeTotal(request.mostGrowing)
  const target = fairPart(
    { total: whole, mostGrowing },
    rivals,
    rivals.findIndex((one) => one.member === member),
  )
  const share = Math.max(0, Math.min(target, whole - sumOf(others.map((one) => reservationOf(one, now)))))
  const most = usedFor
    ? Math.min(share, mostUntilNextBeat({ share, forMs, windowMs, usedFor, needed: demand - growing }))
    : share
  // A member that expired may report calls that others were given since then.
  const reserved = Math.max(most, Math.min(own ? reservationOf(own, now) : 0, wholeCalls(used)))
  const expiresAt = now + forMs
  const counted = (usedFor ?? [])
    // Those that count for the whole window may be in flight, and count for longer.
    .filter((one) => one.forMs < windowMs && one.forMs - windowMs / windowParts > forMs)
    .map((one) => ({ calls: wholeCalls(one.calls), until: now + one.forMs }))
  const row = { budget, member, demand, growing, share, reserved, expiresAt, windowMs, counted }
  return { row, share, target, most }
}

/**
 * Returns the most calls that may count until a member's next beat. All of them stay reserved for a window if it dies, so these are
 * those that count, and a few more. A member that needs more beats soon.
 */
function mostUntilNextBeat({
  share,
  forMs,
  windowMs,
  usedFor,
  needed,
}: {
  readonly share: number
  readonly forMs: number
  readonly windowMs: number
  readonly usedFor: readonly CountedCalls[]
  /** The demand for other calls than growing texts. */
  readonly needed: number
}): number {
  const used = wholeCalls(sumOf(usedFor.map(({ calls }) => calls)))
  return Math.max(used + Math.ceil((share * 2 * forMs) / windowMs), needed)
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

/** Returns a number of calls that a budget has, as engines use it. */
function wholeTotal(calls: number): number {
  return Math.max(0, Math.floor(calls))
}

/**
 * Returns the part of a budget for the demand at an index: 1 for each, then what each demands for other calls than growing texts,
 * then what each demands for those, and the rest evenly. Demands that are too large divide what there is. The parts add up to the
 * total. If that is too small for all, the first ones get 1.
 */
function fairPart(
  { total, mostGrowing }: { readonly total: number; readonly mostGrowing: number },
  demands: readonly Pick<StoredShare, 'demand' | 'growing'>[],
  index: number,
): number {
  const count = demands.length
  if (total < count) return index < total ? 1 : 0
  const needs = demands.map(({ demand, growing }) => Math.max(0, demand - growing - 1))
  const texts = demands.map(({ demand }, at) => Math.max(0, demand - 1 - (needs[at] ?? 0)))
  const forNeeds = Math.min(total - count, sumOf(needs))
  const forTexts = Math.min(total - count - forNeeds, mostGrowing, sumOf(texts))
  const rest = total - count - forNeeds - forTexts
  const even = demands.map(() => 1)
  return 1 + partOf(forNeeds, needs, index) + partOf(forTexts, texts, index) + partOf(rest, even, index)
}

/** Returns the part of a number of calls for the weight at an index. The parts add up to it. 0 without weights. */
function partOf(calls: number, weights: readonly number[], index: number): number {
  const all = sumOf(weights)
  if (all === 0) return 0
  const upTo = (end: number): number => Math.floor((calls * sumOf(weights.slice(0, end))) / all)
  return upTo(index + 1) - upTo(index)
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0)
}

/**
 * Returns a row whose member no longer uses the budget. All that it had stays reserved for one window. A row that is not used is
 * the same.
 */
function givenBack(row: StoredShare, now: number): StoredShare {
  return isUsed(row, now) ? { ...row, share: 0, expiresAt: now } : row
}

/** Whether a member may use its share. */
function isUsed({ expiresAt }: StoredShare, now: number): boolean {
  return isValidUntil(expiresAt, now)
}

/**
 * Returns what others can't have of a budget: the most calls of the member that count now. After its end, those that surely counted
 * then are free as they no longer do. All others may have been made right before, and stay reserved for one window.
 */
function reservationOf(row: StoredShare, now: number): number {
  const { reserved, expiresAt, windowMs, counted } = row
  if (isUsed(row, now)) return reserved
  if (expiresAt > now || expiresAt + windowMs <= now) return 0
  const all = sumOf(counted.map(({ calls }) => calls))
  const later = sumOf(counted.map(({ calls, until }) => (until > now ? calls : 0)))
  return Math.min(reserved, Math.max(0, reserved - all) + later)
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
