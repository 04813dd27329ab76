import type { Slot } from '../layout/slot.ts'
import type { CardType } from '../ledger/card.ts'
import { type Entry, type IntentEntry, isEditable, type ShownEntry } from '../ledger/entry.ts'
import { messageIndex, statusKey } from '../ledger/keys.ts'
import { entriesByKey, entryAt, type Ledger } from '../ledger/ledger.ts'
import type { Edit, LookUp, Operation, Post, Priority, Remove } from './operation.ts'
import { needsStreamChange, opensStream, streamChangeFor } from './streaming.ts'
import { isAwaited, isWorthAnotherTry } from './transitions.ts'

/** What the port can do and what the reply needs, to decide on operations. */
export interface ReconcileFacts {
  readonly isSettled: boolean
  readonly canEdit: boolean
  readonly canRemove: boolean
  /** Whether posts can be silent. Default true. */
  readonly canBeSilent?: boolean | undefined
  /** Growing text is shown as a preview, and posted when it is complete. */
  readonly isPreviewing: boolean
  /** Streams opened before this time, in ms since the epoch, are closed. Undefined: no streaming. */
  readonly closeIfOpenedBy?: number | undefined
  /** Whether the port can look for a post with an unknown result. Default false. */
  readonly canLookUp?: boolean | undefined
  /** Whether repeating a post returns the message of the first try. Default false. */
  readonly isIdempotent?: boolean | undefined
  /** Whether an ask can wait for this many posts that belong above it. Default: it can. */
  readonly hasTimeFor?: ((posts: number) => boolean) | undefined
  /** Whether no post notifies. Default false. */
  readonly isQuiet?: boolean | undefined
  /** Whether shown texts stay although the reply no longer has them. Default false. */
  readonly keepsText?: boolean | undefined
  /** Whether a growing text was refused the last time. An ask does not wait for it. Default: never. */
  readonly isRefused?: ((slot: Slot) => boolean) | undefined
}

/**
 * Returns the operations that bring the chat up to date, most urgent first. Each can be performed next. Empty if nothing
 * differs. Pure.
 */
export function reconcile(ledger: Ledger, slots: readonly Slot[], facts: ReconcileFacts): readonly Operation[] {
  const post = nextPost(ledger, slots, facts)
  const edits = neededEdits(ledger, slots, facts)
  // A status message that becomes the first text stays.
  const isTakenOver = (entry: ShownEntry): boolean => post?.type === 'edit' && post.entry === entry
  const removals = obsoleteEntries(ledger, slots, facts).filter((entry) => !isTakenOver(entry))
  const priority = facts.isSettled ? 'final' : 'text'
  const operations: readonly Operation[] = [
    ...(post ? [post] : []),
    ...edits,
    ...strayLookUps(ledger, slots, facts),
    ...removals.map((entry): Remove => ({ type: 'remove', entry, priority })),
  ]
  return operations.toSorted((a, b) => rankOf(a) - rankOf(b))
}

/**
 * Returns the operation that shows the first missing message, or a pending ask if the messages before it would take too
 * long. That is a preview while only growing text and a status are missing, a look-up if the result of its post is unknown, or
 * else a post or take-over. Undefined if nothing is missing.
 */
function nextPost(ledger: Ledger, slots: readonly Slot[], facts: ReconcileFacts): Operation | undefined {
  const missing = missingSlots(ledger, slots)
  const ask = missing.findIndex(isWaitingAsk)
  // Posts keep their order, so an urgent post makes those before it as urgent, unless that takes too long.
  const isTooLate =
    facts.hasTimeFor?.(ask) === false ||
    // Reading and sending a file may take minutes.
    missing.slice(0, Math.max(0, ask)).some(({ attachments }) => attachments !== undefined) ||
    missing.slice(0, 1).some((one) => facts.isRefused?.(one))
  const slot = missing[ask > 0 && isTooLate ? ask : 0]
  const [urgency] = missing.map((one) => postPriority(one, facts)).toSorted((a, b) => order[a] - order[b])
  if (!slot || !urgency) return undefined
  // Any message ends a preview, so previewed text is posted before it.
  if (facts.isPreviewing && missing.every(isPreviewable)) return { type: 'preview', slot, priority: 'text' }
  const entry = entryAt(ledger, slot.key)
  if (entry && needsLookUp(entry, facts)) return { type: 'look-up', entry, isWanted: true, priority: urgency }
  return { ...postOrTakeOver(ledger, slot, facts), priority: urgency }
}

/** Returns look-ups of obsolete posts that may be in the chat. An idempotent port looks only for posts that it can remove. */
function strayLookUps(ledger: Ledger, slots: readonly Slot[], facts: ReconcileFacts): readonly LookUp[] {
  const wanted = new Set(slots.map(({ key }) => key))
  const priority = facts.isSettled ? 'final' : 'status'
  return ledger.entries.flatMap((entry): readonly LookUp[] => {
    const isFound = facts.isIdempotent && facts.canRemove && isRemovable[entry.type]
    if (!needsLookUp(entry, { canLookUp: facts.canLookUp || isFound }) || wanted.has(entry.key)) return []
    return [{ type: 'look-up', entry, isWanted: false, priority }]
  })
}

/** Whether the result of the entry's post is unknown and the port can look for it. */
function needsLookUp(entry: Entry, { canLookUp }: Pick<ReconcileFacts, 'canLookUp'>): entry is IntentEntry {
  return canLookUp === true && entry.state === 'intent' && entry.unsureSince !== undefined
}

/** Returns an edit for each shown message that differs from its slot. Empty if messages can't be edited. */
function neededEdits(ledger: Ledger, slots: readonly Slot[], facts: ReconcileFacts): readonly Edit[] {
  if (!facts.canEdit) return []
  const known = entriesByKey(ledger)
  return slots.flatMap((slot): readonly Edit[] => {
    const entry = known.get(slot.key)
    if (!entry || !isEditable(entry)) return []
    if (!needsEdit(entry, slot) && !needsStreamChange(entry, slot, facts.closeIfOpenedBy)) return []
    const streamChange = streamChangeFor(entry, slot, facts.closeIfOpenedBy)
    return [{ type: 'edit', slot, entry, streamChange, priority: editPriority(entry, slot, facts) }]
  })
}

const order: Readonly<Record<Priority, number>> = { ask: 0, final: 1, text: 2, status: 3 }

/** Returns slots that still need a message, in the order of the chat. */
function missingSlots(ledger: Ledger, slots: readonly Slot[]): readonly Slot[] {
  const known = entriesByKey(ledger)
  return slots.filter((slot) => !needsNoPost(known.get(slot.key), slot))
}

/** Returns the first missing message of a pending ask. */
export function waitingAsk(ledger: Ledger, slots: readonly Slot[]): Slot | undefined {
  return missingSlots(ledger, slots).find(isWaitingAsk)
}

/** Whether the slot belongs to a pending ask. */
function isWaitingAsk({ card }: Slot): boolean {
  return card.type === 'ask' && card.isPending
}

/**
 * Returns the position of an operation among others: smaller is earlier. Edits of earlier text precede new posts below
 * it. The checklist waits for both.
 */
function rankOf(operation: Operation): number {
  const { type, priority } = operation
  // A missing ask precedes edits of shown ones.
  if ((type === 'post' || type === 'look-up') && priority === 'ask') return order.ask - 1
  if (type !== 'edit') return order[priority] + 0.5
  return order[priority] + (operation.slot.card.type === 'todos' ? 0.75 : 0)
}

/**
 * Whether the slot needs no post: it has a message, or will never get one. False while its post has no result, for a doubtful
 * message that can't show the current text, and for an answer that a person removed while it grew.
 */
export function needsNoPost(entry: Entry | undefined, slot: Slot): boolean {
  if (!entry || entry.state === 'intent') return false
  if (isOutdatedDoubt(entry, slot)) return false
  // An answer that a person removed while it grew is posted again.
  return !(
    entry.state === 'gone' &&
    slot.card.type === 'answer' &&
    entry.content.body !== slot.body &&
    isLastOrGrowing(slot)
  )
}

/**
 * Whether a doubtful message can't show the current text, so that the text has to be posted. A growing text waits until it
 * is complete, or each of its versions could leave a copy.
 */
function isOutdatedDoubt(entry: Entry, slot: Slot): boolean {
  if (entry.state !== 'doubtful' || !isAwaited(entry) || slot.isGrowing || slot.isKept) return false
  return entry.content.body !== slot.body || isWorthAnotherTry(entry)
}

/** Whether the slot still grows, or is the last of its answer or ask. */
function isLastOrGrowing(slot: Slot): boolean {
  return slot.isGrowing || slot.isLast === true
}

/** Whether a preview can show the slot: growing text or a status. */
function isPreviewable(slot: Slot): boolean {
  return slot.isGrowing || slot.card.type === 'status'
}

/**
 * Returns the post of a slot. If the last message is the status, an answer's text takes it over by an edit instead, unless
 * the post should notify and the status can be removed, or the text opens a stream.
 */
function postOrTakeOver(ledger: Ledger, slot: Slot, facts: ReconcileFacts): Post | Edit {
  const priority = postPriority(slot, facts)
  const isLoud = isLoudIn(slot, facts)
  const status = statusAtEnd(ledger)
  const canTakeOver = slot.card.type === 'answer' && facts.canEdit && !opensStream(slot)
  // A post that should notify needs its own message if the status can be removed. If each post notifies, the status did.
  const needsPost = isLoud && facts.canRemove && facts.canBeSilent !== false
  if (status && canTakeOver && !needsPost) return { type: 'edit', slot, entry: status, priority }
  return { type: 'post', slot, isLoud, priority }
}

/**
 * Returns the status message for an answer's first text to take over: it must be the last one, posted in one try, and can be
 * edited. Undefined otherwise.
 */
function statusAtEnd({ entries }: Ledger): ShownEntry | undefined {
  const last = entries.at(-1)
  if (!last || last.key !== statusKey || last.isReplaced || !isEditable(last)) return undefined
  // A status that was posted again under its id may still be at its first position.
  return last.tries === 1 ? last : undefined
}

/**
 * Whether the post should notify: the message of a pending ask with the buttons, a failure, and in a settled reply its
 * ending and the last message of its answer, unless that answer is silent. False in a quiet chat.
 */
function isLoudIn({ card, isLast }: Slot, { isSettled, isQuiet }: ReconcileFacts): boolean {
  if (isQuiet) return false
  // Of an ask's messages, only the one with the buttons notifies.
  if (card.type === 'ask') return card.isPending && isLast !== false
  if (card.type === 'ending') return card.isFailure || isSettled
  return card.type === 'answer' && isSettled && isLast === true && !card.isSilent
}

/**
 * Returns the priority of a slot's post. A status and the checklist are the least urgent, and files are never `final`, also when
 * the reply has settled.
 */
function postPriority({ card }: Slot, { isSettled }: ReconcileFacts): Priority {
  if (card.type === 'ask') return 'ask'
  if (card.type === 'status' || card.type === 'todos') return 'status'
  // The texts of other replies go first.
  return isSettled && card.type !== 'attachment' ? 'final' : 'text'
}

/**
 * Returns the priority of an edit. Edits of a settled reply are `final`, except those of asks. Before that, a change that is
 * not in the text, for example of the status below it, is only a `status`.
 */
function editPriority(entry: ShownEntry, slot: Slot, { isSettled }: ReconcileFacts): Priority {
  if (slot.card.type === 'ask') return 'ask'
  if (slot.card.type === 'status' || slot.card.type === 'todos') return isSettled ? 'final' : 'status'
  if (isSettled) return 'final'
  return entry.content.body === slot.body && entry.access.type !== 'open-stream' ? 'status' : 'text'
}

/** Whether the message does not certainly show the slot. Always false for files and for messages that stay as they are. */
export function needsEdit({ content, isUnsure }: ShownEntry, slot: Slot): boolean {
  if (slot.file || slot.attachments || slot.isKept) return false
  return isUnsure === true || content.type !== 'known' || content.whole !== slot.whole
}

/** Whether obsolete messages of a card are removed. Others stay as a record. */
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
  attachment: false,
  ending: false,
}

/** Whether a message is removed, or emptied, once its key is another one's. */
export function isRemovedOnceReplaced(
  entry: Entry,
  { canEdit, canRemove }: Pick<ReconcileFacts, 'canEdit' | 'canRemove'>,
): boolean {
  return isRemovable[entry.type] && canEdit && (canRemove || isEditable(entry))
}

/**
 * Returns messages to remove: a status that is no longer wanted, replaced messages, and pieces of a text that became
 * shorter. Other types of cards stay. Empty if messages can't be edited.
 */
function obsoleteEntries(
  ledger: Ledger,
  slots: readonly Slot[],
  { canEdit, canRemove, keepsText }: ReconcileFacts,
): readonly ShownEntry[] {
  if (!canEdit) return []
  const facts = { canEdit, canRemove }
  const wanted = new Set(slots.map(({ key }) => key))
  const lastIndex = new Map(slots.map(({ card, key }) => [card.key, messageIndex(key)]))
  const shown = ledger.entries.filter((entry) => entry.state === 'shown')
  return shown.filter((entry) => {
    if (!isRemovable[entry.type] || (keepsText && entry.type === 'answer')) return false
    // A replaced message is obsolete, whatever its card shows now.
    const last = entry.isReplaced ? undefined : lastIndex.get(entry.card)
    if (last === undefined) return isRemovedOnceReplaced(entry, facts)
    // If the whole text was removed, everything that can be removed is removed.
    return !wanted.has(entry.key) && messageIndex(entry.key) > last && isEditable(entry)
  })
}
