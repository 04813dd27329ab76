import { hasSameContent } from '../ask/equal.ts'
import type { Ask, AskCall, PermissionAsk } from '../ask.ts'
import type { Change } from '../change.ts'
import type { ToolPart } from '../part.ts'
import type { Reply } from '../reply.ts'
import { indexesByCall, isAnyPending, withAsk } from './ask-list.ts'
import { messageIndexOf } from './part.ts'
import { partsOfCall } from './part-list.ts'

/**
 * Sets the call of a permission, or removes it if it is no longer certain: if several calls, or several permissions,
 * may belong together. If the call isn't running, keeps the one of `known`, the ask as the reply has it. Returns the
 * same ask for a question, for one without a call id, and if nothing changes.
 */
export function withCall(reply: Reply, ask: Ask, known?: Ask): Ask {
  if (ask.type !== 'permission') return ask
  const { callID } = ask
  if (callID === undefined) return ask
  const parts = unfinishedCalls(reply, ask, callID)
  // The call has ended. Its known input is kept, because the server closes the ask next.
  if (parts.length === 0) return withKnownCall(ask, known)
  const call = isOnlyAskOfCall(reply, ask, callID) ? callToRun(parts) : undefined
  return isIdenticalCall(call, ask.call) ? ask : { ...ask, call }
}

/**
 * Whether two calls have the same tool and the same input object, or both are missing. Values aren't compared, which is
 * faster.
 */
function isIdenticalCall(a: AskCall | undefined, b: AskCall | undefined): boolean {
  return a?.tool === b?.tool && a?.input === b?.input
}

/**
 * Fills in the call that the reply already knew for this ask, if the ask names the same call. Otherwise returns the
 * same ask.
 */
function withKnownCall(ask: PermissionAsk, known: Ask | undefined): Ask {
  if (known?.type !== 'permission' || ask.call || !known.call) return ask
  return ask.callID === known.callID && ask.messageID === known.messageID ? { ...ask, call: known.call } : ask
}

/**
 * The unfinished calls that the ask may be about. Some providers repeat call ids in each step, or even within a
 * message. If the ask names no message, it may be about any call with this id. Empty if its message is unknown.
 */
function unfinishedCalls({ messages }: Reply, { messageID }: PermissionAsk, callID: string): readonly ToolPart[] {
  const named = messageID === undefined ? undefined : messages[messageIndexOf(messages, messageID)]
  const searched = messageID === undefined ? messages : named ? [named] : []
  return searched.flatMap((message) => partsOfCall(message, callID).filter(isUnfinished))
}

/** Whether the call is pending or running. */
function isUnfinished({ state: { status } }: ToolPart): boolean {
  return status === 'pending' || status === 'running'
}

/**
 * Whether no other pending permission may be about the same call. A call asks for one permission at a time, so two that
 * are pending belong to two calls with the same id.
 */
function isOnlyAskOfCall(reply: Reply, ask: PermissionAsk, callID: string): boolean {
  if (!isAnyPending(reply.asks)) return true
  return pendingPermissionsOf(reply, callID).every(
    ([, other]) => other.requestID === ask.requestID || !mayBeSameCall(ask, other),
  )
}

/** Whether two asks with the same call id may be about the same call. True if one of them names no message. */
function mayBeSameCall(a: PermissionAsk, b: PermissionAsk): boolean {
  return a.messageID === undefined || b.messageID === undefined || a.messageID === b.messageID
}

/**
 * The call that would run, if the ask can only be about one. Undefined for none or several, if it may be a mix of two
 * calls, and while its status is `pending`, because its input is then empty or partial.
 */
function callToRun([part, ...others]: readonly ToolPart[]): AskCall | undefined {
  if (!part || others.length > 0 || part.state.status === 'pending' || part.state.ambiguous) return undefined
  return { tool: part.tool, input: part.state.input }
}

/**
 * Updates the calls of the pending permissions with this call id, after a part or an ask with it has changed, and
 * reports those that changed. Returns the same reply without a call id or pending asks.
 */
export function applyCall(reply: Reply, callID: string | undefined, changes: Change[]): Reply {
  // Only a blocked reply has pending asks. This saves a search through many closed ones.
  if (callID === undefined || !isAnyPending(reply.asks)) return reply
  let next = reply
  for (const [at, ask] of pendingPermissionsOf(reply, callID)) {
    const changed = withCall(next, ask, ask)
    if (hasSameContent(ask, changed)) continue
    changes.push({ type: 'askChanged', ask: changed })
    next = withAsk(next, at, changed)
  }
  return next
}

/** The pending permissions of the reply's own session with this call id, with their indexes. */
function pendingPermissionsOf(
  { asks, sessionID }: Reply,
  callID: string,
): readonly (readonly [number, PermissionAsk])[] {
  return (indexesByCall(asks).get(callID) ?? []).flatMap((at) => {
    const ask = asks[at]
    const isPending = ask?.type === 'permission' && ask.status === 'pending'
    return isPending && ask.callID === callID && ask.sessionID === sessionID ? [[at, ask] as const] : []
  })
}
