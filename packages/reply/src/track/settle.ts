import type { SessionScopedEvent, SettleEvent } from '../event.ts'
import type { Part } from '../part.ts'
import { messageIDOf } from '../reduce/message.ts'
import { takeHeld } from './held-events.ts'
import { reduceReply } from './open-run.ts'
import { roleIn } from './roles.ts'
import { changeCell, type Draft, getCell } from './state.ts'

/** Before a reply ends for good, adopts held events that never got their message or type. */
export function placeSettle(draft: Draft, rootID: string, event: SettleEvent): void {
  // Adopted events go in before the end; several ends don't wait for each other.
  if (draft.queue.some((waiting) => waiting.type !== 'settle')) return void draft.queue.push(event)
  // Adopting may open a reply that has not received an idle yet.
  const idle = event.idle ?? getCell(draft, event.sessionID).idle === 'heard'
  const again = event.by === 'end' ? { ...event, idle } : event
  const isExplained = event.by !== 'grace' && !(event.by === 'end' && idle)
  if (!isExplained && adoptMessages(draft, event)) draft.queue.push(again)
  else if (adoptDeltas(draft, event, isExplained ? 'unknown' : 'typed')) draft.queue.push(again)
  else {
    changeCell(draft, getCell(draft, event.sessionID), {
      endedByRest: event.by === 'rest' || event.by === 'time-out' || event.by === 'lost',
    })
    reduceReply(draft, rootID, { ...event, idle })
  }
}

/** Whether a held event can only belong to an assistant's message: a delta, or a part other than text. */
export function isFromAssistant(held: SessionScopedEvent): boolean {
  return held.type === 'delta' || (held.type === 'part' && held.part.type !== 'text')
}

/**
 * Idle was seen and a message's role is still unknown: with a delta or a part other than text it is the assistant's. At
 * the end of a recording no more events will follow: a stream that began mid-run ended with idle, and so did the
 * message.
 */
function adoptMessages(draft: Draft, { sessionID, at, by }: SettleEvent): boolean {
  const { held, roles } = getCell(draft, sessionID)
  const ids = new Set(held.filter(isFromAssistant).map(messageIDOf))
  let found = false
  for (const id of ids) {
    if (id === undefined || roleIn(roles, id)) continue
    const completedAt = by === 'end' ? at : undefined
    const message = { id, role: 'assistant', summary: false, completedAt, raw: undefined } as const
    draft.queue.push({ type: 'message', sessionID, at, message })
    found = true
  }
  return found
}

/**
 * After an idle, a delta whose part never arrived gets the type that its field names; without an idle it stays hidden.
 */
function adoptDeltas(draft: Draft, { sessionID, at }: SettleEvent, as: 'typed' | 'unknown'): boolean {
  const { roles } = getCell(draft, sessionID)
  const deltas = takeHeld(
    draft,
    sessionID,
    (held) => held.type === 'delta' && roleIn(roles, held.messageID) !== undefined,
  )
  for (const delta of deltas) {
    if (delta.type !== 'delta') continue
    const { partID: id, messageID, delta: text, field, raw } = delta
    const type = field === 'reasoning' ? 'reasoning' : 'text'
    const part: Part =
      as === 'typed'
        ? { id, messageID, status: 'open', type, text, raw }
        : { id, messageID, status: 'sealed', type: as, raw }
    draft.queue.push({ type: 'part', sessionID, at, part })
  }
  return deltas.length > 0
}
