import type { SessionScopedEvent, SettleEvent } from '../event.ts'
import type { Part } from '../part.ts'
import { messageIDOf } from '../reduce/message.ts'
import { release } from './hold.ts'
import { step } from './open.ts'
import { roleIn } from './roles.ts'
import { changeCell, type Draft, getCell } from './state.ts'

/** Before a reply ends for good: what never learned whose or what it is. */
export function placeSettle(draft: Draft, rootID: string, event: SettleEvent): void {
  // What has just been adopted goes in before the end; one end does not wait for another.
  if (draft.queue.some((waiting) => waiting.type !== 'settle')) return void draft.queue.push(event)
  // Adopting may open a reply that has not heard an idle yet.
  const idle = event.idle ?? getCell(draft, event.sessionID).idle === 'heard'
  const again = event.by === 'end' ? { ...event, idle } : event
  const isExplained = event.by !== 'grace' && !(event.by === 'end' && idle)
  if (!isExplained && adoptMessages(draft, event)) draft.queue.push(again)
  else if (adoptDeltas(draft, event, isExplained ? 'unknown' : 'typed')) draft.queue.push(again)
  else {
    changeCell(draft, getCell(draft, event.sessionID), {
      trailing: event.by === 'rest' || event.by === 'time-out' || event.by === 'lost',
    })
    step(draft, rootID, { ...event, idle })
  }
}

/** A held event that only an assistant's message can have: a delta, or a part that is no text. */
export function isTelling(held: SessionScopedEvent): boolean {
  return held.type === 'delta' || (held.type === 'part' && held.part.type !== 'text')
}

/**
 * Idle was seen and nothing told whose a message is: with a delta or a part other than text it is the assistant's. At the
 * end of a recording nothing more will tell of it: a stream that began in its midst ended with idle, and so did the message.
 */
function adoptMessages(draft: Draft, { sessionID, at, by }: SettleEvent): boolean {
  const { held, roles } = getCell(draft, sessionID)
  const ids = new Set(held.filter(isTelling).map(messageIDOf))
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

/** A delta whose part never came takes the type that its field names, after an idle; without one it stays hidden. */
function adoptDeltas(draft: Draft, { sessionID, at }: SettleEvent, as: 'typed' | 'unknown'): boolean {
  const { roles } = getCell(draft, sessionID)
  const deltas = release(
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
