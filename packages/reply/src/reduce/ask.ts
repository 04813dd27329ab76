import { hasSameContent } from '../ask/equal.ts'
import type { Ask } from '../ask.ts'
import type { Change } from '../change.ts'
import type { AskClosedEvent } from '../event.ts'
import type { Reply } from '../reply.ts'
import { keepPlaces, withCall } from './call.ts'
import { keepPendingCount } from './pending.ts'
import { createPositions } from './positions.ts'
import { replaceAt, withFields } from './shape.ts'

/** A request that is told again changes nothing, unless it would have a person decide about something else now. */
export function applyAsked(reply: Reply, told: Ask, changes: Change[]): Reply {
  const at = askAt(reply.asks, told.requestID)
  const known = reply.asks[at]
  const ask = withCall(reply, withDirectory(reply, told))
  if (known?.status === 'pending') return applyAgain(reply, { at, known, ask }, changes)
  // One that was given up for gone, and is there all the same, is asked again.
  if (known && known.status !== 'withdrawn') return reply
  changes.push(toldAs(ask))
  return withAsk(reply, at, ask)
}

/** Asks live with their session where nothing else is told. */
function withDirectory({ directory }: Reply, ask: Ask): Ask {
  return ask.directory !== undefined || directory === undefined ? ask : { ...ask, directory }
}

interface Again {
  readonly at: number
  readonly known: Ask
  readonly ask: Ask
}

function applyAgain(reply: Reply, { at, known, ask }: Again, changes: Change[]): Reply {
  const next: Ask = {
    ...withKnownCall(ask, known),
    path: known.path,
    askedAt: known.askedAt,
    directory: ask.directory ?? known.directory,
  }
  if (hasSameContent(known, next)) return reply
  changes.push({ type: 'askChanged', ask: next })
  return withAsk(reply, at, next)
}

/** What was known of its call stays known: the part that told it may be gone. */
function withKnownCall(ask: Ask, known: Ask): Ask {
  if (ask.type !== 'permission' || known.type !== 'permission' || ask.call || !known.call) return ask
  return ask.callID === known.callID && ask.messageID === known.messageID ? { ...ask, call: known.call } : ask
}

/** An ask that is closed stays as it is. One whose asking was missed is told by its end alone. */
export function applyAskClosed(reply: Reply, event: AskClosedEvent, changes: Change[]): Reply {
  const at = askAt(reply.asks, event.requestID)
  const known = reply.asks[at]
  if (known && known.status !== 'pending') return reply
  const ask = known ?? unseenAsk(event, reply.directory)
  if (!ask) return reply
  const closed = closedAs(ask, event)
  changes.push(toldAs(closed))
  return withAsk(reply, at, closed)
}

/** What is known of an ask when only its end was heard. Undefined when that does not tell what it was. */
function unseenAsk({ requestID, sessionID, how }: AskClosedEvent, directory: string | undefined): Ask | undefined {
  if (how.type === 'gone') return undefined
  const fields = { requestID, sessionID, directory, path: [sessionID], status: 'pending' } as const
  if (how.type !== 'permission') return { ...fields, type: 'question', questions: [] }
  return { ...fields, type: 'permission', permission: '', patterns: [], always: [], title: 'permission', metadata: {} }
}

/** Withdraws the pending asks that can no longer be answered. */
export function withdraw(reply: Reply, at: number, isOver: (ask: Ask) => boolean, changes: Change[]): Reply {
  if (!reply.asks.some((ask) => ask.status === 'pending' && isOver(ask))) return reply
  const asks = reply.asks.map((ask): Ask => {
    if (ask.status !== 'pending' || !isOver(ask)) return ask
    const withdrawn: Ask = { ...ask, status: 'withdrawn', closedAt: at }
    changes.push({ type: 'askWithdrawn', ask: withdrawn })
    return withdrawn
  })
  return withFields(reply, { asks })
}

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

/** The change that tells of an ask as it is now. */
export function toldAs(ask: Ask): Change {
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

const positions = createPositions<Ask>(({ requestID }) => requestID)

/** -1 without it. */
export function askAt(asks: readonly Ask[], requestID: string): number {
  return positions.at(asks, requestID)
}

/** The reply with an ask in its place, or at the end of the list where it has none. */
export function withAsk(reply: Reply, at: number, ask: Ask): Reply {
  const asks = at === -1 ? [...reply.asks, ask] : replaceAt(reply.asks, at, ask)
  const place = at === -1 ? reply.asks.length : at
  positions.carry(reply.asks, asks)
  keepPlaces(reply.asks, asks, place)
  keepPendingCount(reply.asks, asks, place)
  return withFields(reply, { asks })
}
