import type { Ask } from '../ask.ts'
import type { Reply } from '../reply.ts'
import { createPositions } from './positions.ts'
import { replaceAt, withFields } from './shape.ts'

const positions = createPositions<Ask>(({ requestID }) => requestID)

/** The index of the ask with this id. -1 if it isn't in the list. */
export function askIndexOf(asks: readonly Ask[], requestID: string): number {
  return positions.indexOf(asks, requestID)
}

/** Replaces the ask at this index, or appends it for -1. Reports no change. */
export function withAsk(reply: Reply, index: number, ask: Ask): Reply {
  const asks = index === -1 ? [...reply.asks, ask] : replaceAt(reply.asks, index, ask)
  const changed = index === -1 ? reply.asks.length : index
  positions.carryIndex(reply.asks, asks)
  carryIndexes(reply.asks, asks, changed)
  carryPendingCount(reply.asks, asks, changed)
  return withFields(reply, { asks })
}

const pendingCounts = new WeakMap<readonly Ask[], number>()

/** Whether any ask is pending. Cached, because it runs on every event and the list can be long. */
export function isAnyPending(asks: readonly Ask[]): boolean {
  return asks.length > 0 && pendingCount(asks) > 0
}

/**
 * Carries the cached count over to a list in which the ask at `changed` was replaced or added. Does nothing if `before`
 * isn't empty and has no cached count.
 */
export function carryPendingCount(before: readonly Ask[], after: readonly Ask[], changed: number): void {
  const count = before.length === 0 ? 0 : pendingCounts.get(before)
  if (count === undefined) return
  pendingCounts.set(after, count - pendingWeight(before[changed]) + pendingWeight(after[changed]))
}

/** The number of pending asks. Cached by list. */
function pendingCount(asks: readonly Ask[]): number {
  const count = pendingCounts.get(asks) ?? asks.reduce((sum, ask) => sum + pendingWeight(ask), 0)
  pendingCounts.set(asks, count)
  return count
}

/** 1 for a pending ask. 0 for any other, and for none. */
function pendingWeight(ask: Ask | undefined): number {
  return ask?.status === 'pending' ? 1 : 0
}

/**
 * Indexes of each call's asks. Lists derived from one another share this map, because asks never move. In another list
 * an index may belong to a different ask, so callers check each one.
 */
const indexesByList = new WeakMap<readonly Ask[], Map<string, number[]>>()

/**
 * The indexes of the asks of each call id. Cached by list. In a list that was derived from another one, an index may
 * belong to a different ask.
 */
export function indexesByCall(asks: readonly Ask[]): Map<string, number[]> {
  const known = indexesByList.get(asks)
  if (known) return known
  const places = new Map<string, number[]>()
  for (const [at, ask] of asks.entries()) addIndex(places, ask, at)
  indexesByList.set(asks, places)
  return places
}

/** Notes an ask's index under its call id. Ignores an ask without one. */
function addIndex(places: Map<string, number[]>, { callID }: Ask, index: number): void {
  if (callID === undefined) return
  const known = places.get(callID)
  if (!known) places.set(callID, [index])
  else if (!known.includes(index)) known.push(index)
}

/**
 * Carries the cached indexes over to a list in which the ask at `changed` was replaced or added. Does nothing if
 * `before` has none.
 */
function carryIndexes(before: readonly Ask[], after: readonly Ask[], changed: number): void {
  const places = indexesByList.get(before)
  const ask = after[changed]
  if (!places || !ask) return
  addIndex(places, ask, changed)
  indexesByList.set(after, places)
}
