import { hasSameContent } from '../ask/equal.ts'
import type { Ask, AskCall, PermissionAsk } from '../ask.ts'
import type { Change } from '../change.ts'
import type { ToolPart } from '../part.ts'
import type { Reply } from '../reply.ts'
import { isAnyPending, placesOf, withAsk } from './ask-list.ts'
import { messageAt } from './part.ts'
import { partsOfCall } from './parts.ts'

/** Adds the input of the ask's call, if known. `known` is the ask as the reply has it. */
export function withCall(reply: Reply, ask: Ask, known?: Ask): Ask {
  if (ask.type !== 'permission') return ask
  const { callID } = ask
  if (callID === undefined) return ask
  const parts = unfinishedOf(reply, ask, callID)
  // The call has ended. Its known input is kept, because the server closes the ask next.
  if (parts.length === 0) return withKnownCall(ask, known)
  const call = isOnlyAsk(reply, ask, callID) ? inputOf(parts) : undefined
  return isSame(call, ask.call) ? ask : { ...ask, call }
}

/** Saves a copy with the same call, which would be compared with the ask value by value. */
function isSame(a: AskCall | undefined, b: AskCall | undefined): boolean {
  return a?.tool === b?.tool && a?.input === b?.input
}

function withKnownCall(ask: PermissionAsk, known: Ask | undefined): Ask {
  if (known?.type !== 'permission' || ask.call || !known.call) return ask
  return ask.callID === known.callID && ask.messageID === known.messageID ? { ...ask, call: known.call } : ask
}

/**
 * The calls that the ask may be about. Some providers repeat call ids in each step, or even within a message. If the
 * ask names no message, it may be about any call with this id.
 */
function unfinishedOf({ messages }: Reply, { messageID }: PermissionAsk, callID: string): readonly ToolPart[] {
  const message = messageID === undefined ? undefined : messages[messageAt(messages, messageID)]
  const searched = messageID === undefined ? messages : message ? [message] : []
  return searched.flatMap((one) => partsOfCall(one, callID).filter(isUnfinished))
}

function isUnfinished({ state: { status } }: ToolPart): boolean {
  return status === 'pending' || status === 'running'
}

/** A call asks for one permission at a time, so two that are pending belong to two calls with the same id. */
function isOnlyAsk(reply: Reply, ask: PermissionAsk, callID: string): boolean {
  if (!isAnyPending(reply.asks)) return true
  return pendingOf(reply, callID).every(([, other]) => other.requestID === ask.requestID || !isSameCall(ask, other))
}

function isSameCall(a: PermissionAsk, b: PermissionAsk): boolean {
  return a.messageID === undefined || b.messageID === undefined || a.messageID === b.messageID
}

/** The input that would run, if the ask can only be about one call. A pending call's input is empty or partial. */
function inputOf([part, ...others]: readonly ToolPart[]): AskCall | undefined {
  if (!part || others.length > 0 || part.state.status === 'pending' || part.state.ambiguous) return undefined
  return { tool: part.tool, input: part.state.input }
}

/** Updates the inputs of the pending permissions of this call, after a part or an ask with its id has changed. */
export function applyCall(reply: Reply, callID: string | undefined, changes: Change[]): Reply {
  // Only a blocked reply has pending asks. This saves a search through many closed ones.
  if (callID === undefined || !isAnyPending(reply.asks)) return reply
  let next = reply
  for (const [at, ask] of pendingOf(reply, callID)) {
    const changed = withCall(next, ask, ask)
    if (hasSameContent(ask, changed)) continue
    changes.push({ type: 'askChanged', ask: changed })
    next = withAsk(next, at, changed)
  }
  return next
}

/** The pending permissions of the reply's own session with this call id, by index. */
function pendingOf({ asks, sessionID }: Reply, callID: string): readonly (readonly [number, PermissionAsk])[] {
  return (placesOf(asks).get(callID) ?? []).flatMap((at) => {
    const ask = asks[at]
    const isPending = ask?.type === 'permission' && ask.status === 'pending'
    return isPending && ask.callID === callID && ask.sessionID === sessionID ? [[at, ask] as const] : []
  })
}
