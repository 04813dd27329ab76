import type { SettleEvent } from '../event.ts'
import { messageIDOf } from '../reduce/message.ts'
import { release } from './hold.ts'
import { step } from './open.ts'
import { type Draft, getCell } from './state.ts'

/** Before a reply ends for good: what never learned whose or what it is. */
export function placeSettle(draft: Draft, rootID: string, event: SettleEvent): void {
  const { idle } = getCell(draft, event.sessionID)
  const isLast = event.by === 'grace' || (event.by === 'end' && idle)
  if (isLast && (adoptMessages(draft, event) || adoptDeltas(draft, event))) draft.queue.push(event)
  else step(draft, rootID, { ...event, idle })
}

/** Idle was seen and nobody could say whose a message is: with a delta or a part other than text it is the assistant's. */
function adoptMessages(draft: Draft, { sessionID, at }: SettleEvent): boolean {
  const cell = getCell(draft, sessionID)
  const telling = cell.held.filter(
    (held) => held.type === 'delta' || (held.type === 'part' && held.part.type !== 'text'),
  )
  const ids = new Set(telling.map(messageIDOf))
  let found = false
  for (const id of ids) {
    if (id === undefined || cell.roles.has(id)) continue
    const message = { id, role: 'assistant', summary: false, raw: undefined } as const
    draft.queue.push({ type: 'message', sessionID, at, message })
    found = true
  }
  return found
}

/** A delta whose part never came takes the type that its field names. */
function adoptDeltas(draft: Draft, { sessionID, at }: SettleEvent): boolean {
  const deltas = release(draft, sessionID, (held) => held.type === 'delta')
  for (const delta of deltas) {
    if (delta.type !== 'delta') continue
    const { partID: id, messageID, delta: text, field, raw } = delta
    const type = field === 'reasoning' ? 'reasoning' : 'text'
    draft.queue.push({ type: 'part', sessionID, at, part: { id, messageID, status: 'open', type, text, raw } })
  }
  return deltas.length > 0
}
