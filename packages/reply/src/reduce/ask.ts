import { hasSameContent } from '../ask/equal.ts'
import type { Ask } from '../ask.ts'
import type { Change } from '../change.ts'
import type { AskClosedEvent } from '../event.ts'
import type { Reply } from '../reply.ts'
import { askIndexOf, isAnyPending, withAsk } from './ask-list.ts'
import { applyCall, withCall } from './call.ts'
import { withFields } from './shape.ts'

/**
 * Applies a new or repeated ask, with its call and its directory if the reply knows them, and updates the other
 * permissions of its call. A repeated one is only reported if its content changed, because a person would then decide
 * about something else. One that was withdrawn is asked again, and one that was answered or rejected is ignored.
 */
export function applyAsked(reply: Reply, reported: Ask, changes: Change[]): Reply {
  const askIndex = askIndexOf(reply.asks, reported.requestID)
  const known = reply.asks[askIndex]
  const ask = withCall(reply, withDirectory(reply, reported), known)
  if (known?.status === 'pending') {
    const { path, askedAt, directory } = known
    const repeated: Ask = { ...ask, path, askedAt, directory: ask.directory ?? directory }
    if (hasSameContent(known, repeated)) return reply
    changes.push({ type: 'askChanged', ask: repeated })
    return withAsk(reply, askIndex, repeated)
  }
  // A withdrawn ask that turns out to be pending after all is asked again.
  if (known && known.status !== 'withdrawn') return reply
  changes.push(changeOfAsk(ask))
  const next = withAsk(reply, askIndex, ask)
  // This ask's call is set already. Only other pending asks can be about the same call.
  return isAnyPending(reply.asks) ? applyCall(next, ask.callID, changes) : next
}

/** Fills in the reply's directory if the ask has none. */
function withDirectory({ directory }: Reply, ask: Ask): Ask {
  return ask.directory !== undefined || directory === undefined ? ask : { ...ask, directory }
}

/**
 * Closes an ask, and updates the other permissions of its call. Leaves a closed one unchanged. If the ask itself was
 * missed, only its end is reported, or nothing if that doesn't show its type.
 */
export function applyAskClosed(reply: Reply, event: AskClosedEvent, changes: Change[]): Reply {
  const askIndex = askIndexOf(reply.asks, event.requestID)
  const known = reply.asks[askIndex]
  if (known && known.status !== 'pending') return reply
  const ask = known ?? unseenAsk(event, reply.directory)
  if (!ask) return reply
  const closed = closedAs(ask, event)
  changes.push(changeOfAsk(closed))
  return applyCall(withAsk(reply, askIndex, closed), closed.callID, changes)
}

/**
 * Builds an ask from its end alone. Undefined if its type is unknown. A rejection that isn't of a permission is of a
 * question.
 */
function unseenAsk({ requestID, sessionID, how }: AskClosedEvent, directory: string | undefined): Ask | undefined {
  if (how.type === 'gone') return undefined
  const fields = { requestID, sessionID, directory, path: [sessionID], status: 'pending' } as const
  if (how.type !== 'permission') return { ...fields, type: 'question', questions: [] }
  return { ...fields, type: 'permission', permission: '', patterns: [], always: [], title: 'permission', metadata: {} }
}

/**
 * Withdraws the pending asks that can no longer be answered, and reports each. `at` is the time in ms since the epoch.
 * Returns the same reply if there are none.
 */
export function withdrawAsks(
  reply: Reply,
  at: number,
  cannotBeAnswered: (ask: Ask) => boolean,
  changes: Change[],
): Reply {
  if (!reply.asks.some((ask) => ask.status === 'pending' && cannotBeAnswered(ask))) return reply
  const asks = reply.asks.map((ask): Ask => {
    if (ask.status !== 'pending' || !cannotBeAnswered(ask)) return ask
    const withdrawn: Ask = { ...ask, status: 'withdrawn', closedAt: at }
    changes.push({ type: 'askWithdrawn', ask: withdrawn })
    return withdrawn
  })
  return withFields(reply, { asks })
}

/**
 * The ask with the status, the time and the answer of its end. An answer of the other type of ask only sets the status.
 */
function closedAs(ask: Ask, { how, at }: AskClosedEvent): Ask {
  switch (how.type) {
    case 'answered':
      if (ask.type !== 'question') return { ...ask, status: 'answered', closedAt: at }
      return { ...ask, status: 'answered', closedAt: at, answers: how.answers }
    case 'permission': {
      const status = how.reply === 'reject' ? 'rejected' : 'answered'
      return ask.type === 'permission'
        ? { ...ask, status, closedAt: at, reply: how.reply }
        : { ...ask, status, closedAt: at }
    }
    case 'rejected':
      return { ...ask, status: 'rejected', closedAt: at }
    case 'gone':
      return { ...ask, status: 'withdrawn', closedAt: at }
    default:
      return how satisfies never
  }
}

/**
 * The change that reports an ask in its current state. A resolved permission without a reply counts as rejected, and an
 * answered question without answers has none.
 */
export function changeOfAsk(ask: Ask): Change {
  const { askedAt } = ask
  if (ask.status === 'withdrawn') return { type: 'askWithdrawn', ask }
  if (ask.type === 'permission') {
    if (ask.status === 'pending') return { type: 'permissionAsked', ask }
    return { type: 'permissionReplied', ask, answer: ask.reply ?? 'reject', askedAt }
  }
  if (ask.status === 'pending') return { type: 'questionAsked', ask }
  if (ask.status === 'rejected') return { type: 'questionRejected', ask, askedAt }
  return { type: 'questionReplied', ask, answers: ask.answers ?? [], askedAt }
}
