import type { Slot } from './layout.ts'
import { type Entry, hashOf, type Ledger, type Sent } from './ledger.ts'
import type { AppendStream, StreamPiece, Task } from './port.ts'

/** What a stream is told beside the text. */
export interface Flow {
  /** What was not told yet. */
  readonly tasks: readonly Task[]
  readonly plan?: string | undefined
}

/**
 * - `append`: more is added.
 * - `close`: the last is added.
 * - `end`: nobody knows what it shows, or it shows something else: it is closed as it is, and edited then.
 */
export type Flowing = 'append' | 'close' | 'end'

/** How an open stream comes to show a slot. Undefined where none is open. Pure. */
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

/** Whether it has something to say to an open stream, or to end it. */
export function flows({ stream }: Entry, { flow, isGrowing }: Slot, openSince: number | undefined): boolean {
  if (!stream) return false
  if (!flow || !isGrowing || openSince === undefined || stream.openedAt <= openSince) return true
  return flow.tasks.length > 0 || flow.plan !== stream.plan
}

export function pieceOf({ bubble, flow }: Slot, sent?: Sent): StreamPiece {
  const { tasks = [], plan } = flow ?? {}
  return { text: bubble.text.slice(sent?.length ?? 0), tasks, ...(plan !== sent?.plan && { plan }) }
}

/** After an opening or an addition. */
export function sentOf({ bubble: { text }, flow }: Slot, openedAt: number): Sent {
  return { openedAt, length: text.length, hash: hashOf(text), plan: flow?.plan }
}

export function withTasks(ledger: Ledger, { flow }: Slot): Ledger {
  if (!flow || flow.tasks.length === 0) return ledger
  return { ...ledger, told: [...ledger.told, ...flow.tasks.map(toldAs)] }
}

/** As what it stands in the ledger. */
export function toldAs({ id, status }: Task): string {
  return `task:${id}:${status}`
}

/** So that a slice fits both a message and a stream: what a text takes, in the message's units. */
export function streamLength(text: string, { maxLength, measure }: AppendStream, most: number): number {
  return Math.ceil((measure(text) / maxLength) * most)
}
