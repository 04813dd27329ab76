import type { SessionScopedEvent } from '../event.ts'
import { withoutCell } from './cells.ts'
import { type Draft, getCell, putCell } from './state.ts'

/** Keeps an event until the session or message that it belongs to is known. Deltas of one part are kept as one. */
export function hold(draft: Draft, event: SessionScopedEvent): void {
  const cell = getCell(draft, event.sessionID)
  const last = cell.held.at(-1)
  const joined = joinDeltas(last, event)
  const held = joined ? [...cell.held.slice(0, -1), joined] : [...cell.held, event]
  putCell(draft, { ...cell, held })
  const { waiting } = draft.state
  draft.state = {
    ...draft.state,
    heldUnits: draft.state.heldUnits + (joined && event.type === 'delta' ? event.delta.length : unitsOf(event)),
    waiting: cell.held.length === 0 ? [...waiting, cell.id] : waiting,
  }
  makeRoom(draft)
}

/** Takes the held events of a session that `isWanted` picks out of it, in order. */
export function release(
  draft: Draft,
  sessionID: string,
  isWanted: (event: SessionScopedEvent) => boolean,
): readonly SessionScopedEvent[] {
  const cell = getCell(draft, sessionID)
  if (cell.held.length === 0) return []
  const wanted = cell.held.filter(isWanted)
  if (wanted.length === 0) return wanted
  const held = cell.held.filter((event) => !wanted.includes(event))
  putCell(draft, { ...cell, held })
  const { waiting, heldUnits } = draft.state
  draft.state = {
    ...draft.state,
    heldUnits: heldUnits - wanted.reduce((sum, event) => sum + unitsOf(event), 0),
    waiting: held.length === 0 ? waiting.filter((id) => id !== sessionID) : waiting,
  }
  return wanted
}

/** Lets held events go their way, after the event that is being placed. */
export function resume(draft: Draft, sessionID: string, isWanted: (event: SessionScopedEvent) => boolean): void {
  draft.queue.push(...release(draft, sessionID, isWanted))
}

/** A session that nobody will ever explain. */
export function giveUp(draft: Draft, sessionID: string): void {
  release(draft, sessionID, () => true)
  draft.state = { ...draft.state, cells: withoutCell(draft.state.cells, sessionID) }
}

function makeRoom(draft: Draft): void {
  while (draft.state.heldUnits > draft.state.limits.maxHeld) {
    const [oldest] = draft.state.waiting
    if (oldest === undefined) return
    draft.dropped += release(draft, oldest, () => true).length
  }
}

function joinDeltas(last: SessionScopedEvent | undefined, event: SessionScopedEvent): SessionScopedEvent | undefined {
  if (last?.type !== 'delta' || event.type !== 'delta') return undefined
  if (last.messageID !== event.messageID || last.partID !== event.partID || last.field !== event.field) return undefined
  return { ...event, delta: last.delta + event.delta }
}

/** A rough size: what can be large is counted, all else is taken as 512. */
function unitsOf(event: SessionScopedEvent): number {
  if (event.type === 'delta') return 512 + event.delta.length
  if (event.type !== 'part') return 512
  const { part } = event
  if (part.type === 'tool') return 512 + (part.state.output?.length ?? 0)
  return 512 + ('text' in part ? part.text.length : 0)
}
