import type { SessionScopedEvent } from '../event.ts'
import type { Part } from '../part.ts'
import { withoutCell } from './cells.ts'
import { changeCell, changeState, type Draft, getCell } from './state.ts'

/**
 * Holds an event until its session or message is known. Merges consecutive deltas of one part. Beyond the limit, drops
 * the events of the sessions that have waited longest, and counts them in `draft.dropped`.
 */
export function holdEvent(draft: Draft, event: SessionScopedEvent): void {
  const cell = getCell(draft, event.sessionID)
  const last = cell.held.at(-1)
  const joined = joinedDeltas(last, event)
  const held = joined ? [...cell.held.slice(0, -1), joined] : [...cell.held, event]
  changeCell(draft, cell, { held, directory: cell.directory ?? event.directory })
  const { waiting } = draft.state
  changeState(draft, {
    heldUnits: draft.state.heldUnits + (joined && event.type === 'delta' ? event.delta.length : unitsOf(event)),
    waiting: cell.held.length === 0 ? [...waiting, cell.id] : waiting,
  })
  while (draft.state.heldUnits > draft.state.limits.maxHeld) {
    const [oldest] = draft.state.waiting
    if (oldest === undefined) break
    draft.dropped += dropHeldEvents(draft, oldest)
  }
}

/** Removes the held events of a session that match `isWanted`, and returns them in order. Empty if none does. */
export function takeHeldEvents(
  draft: Draft,
  sessionID: string,
  isWanted: (event: SessionScopedEvent) => boolean,
): readonly SessionScopedEvent[] {
  const cell = getCell(draft, sessionID)
  if (cell.held.length === 0) return []
  const wanted = cell.held.filter(isWanted)
  if (wanted.length === 0) return wanted
  const held = cell.held.filter((event) => !isWanted(event))
  changeCell(draft, cell, { held })
  const { waiting, heldUnits } = draft.state
  changeState(draft, {
    heldUnits: heldUnits - wanted.reduce((sum, event) => sum + unitsOf(event), 0),
    waiting: held.length === 0 ? withoutSession(waiting, sessionID) : waiting,
  })
  return wanted
}

/**
 * Returns the ids without this one. Usually it is the first, because the session that has waited longest is dropped
 * first.
 */
function withoutSession(waiting: readonly string[], sessionID: string): readonly string[] {
  return waiting[0] === sessionID ? waiting.slice(1) : waiting.filter((id) => id !== sessionID)
}

/**
 * Queues matching held events behind the current one, in order of arrival across sessions. Does nothing if none
 * matches.
 */
export function requeueHeldEvents(
  draft: Draft,
  sessionID: string,
  isWanted: (event: SessionScopedEvent) => boolean,
): void {
  const released = takeHeldEvents(draft, sessionID, isWanted)
  if (released.length > 0) draft.queue.push(...mergeByTime(draft.queue.splice(0), released))
}

/**
 * Merges released events into the queued ones by time, with the queued ones first for the same time. Each list keeps
 * its own order, even if a clock was set back.
 */
function mergeByTime(
  queued: readonly SessionScopedEvent[],
  released: readonly SessionScopedEvent[],
): readonly SessionScopedEvent[] {
  const all: SessionScopedEvent[] = []
  const rest = [...released]
  for (const event of queued) {
    const later = rest.findIndex((other) => other.at >= event.at)
    all.push(...rest.splice(0, later === -1 ? rest.length : later), event)
  }
  return [...all, ...rest]
}

/**
 * Drops a session's held events, and the session itself if nothing else is known of it. Returns the number of events.
 */
export function dropHeldEvents(draft: Draft, sessionID: string): number {
  const dropped = takeHeldEvents(draft, sessionID, () => true).length
  if (!getCell(draft, sessionID).known) {
    changeState(draft, { cells: withoutCell(draft.state.cells, sessionID) })
  }
  return dropped
}

/** One delta for two consecutive ones of the same field of a part. Undefined for any other two events. */
function joinedDeltas(last: SessionScopedEvent | undefined, event: SessionScopedEvent): SessionScopedEvent | undefined {
  if (last?.type !== 'delta' || event.type !== 'delta') return undefined
  if (last.messageID !== event.messageID || last.partID !== event.partID || last.field !== event.field) return undefined
  return { ...event, delta: last.delta + event.delta }
}

/**
 * A rough size in UTF-16 units: the strings that can be large, plus 2,048 for everything else, which also limits the
 * number of events.
 */
function unitsOf(event: SessionScopedEvent): number {
  if (event.type === 'delta') return 2048 + event.delta.length
  if (event.type === 'snapshot') return 2048 + event.messages.reduce((sum, { parts }) => sum + unitsOfParts(parts), 0)
  return 2048 + (event.type === 'part' ? unitsOfParts([event.part]) : 0)
}

/** The sum of `unitsOfPart`. */
function unitsOfParts(parts: readonly Part[]): number {
  return parts.reduce((sum, part) => sum + unitsOfPart(part), 0)
}

/**
 * The total length of its strings that can be large: a text, a file's URL, or a tool's input, output, error,
 * metadata and files. 0 for any other part.
 */
function unitsOfPart(part: Part): number {
  if (part.type === 'text' || part.type === 'reasoning') return part.text.length
  if (part.type === 'file') return part.url.length
  if (part.type !== 'tool') return 0
  const { input, metadata, output = '', error = '', attachments = [] } = part.state
  const files = attachments.flatMap(({ url, caption = '' }) => [url, caption])
  const values = [output, error, ...files, ...Object.values(input), ...Object.values(metadata ?? {})]
  return values.reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0)
}
