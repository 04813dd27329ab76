import { alwaysOffer } from '../ask/always.ts'
import { askDetails } from '../ask/details.ts'
import type { Ask, PermissionAsk, PermissionReply } from '../ask.ts'
import type { Part, ToolPart } from '../part.ts'

/** Whether all that a person decides about is known. The input of a call often arrives after its ask. */
export function isAskKnown(ask: Ask): boolean {
  return ask.type === 'question' || ask.callID === undefined || ask.call !== undefined
}

/** How long a permission waits for the input of its call, in ms. */
const callKnownMs = 3000

/** A part as far as it says which calls go on. */
type CallPart = Pick<ToolPart, 'type' | 'callID' | 'state'> | { readonly type: Exclude<Part['type'], 'tool'> }

/** A reply, also one without `raw`, as far as it says which calls go on. */
interface CallReply {
  readonly sessionID: string
  readonly messages: readonly { readonly parts: readonly CallPart[] }[]
  readonly children: readonly { readonly reply: CallReply }[]
}

/**
 * Whether people should decide about a pending ask now: all of it is known, or waiting longer is in vain. That is so if several calls
 * could be meant, or 3 s have passed since it was asked. `now` is in ms since the epoch. Without it, no time passes.
 */
export function isAskDue(ask: Ask, reply: CallReply, now?: number): boolean {
  if (isAskKnown(ask)) return true
  if (now !== undefined && ask.askedAt !== undefined && now - ask.askedAt > callKnownMs) return true
  const calls = findReply(reply, ask.sessionID)?.messages.flatMap(({ parts }) =>
    parts.filter((part) => part.type === 'tool' && part.callID === ask.callID && isUnfinished(part)),
  )
  return (calls?.length ?? 0) > 1
}

/** Whether it is a call that has not ended. */
export function isUnfinished(part: CallPart): boolean {
  return part.type === 'tool' && part.state.status !== 'completed' && part.state.status !== 'error'
}

/** Returns the reply of a session: this one, or that of a sub-agent. */
function findReply(reply: CallReply, sessionID: string): CallReply | undefined {
  if (reply.sessionID === sessionID) return reply
  for (const child of reply.children) {
    const found = findReply(child.reply, sessionID)
    if (found) return found
  }
  return undefined
}

/**
 * Returns the answers that a pending permission takes. Nothing is allowed unseen, and `always` only if it doesn't reach too far.
 */
export function permissionAnswers(ask: PermissionAsk): readonly PermissionReply[] {
  if (askDetails(ask) === undefined) return ['reject']
  return alwaysOffer(ask).type === 'offered' ? ['once', 'always', 'reject'] : ['once', 'reject']
}

/** Returns a call's input as JSON. One that is nested too deeply can't be written, and can't be allowed either. */
export function inputJson(input: unknown): string {
  try {
    return JSON.stringify(input)
  } catch {
    return JSON.stringify('The input is nested too deeply to be shown.')
  }
}

/** Whether a page can load a file by its URL. A path on the agent's computer means nothing there, and a script must not run. */
export function isLoadable(url: string): boolean {
  return /^(?:https?:\/\/|data:)/i.test(url)
}
