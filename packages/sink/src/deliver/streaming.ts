import { hashOf } from '../hash.ts'
import type { Slot } from '../layout/slot.ts'
import type { Entry, Ledger, Sent } from '../ledger/ledger.ts'
import type { StreamPiece } from '../port/port.ts'
import { toldAs } from '../view/task.ts'

/**
 * What to do with an open stream:
 * - `append`: add more text.
 * - `close`: add the last text and close it.
 * - `end`: its content is unknown or outdated, so close it as it is and edit it afterwards.
 */
export type Flowing = 'append' | 'close' | 'end'

/** How an open stream gets to show a slot. Undefined if no stream is open. Pure. */
export function flowingOf(
  { stream, isUnsure }: Entry,
  { bubble, flow, isGrowing }: Slot,
  openSince: number | undefined,
): Flowing | undefined {
  if (!stream) return undefined
  if (openSince === undefined || isUnsure) return 'end'
  const isMore = hashOf(bubble.text.slice(0, stream.length)) === stream.hash
  if (!isMore) return 'end'
  return flow && isGrowing && stream.openedAt > openSince ? 'append' : 'close'
}

/** Whether there is something to add to an open stream, or a reason to close it. */
export function flows({ stream }: Entry, { flow, isGrowing }: Slot, openSince: number | undefined): boolean {
  if (!stream) return false
  if (!flow || !isGrowing || openSince === undefined || stream.openedAt <= openSince) return true
  return flow.tasks.length > 0 || flow.plan !== stream.plan
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
  return { ...ledger, told: [...ledger.told, ...flow.tasks.map(toldAs)] }
}
