import { hasSameContent } from '../ask/equal.ts'
import type { Ask, AskCall, PermissionAsk } from '../ask.ts'
import type { Change } from '../change.ts'
import type { Part, ToolPart } from '../part.ts'
import type { Reply } from '../reply.ts'
import { withAsk } from './ask.ts'
import { messageAt } from './part.ts'
import { partOfCall } from './parts.ts'

/** An ask as the source told it, with the input of its call if that is known. */
export function withCall(reply: Reply, ask: Ask): Ask {
  if (ask.type !== 'permission' || ask.call) return ask
  const call = callOf(reply, ask)
  return call ? { ...ask, call } : ask
}

/** Calls of two messages may have the same id: some providers number them anew in each step. */
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

/** While it is pending, a call has no input yet: `{}`, or a part of it. */
function inputOf(part: Part): AskCall | undefined {
  if (part.type !== 'tool' || part.state.status === 'pending') return undefined
  return { tool: part.tool, input: part.state.input }
}

/** A call's part came in: the pending permissions that wait for it tell its input from now on. */
export function applyCall(reply: Reply, part: ToolPart, changes: Change[]): Reply {
  // Nothing is pending in a reply that is not blocked: its asks, which may be many, are not looked through.
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
 * Where the asks of each call are. Lists that came of one another share it, since asks never move: a place may be that of
 * another ask in this one, so each is looked at.
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

/** What is known of a list holds for the one in which the ask at `changed` was replaced, or added. */
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
