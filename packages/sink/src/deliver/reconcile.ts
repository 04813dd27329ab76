import type { Slot } from '../layout/slot.ts'
import type { CardType } from '../ledger/card.ts'
import { indexOf } from '../ledger/keys.ts'
import { type Entry, isThere, type Ledger } from '../ledger/ledger.ts'
import { type Flowing, flowingOf, flows } from './streaming.ts'

/** How urgent an operation is. Under a tight budget the last ones wait first. */
export type Priority = 'final' | 'ask' | 'text' | 'status'

/** One difference between what the chat shows and what it should show. */
export type Operation =
  | { readonly type: 'post'; readonly slot: Slot; readonly isLoud: boolean; readonly priority: Priority }
  | {
      readonly type: 'edit'
      readonly slot: Slot
      readonly entry: Entry
      readonly priority: Priority
      /** Set if the message is an open stream. */
      readonly flowing?: Flowing | undefined
    }
  | { readonly type: 'remove'; readonly entry: Entry; readonly priority: Priority }
  | { readonly type: 'preview'; readonly slot: Slot; readonly priority: Priority }

export interface ReconcileOptions {
  readonly isSettled: boolean
  readonly canEdit: boolean
  readonly canRemove: boolean
  /** Growing text is previewed, and posted when it is complete. */
  readonly isPreviewing: boolean
  /** Streams opened before this time, in ms since the epoch, are closed. Undefined: no streaming. */
  readonly openSince?: number | undefined
  /** Whether an ask can wait for this many posts that belong above it. Default: yes. */
  readonly hasTimeFor?: ((posts: number) => boolean) | undefined
}

/**
 * The operations that bring the screen up to date, most valuable first; each can be done next. Empty when nothing
 * differs. Pure.
 */
export function reconcile(ledger: Ledger, slots: readonly Slot[], options: ReconcileOptions): readonly Operation[] {
  const known = new Map(ledger.entries.map((entry) => [entry.key, entry]))
  const operations: Operation[] = []
  const lacking = lackingOf(ledger, slots)
  const ask = lacking.findIndex(isWaitingAsk)
  // Posts keep their order: an urgent post makes those before it as urgent, unless that takes too long.
  const missing = lacking[ask > 0 && options.hasTimeFor?.(ask) === false ? ask : 0]
  const urgency = lacking.map((slot) => postPriority(slot, options)).toSorted((a, b) => order[a] - order[b])[0]
  // Any message ends a preview, so previewed text is posted before it.
  const isPreviewed = options.isPreviewing && missing !== undefined && isPreview(missing) && lacking.every(isPreview)
  if (missing && urgency && !isPreviewed) operations.push({ ...postOf(ledger, missing, options), priority: urgency })
  else if (missing) operations.push({ type: 'preview', slot: missing, priority: 'text' })
  if (options.canEdit) {
    for (const slot of slots) {
      const entry = known.get(slot.key)
      if (!entry || !(needsEdit(entry, slot) || (isEditable(entry) && flows(entry, slot, options.openSince)))) continue
      const flowing = flowingOf(entry, slot, options.openSince)
      operations.push({ type: 'edit', slot, entry, flowing, priority: editPriority(entry, slot, options) })
    }
  }
  const taken = operations.map((operation) => (operation.type === 'edit' ? operation.entry.key : undefined))
  operations.push(...surplusOf(ledger, slots, options).filter(({ entry }) => !taken.includes(entry.key)))
  return operations.toSorted((a, b) => rankOf(a) - rankOf(b))
}

const order: Readonly<Record<Priority, number>> = { ask: 0, final: 1, text: 2, status: 3 }

/** Slots that still need a message, in the order of the chat. */
function lackingOf(ledger: Ledger, slots: readonly Slot[]): readonly Slot[] {
  const known = new Map(ledger.entries.map((entry) => [entry.key, entry]))
  return slots.filter((slot) => !isDone(known.get(slot.key), slot))
}

/** The first missing message of an ask that a person waits for. */
export function waitingAsk(ledger: Ledger, slots: readonly Slot[]): Slot | undefined {
  return lackingOf(ledger, slots).find(isWaitingAsk)
}

function isWaitingAsk({ card }: Slot): boolean {
  return card.type === 'ask' && card.isPending
}

/** Edits of earlier text come before new posts below it; a todo list can wait for both. */
function rankOf(operation: Operation): number {
  const { type, priority } = operation
  // A missing ask comes before edits of those that are shown.
  if (type === 'post' && priority === 'ask') return order.ask - 1
  if (type !== 'edit') return order[priority] + 0.5
  return order[priority] + (operation.slot.card.type === 'todos' ? 0.75 : 0)
}

/** It has a message, or will never have one. */
function isDone(entry: Entry | undefined, slot: Slot): boolean {
  if (!entry || entry.state === 'intent') return false
  // A person removed it while it grew, so it is posted again.
  return !(entry.state === 'gone' && slot.card.type === 'answer' && entry.body !== slot.body && isLastOf(slot))
}

function isLastOf(slot: Slot): boolean {
  return slot.isGrowing || slot.isLast === true
}

function isPreview(slot: Slot): boolean {
  return slot.isGrowing || slot.card.type === 'status'
}

/** The first text takes over the status message, if nothing was posted below that. */
function postOf(ledger: Ledger, slot: Slot, options: ReconcileOptions): Operation {
  const priority = postPriority(slot, options)
  const status = ledger.entries.at(-1)
  const takes =
    slot.card.type === 'answer' &&
    options.canEdit &&
    !isStreamed(slot) &&
    status?.key === 'status' &&
    status.state === 'shown' &&
    // A status that was posted again under its id may stand where it first stood.
    status.tries === 1
  const isLoud = isLoudIn(slot, options)
  // A post that should notify needs its own message, if the status can be removed.
  if (takes && status.ref && !status.isFixed && !(isLoud && options.canRemove))
    return { type: 'edit', slot, entry: status, priority }
  return { type: 'post', slot, isLoud, priority }
}

/** Of an answer's messages, only the last notifies. */
function isLoudIn({ card, isLast }: Slot, { isSettled }: ReconcileOptions): boolean {
  // Of an ask's messages, only the one with the buttons notifies.
  if (card.type === 'ask') return card.isPending && isLast !== false
  if (card.type === 'ending') return card.isFailure || isSettled
  return card.type === 'answer' && isSettled && isLast === true
}

function postPriority({ card }: Slot, { isSettled }: ReconcileOptions): Priority {
  if (card.type === 'ask') return 'ask'
  if (card.type === 'status' || card.type === 'todos') return 'status'
  return isSettled ? 'final' : 'text'
}

function editPriority(entry: Entry, slot: Slot, { isSettled }: ReconcileOptions): Priority {
  if (slot.card.type === 'ask') return 'ask'
  if (slot.card.type === 'status' || slot.card.type === 'todos') return isSettled ? 'final' : 'status'
  if (isSettled) return 'final'
  return entry.body === slot.body && !entry.stream ? 'status' : 'text'
}

/** Whether posting this slot opens a stream. */
export function isStreamed({ flow, isGrowing }: Slot): boolean {
  return flow !== undefined && isGrowing
}

function isEditable({ state, ref, isFixed }: Entry): boolean {
  return state === 'shown' && ref !== undefined && !isFixed
}

function needsEdit(entry: Entry, slot: Slot): boolean {
  if (!isEditable(entry) || slot.file) return false
  return entry.whole !== slot.whole || entry.isUnsure === true
}

const leftAlone: ReadonlySet<CardType> = new Set([
  'notice',
  'heartbeat',
  'note',
  'file',
  'ending',
  'ask',
  'todos',
  'reasoning',
])

/** Messages that show nothing wanted any more: a status, or pieces of a text that became shorter. */
function surplusOf(
  ledger: Ledger,
  slots: readonly Slot[],
  { canEdit, canRemove, isSettled }: ReconcileOptions,
): readonly Extract<Operation, { type: 'remove' }>[] {
  if (!canEdit) return []
  const wanted = new Set(slots.map(({ key }) => key))
  const ends = new Map(slots.map(({ card, key }) => [card.key, indexOf(key)]))
  const surplus = ledger.entries.filter((entry) => {
    if (entry.state !== 'shown' || !entry.ref || wanted.has(entry.key) || leftAlone.has(entry.type)) return false
    const end = ends.get(entry.card)
    // If the whole text was taken back, everything that can be removed is removed.
    return end === undefined ? canRemove || !entry.isFixed : indexOf(entry.key) > end && !entry.isFixed
  })
  return surplus.map((entry) => ({ type: 'remove', entry, priority: isSettled ? 'final' : 'text' }))
}

/** What a reply left in the chat when it ended. */
export interface Delivery {
  /** Messages on the screen. */
  readonly shown: number
  /** Messages that are not there, and why. Empty when all are. */
  readonly undelivered: readonly { readonly key: string; readonly reason: string }[]
  /** Messages that may be there twice or not at all: the platform did not confirm the post. */
  readonly doubtful: number
  /** Calls to the port, of all kinds. */
  readonly calls: number
  /** How many of them were rate-limited. */
  readonly rateLimited: number
}

/** Messages that should stay but are missing or outdated. A status does not count. */
export function missingIn(ledger: Ledger, slots: readonly Slot[]): readonly string[] {
  const known = new Map(ledger.entries.map((entry) => [entry.key, entry]))
  const missing = slots.filter((slot) => {
    const entry = known.get(slot.key)
    const isOld = entry !== undefined && needsEdit(entry, slot) && entry.body !== slot.body
    return slot.card.type !== 'status' && (isOld || !isDone(entry, slot))
  })
  return missing.map(({ key }) => key)
}

/** `missing`: messages that were not shown before the sink stopped. */
export function deliveryOf(ledger: Ledger, missing: readonly string[] = []): Delivery {
  const failed = ledger.entries.filter(({ state, type }) => state === 'failed' && type !== 'status')
  return {
    shown: ledger.entries.filter((entry) => isThere(entry) && entry.state !== 'doubtful').length,
    undelivered: [
      ...failed.map(({ key, reason = '' }) => ({ key, reason })),
      ...missing.map((key) => ({ key, reason: 'The sink was stopped before showing it.' })),
    ],
    doubtful: ledger.doubtful + ledger.entries.filter(({ state }) => state === 'intent').length,
    calls: ledger.calls,
    rateLimited: ledger.rateLimited,
  }
}
