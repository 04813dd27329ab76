import { hasSameContent } from '../ask/equal.ts'
import type { Ask, AskCall, PermissionAsk } from '../ask.ts'
import type { Change } from '../change.ts'
import type { Part, ToolPart } from '../part.ts'
import type { Reply } from '../reply.ts'
import { messageAt } from './part.ts'
import { replaceAt, withFields } from './shape.ts'

/** An ask as the source told it, with the input of its call if that is known. */
export function withCall(reply: Reply, ask: Ask): Ask {
  if (ask.type !== 'permission' || ask.call) return ask
  const call = callOf(reply, ask)
  return call ? { ...ask, call } : ask
}

/** The calls of one message may have ids that those of another have, too: some providers count them anew for each step. */
function callOf(reply: Reply, { callID, messageID }: PermissionAsk): AskCall | undefined {
  if (callID === undefined) return undefined
  const at = messageID === undefined ? -1 : messageAt(reply.messages, messageID)
  const message = reply.messages[at]
  const messages = messageID === undefined ? reply.messages : message ? [message] : []
  for (let index = messages.length - 1; index >= 0; index--) {
    const part = messages[index]?.parts.findLast((other) => isCall(other, callID))
    if (part) return inputOf(part)
  }
  return undefined
}

function isCall(part: Part, callID: string): part is ToolPart {
  return part.type === 'tool' && part.callID === callID
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
  let asks = reply.asks
  for (const [at, ask] of reply.asks.entries()) {
    if (!isAskOf(ask, part, reply.sessionID)) continue
    const changed = { ...ask, call }
    if (hasSameContent(ask, changed)) continue
    changes.push({ type: 'askChanged', ask: changed })
    asks = replaceAt(asks, at, changed)
  }
  return asks === reply.asks ? reply : withFields(reply, { asks })
}

function isAskOf(ask: Ask, part: ToolPart, sessionID: string): ask is PermissionAsk {
  if (ask.type !== 'permission' || ask.status !== 'pending' || ask.sessionID !== sessionID) return false
  return ask.callID === part.callID && (ask.messageID === undefined || ask.messageID === part.messageID)
}
