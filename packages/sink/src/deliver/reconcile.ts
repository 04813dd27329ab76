import type { Slot } from '../layout/slot.ts'
import type { CardType } from '../ledger/card.ts'
import { type Entry, type IntentEntry, isEditable, type ShownEntry } from '../ledger/entry.ts'
import { messageIndex, statusKey } from '../ledger/keys.ts'
import { entriesByKey, entryAt, type Ledger } from '../ledger/ledger.ts'
import type { Edit, LookUp, Operation, Post, Priority, Remove } from './operation.ts'
import { flowingOf, flows, isStreamed } from './streaming.ts'
import { isAwaited, isWorthAnotherTry } from './transitions.ts'

export interface ReconcileOptions {
  readonly isSettled: boolean
  readonly canEdit: boolean
  readonly canRemove: boolean
  /** Posts can be silent. Default: they can. */
  readonly canBeSilent?: boolean | undefined
  /** Growing text is previewed, and posted when it is complete. */
  readonly isPreviewing: boolean
  /** Streams opened before this time, in ms since the epoch, are closed. Undefined: no streaming. */
  readonly openSince?: number | undefined
  /** The port can look for a post with an unknown result. */
  readonly canLookUp?: boolean | undefined
  /** Repeating a post gives the message that it made, if it made one. */
  readonly isIdempotent?: boolean | undefined
  /** Whether an ask can wait for this many posts that belong above it. Default: yes. */
  readonly hasTimeFor?: ((posts: number) => boolean) | undefined
  /** The reply has no texts, so those that are shown stay. Default: it has them. */
  readonly keepsText?: boolean | undefined
  /** Whether a growing text was refused the last time. An ask does not wait for it. Default: no. */
  readonly isRefused?: ((slot: Slot) => boolean) | undefined
}

/**
 * The operations that bring the screen up to date, most valuable first; each can be done next. Empty when nothing
 * differs. Pure.
 */
export function reconcile(ledger: Ledger, slots: readonly Slot[], options: ReconcileOptions): readonly Operation[] {
  const post = nextPost(ledger, slots, options)
  const edits = editsOf(ledger, slots, options)
  // A status message that the first text takes over stays.
  const isTakenOver = (entry: ShownEntry): boolean => post?.type === 'edit' && post.entry === entry
  const removals = unwantedIn(ledger, slots, options).filter((entry) => !isTakenOver(entry))
  const priority = options.isSettled ? 'final' : 'text'
  const operations: readonly Operation[] = [
    ...(post ? [post] : []),
    ...edits,
    ...strayPosts(ledger, slots, options),
    ...removals.map((entry): Remove => ({ type: 'remove', entry, priority })),
  ]
  return operations.toSorted((a, b) => rankOf(a) - rankOf(b))
}

/** How the first missing message gets on the screen. Undefined if none is missing. */
function nextPost(ledger: Ledger, slots: readonly Slot[], options: ReconcileOptions): Operation | undefined {
  const missing = missingSlots(ledger, slots)
  const ask = missing.findIndex(isWaitingAsk)
  // Posts keep their order: an urgent post makes those before it as urgent, unless that takes too long.
  const isTooLate = options.hasTimeFor?.(ask) === false || missing.slice(0, 1).some((one) => options.isRefused?.(one))
  const slot = missing[ask > 0 && isTooLate ? ask : 0]
  const [urgency] = missing.map((one) => postPriority(one, options)).toSorted((a, b) => order[a] - order[b])
  if (!slot || !urgency) return undefined
  // Any message ends a preview, so previewed text is posted before it.
  if (options.isPreviewing && missing.every(isPreview)) return { type: 'preview', slot, priority: 'text' }
  const entry = entryAt(ledger, slot.key)
  if (entry && isToLookUp(entry, options)) return { type: 'look-up', entry, isWanted: true, priority: urgency }
  return { ...postOf(ledger, slot, options), priority: urgency }
}

/** Posts that may be in the chat although they are no longer wanted. */
function strayPosts(ledger: Ledger, slots: readonly Slot[], options: ReconcileOptions): readonly LookUp[] {
  const wanted = new Set(slots.map(({ key }) => key))
  const priority = options.isSettled ? 'final' : 'status'
  return ledger.entries.flatMap((entry): readonly LookUp[] => {
    const isFound = options.isIdempotent && options.canRemove && isRemovable[entry.type]
    if (!isToLookUp(entry, { canLookUp: options.canLookUp || isFound }) || wanted.has(entry.key)) return []
    return [{ type: 'look-up', entry, isWanted: false, priority }]
  })
}

function isToLookUp(entry: Entry, { canLookUp }: Pick<ReconcileOptions, 'canLookUp'>): entry is IntentEntry {
  return canLookUp === true && entry.state === 'intent' && entry.unsureSince !== undefined
}

function editsOf(ledger: Ledger, slots: readonly Slot[], options: ReconcileOptions): readonly Edit[] {
  if (!options.canEdit) return []
  const known = entriesByKey(ledger)
  return slots.flatMap((slot): readonly Edit[] => {
    const entry = known.get(slot.key)
    if (!entry || !isEditable(entry)) return []
    if (!needsEdit(entry, slot) && !flows(entry, slot, options.openSince)) return []
    const flowing = flowingOf(entry, slot, options.openSince)
    return [{ type: 'edit', slot, entry, flowing, priority: editPriority(entry, slot, options) }]
  })
}

const order: Readonly<Record<Priority, number>> = { ask: 0, final: 1, text: 2, status: 3 }

/** Slots that still need a message, in the order of the chat. */
function missingSlots(ledger: Ledger, slots: readonly Slot[]): readonly Slot[] {
  const known = entriesByKey(ledger)
  return slots.filter((slot) => !isDone(known.get(slot.key), slot))
}

/** The first missing message of an ask that a person waits for. */
export function waitingAsk(ledger: Ledger, slots: readonly Slot[]): Slot | undefined {
  return missingSlots(ledger, slots).find(isWaitingAsk)
}

function isWaitingAsk({ card }: Slot): boolean {
  return card.type === 'ask' && card.isPending
}

/** Edits of earlier text come before new posts below it; a todo list can wait for both. */
function rankOf(operation: Operation): number {
  const { type, priority } = operation
  // A missing ask comes before edits of those that are shown.
  if ((type === 'post' || type === 'look-up') && priority === 'ask') return order.ask - 1
  if (type !== 'edit') return order[priority] + 0.5
  return order[priority] + (operation.slot.card.type === 'todos' ? 0.75 : 0)
}

/** It has a message, or will never have one. */
export function isDone(entry: Entry | undefined, slot: Slot): boolean {
  if (!entry || entry.state === 'intent') return false
  if (isWrongDoubt(entry, slot)) return false
  // A person removed it while it grew, so it is posted again.
  return !(entry.state === 'gone' && slot.card.type === 'answer' && entry.content.body !== slot.body && isLastOf(slot))
}

/**
 * It may show a text that was tried, and certainly not the one that it should show now: that one is posted. A text that
 * still grows would leave a copy of each of its lengths, so it waits for its end.
 */
function isWrongDoubt(entry: Entry, slot: Slot): boolean {
  if (entry.state !== 'doubtful' || !isAwaited(entry) || slot.isGrowing || slot.isKept) return false
  return entry.content.body !== slot.body || isWorthAnotherTry(entry)
}

function isLastOf(slot: Slot): boolean {
  return slot.isGrowing || slot.isLast === true
}

function isPreview(slot: Slot): boolean {
  return slot.isGrowing || slot.card.type === 'status'
}

/** The first text takes over the status message, if nothing was posted below that. */
function postOf(ledger: Ledger, slot: Slot, options: ReconcileOptions): Post | Edit {
  const priority = postPriority(slot, options)
  const isLoud = isLoudIn(slot, options)
  const status = statusAtEnd(ledger)
  const canTakeOver = slot.card.type === 'answer' && options.canEdit && !isStreamed(slot)
  // A post that should notify needs its own message, if the status can be removed. Where each post notifies, the status did.
  const isHeard = isLoud && options.canRemove && options.canBeSilent !== false
  if (status && canTakeOver && !isHeard) return { type: 'edit', slot, entry: status, priority }
  return { type: 'post', slot, isLoud, priority }
}

/** The status message, if it is the last one and can be edited. */
function statusAtEnd({ entries }: Ledger): ShownEntry | undefined {
  const last = entries.at(-1)
  if (!last || last.key !== statusKey || last.isReplaced || !isEditable(last)) return undefined
  // A status that was posted again under its id may stand where it first stood.
  return last.tries === 1 ? last : undefined
}

/** Of an answer's messages, only the last notifies. */
function isLoudIn({ card, isLast }: Slot, { isSettled }: ReconcileOptions): boolean {
  // Of an ask's messages, only the one with the buttons notifies.
  if (card.type === 'ask') return card.isPending && isLast !== false
  if (card.type === 'ending') return card.isFailure || isSettled
  return card.type === 'answer' && isSettled && isLast === true && !card.isSilent
}

function postPriority({ card }: Slot, { isSettled }: ReconcileOptions): Priority {
  if (card.type === 'ask') return 'ask'
  if (card.type === 'status' || card.type === 'todos') return 'status'
  return isSettled ? 'final' : 'text'
}

function editPriority(entry: ShownEntry, slot: Slot, { isSettled }: ReconcileOptions): Priority {
  if (slot.card.type === 'ask') return 'ask'
  if (slot.card.type === 'status' || slot.card.type === 'todos') return isSettled ? 'final' : 'status'
  if (isSettled) return 'final'
  return entry.content.body === slot.body && entry.access.type !== 'open-stream' ? 'status' : 'text'
}

export function needsEdit({ content, isUnsure }: ShownEntry, slot: Slot): boolean {
  if (slot.file || slot.isKept) return false
  return isUnsure === true || content.type !== 'known' || content.whole !== slot.whole
}

/** Whether the messages of a card are removed once they are no longer wanted. Others stay as a record. */
const isRemovable: Readonly<Record<CardType, boolean>> = {
  answer: true,
  status: true,
  ask: false,
  notice: false,
  heartbeat: false,
  note: false,
  todos: false,
  reasoning: false,
  file: false,
  ending: false,
}

/** Messages that show nothing wanted any more: a status, or pieces of a text that became shorter. */
function unwantedIn(
  ledger: Ledger,
  slots: readonly Slot[],
  { canEdit, canRemove, keepsText }: ReconcileOptions,
): readonly ShownEntry[] {
  if (!canEdit) return []
  const wanted = new Set(slots.map(({ key }) => key))
  const lastIndex = new Map(slots.map(({ card, key }) => [card.key, messageIndex(key)]))
  const shown = ledger.entries.filter((entry) => entry.state === 'shown')
  return shown.filter((entry) => {
    if (!isRemovable[entry.type] || (keepsText && entry.type === 'answer')) return false
    // A replaced message was given up, whatever its card shows now.
    const last = entry.isReplaced ? undefined : lastIndex.get(entry.card)
    if (last === undefined) return canRemove || isEditable(entry)
    // If the whole text was taken back, everything that can be removed is removed.
    return !wanted.has(entry.key) && messageIndex(entry.key) > last && isEditable(entry)
  })
}
