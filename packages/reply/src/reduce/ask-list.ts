import type { Ask } from '../ask.ts'
import type { Reply } from '../reply.ts'
import { createPositions } from './positions.ts'
import { replaceAt, withFields } from './shape.ts'

const positions = createPositions<Ask>(({ requestID }) => requestID)

/** -1 if it isn't in the list. */
export function askAt(asks: readonly Ask[], requestID: string): number {
  return positions.at(asks, requestID)
}

/** Replaces the ask at this position; -1 appends it. */
export function withAsk(reply: Reply, at: number, ask: Ask): Reply {
  const asks = at === -1 ? [...reply.asks, ask] : replaceAt(reply.asks, at, ask)
  const place = at === -1 ? reply.asks.length : at
  positions.carry(reply.asks, asks)
  keepPlaces(reply.asks, asks, place)
  keepPendingCount(reply.asks, asks, place)
  return withFields(reply, { asks })
}

const known = new WeakMap<readonly Ask[], number>()

/** Whether any ask is pending. Cached, because it runs on every event and the list can be long. */
export function isAnyPending(asks: readonly Ask[]): boolean {
  return asks.length > 0 && pendingCount(asks) > 0
}

/** Carries the cached count over to a list in which the ask at `changed` was replaced or added. */
export function keepPendingCount(before: readonly Ask[], after: readonly Ask[], changed: number): void {
  const count = before.length === 0 ? 0 : known.get(before)
  if (count === undefined) return
  known.set(after, count - weight(before[changed]) + weight(after[changed]))
}

function pendingCount(asks: readonly Ask[]): number {
  const count = known.get(asks) ?? asks.reduce((sum, ask) => sum + weight(ask), 0)
  known.set(asks, count)
  return count
}

function weight(ask: Ask | undefined): number {
  return ask?.status === 'pending' ? 1 : 0
}

/**
 * Indexes of each call's asks. Lists derived from one another share this map, because asks never move. In another list
 * an index may belong to a different ask, so callers check each one.
 */
const knownPlaces = new WeakMap<readonly Ask[], Map<string, number[]>>()

/** The indexes of the asks of each call id. */
export function placesOf(asks: readonly Ask[]): Map<string, number[]> {
  const known = knownPlaces.get(asks)
  if (known) return known
  const places = new Map<string, number[]>()
  for (const [at, ask] of asks.entries()) addPlace(places, ask, at)
  knownPlaces.set(asks, places)
  return places
}

function addPlace(places: Map<string, number[]>, { callID }: Ask, at: number): void {
  if (callID === undefined) return
  const known = places.get(callID)
  if (!known) places.set(callID, [at])
  else if (!known.includes(at)) known.push(at)
}

/** Carries the cached indexes over to a list in which the ask at `changed` was replaced or added. */
function keepPlaces(before: readonly Ask[], after: readonly Ask[], changed: number): void {
  const places = knownPlaces.get(before)
  const ask = after[changed]
  if (!places || !ask) return
  addPlace(places, ask, changed)
  knownPlaces.set(after, places)
}
