import { hashOf } from '../hash.ts'
import type { Slot } from '../layout/slot.ts'
import { type Entry, openStream, type Sent, type ShownEntry } from '../ledger/entry.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { StreamPiece } from '../port/port.ts'
import { taskKey } from '../view/task.ts'

/**
 * What to do with an open stream:
 * - `append`: add more text.
 * - `close`: add the last text and close it.
 * - `end`: its content is unknown or outdated, so close it as it is and edit it afterwards.
 */
export type Flowing = 'append' | 'close' | 'end'

/** Whether posting this slot opens a stream. */
export function isStreamed({ flow, isGrowing }: Slot): boolean {
  return flow !== undefined && isGrowing
}

/** How an open stream gets to show a slot. Undefined if no stream is open. Pure. */
export function flowingOf(
  entry: ShownEntry,
  { bubble, flow, isGrowing }: Slot,
  openSince: number | undefined,
): Flowing | undefined {
  const sent = openStream(entry)
  if (!sent) return undefined
  if (openSince === undefined || entry.isUnsure) return 'end'
  const isMore = hashOf(bubble.text.slice(0, sent.length)) === sent.hash
  if (!isMore) return 'end'
  return flow && isGrowing && sent.openedAt > openSince ? 'append' : 'close'
}

/** Whether there is something to add to an open stream, or a reason to close it. */
export function flows(entry: Entry, { flow, isGrowing }: Slot, openSince: number | undefined): boolean {
  const sent = openStream(entry)
  if (!sent) return false
  if (!flow || !isGrowing || openSince === undefined || sent.openedAt <= openSince) return true
  return flow.tasks.length > 0 || flow.plan !== sent.plan
}

export function pieceOf({ bubble, flow }: Slot, sent?: Sent): StreamPiece {
  const { tasks = [], plan } = flow ?? {}
  return { text: bubble.text.slice(sent?.length ?? 0), tasks, ...(plan !== sent?.plan && { plan }) }
}

/** The state of a stream after it was opened or appended to. */
export function sentOf({ bubble: { text }, flow }: Slot, openedAt: number): Sent {
  return { openedAt, length: text.length, hash: hashOf(text), plan: flow?.plan }
}

export function withTasks(ledger: Ledger, { flow }: Slot): Ledger {
  if (!flow || flow.tasks.length === 0) return ledger
  return { ...ledger, reported: [...ledger.reported, ...flow.tasks.map(taskKey)] }
}
