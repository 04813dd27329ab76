import { hasSameContent } from '../ask/equal.ts'
import type { Ask, AskCall, PermissionAsk } from '../ask.ts'
import type { Change } from '../change.ts'
import type { Part, ToolPart } from '../part.ts'
import type { Reply } from '../reply.ts'
import { withAsk } from './ask.ts'
import { messageAt } from './part.ts'
import { partOfCall } from './parts.ts'

/** Adds the input of the ask's call, if known. */
export function withCall(reply: Reply, ask: Ask): Ask {
  if (ask.type !== 'permission' || ask.call) return ask
  const call = callOf(reply, ask)
  return call ? { ...ask, call } : ask
}

/** Call ids are unique only within a message: some providers restart numbering in each step. */
function callOf(reply: Reply, { callID, messageID }: PermissionAsk): AskCall | undefined {
  if (callID === undefined) return undefined
  const at = messageID === undefined ? -1 : messageAt(reply.messages, messageID)
  const message = reply.messages[at]
  const messages = messageID === undefined ? reply.messages : message ? [message] : []
  for (const one of messages.toReversed()) {
    const part = partOfCall(one, callID)
    if (part) return inputOf(part)
  }
  return undefined
}

/** A pending call's input is empty or partial, so it doesn't count. */
function inputOf(part: Part): AskCall | undefined {
  if (part.type !== 'tool' || part.state.status === 'pending') return undefined
  return { tool: part.tool, input: part.state.input }
}

/** Adds a call's input to the pending permissions that wait for it. */
export function applyCall(reply: Reply, part: ToolPart, changes: Change[]): Reply {
  // Only a blocked reply has pending asks; this saves a search through many closed ones.
  const call = reply.phase === 'blocked' ? inputOf(part) : undefined
  if (!call) return reply
  let next = reply
  for (const at of placesOf(reply.asks).get(part.callID) ?? []) {
    const ask = next.asks[at]
    if (!ask || !isAskOf(ask, part, reply.sessionID)) continue
    const changed = { ...ask, call }
    if (hasSameContent(ask, changed)) continue
    changes.push({ type: 'askChanged', ask: changed })
    next = withAsk(next, at, changed)
  }
  return next
}

/**
 * Indexes of each call's asks. Lists derived from one another share this map, because asks never move. An index may
 * belong to a different ask in this list, so callers check each one.
 */
const knownPlaces = new WeakMap<readonly Ask[], Map<string, number[]>>()

function placesOf(asks: readonly Ask[]): Map<string, number[]> {
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
export function keepPlaces(before: readonly Ask[], after: readonly Ask[], changed: number): void {
  const places = knownPlaces.get(before)
  const ask = after[changed]
  if (!places || !ask) return
  addPlace(places, ask, changed)
  knownPlaces.set(after, places)
}

function isAskOf(ask: Ask, part: ToolPart, sessionID: string): ask is PermissionAsk {
  if (ask.type !== 'permission' || ask.status !== 'pending' || ask.sessionID !== sessionID) return false
  return ask.callID === part.callID && (ask.messageID === undefined || ask.messageID === part.messageID)
}
