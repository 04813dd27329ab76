import type { Slot } from '../layout/slot.ts'
import type { CardType } from '../ledger/card.ts'
import { isNewest, withChanged, withoutEntry } from '../ledger/change.ts'
import { asGone, asReplaced, type FailedEntry, type IntentEntry, isEditable, type ShownEntry } from '../ledger/entry.ts'
import { statusKey } from '../ledger/keys.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Limits } from '../port/limits.ts'
import type { ChannelPort } from '../port/port.ts'
import { FileRefusal, type PortError } from '../port/port-error.ts'
import type { Edit, LookUp, Operation, Post, Remove } from './operation.ts'
import type { Performed } from './perform.ts'
import {
  asUnclear,
  isWorthAnotherTry,
  openIntentOf,
  withDoubt,
  withEdited,
  withEmptied,
  withLookUp,
  withoutLastTry,
  withPosted,
  withResult,
  withUnsureIntent,
} from './transitions.ts'

/**
 * Records a call that the platform confirmed. A port that can't remove messages has emptied the message instead. Returns the
 * same ledger for a preview, and for a post without a `ref`. Pure.
 */
export function withSuccess(
  ledger: Ledger,
  operation: Operation,
  { ref, found = { type: 'unknown' } }: Performed,
  { at, port }: { readonly at: number; readonly port: Pick<ChannelPort, 'remove' | 'limits'> },
): Ledger {
  switch (operation.type) {
    case 'post':
      return ref ? withPosted(ledger, operation, { ref, at, keyMs: port.limits.keyMs }) : ledger
    case 'edit':
      return withEdited(ledger, operation)
    case 'remove':
      return port.remove ? withoutEntry(ledger, operation.entry) : withEmptied(ledger, operation.entry)
    case 'look-up':
      return withLookUp(ledger, operation, found)
    case 'preview':
      return ledger
    default:
      return operation satisfies never
  }
}

/** A failed call, and how the port can resolve an unknown result. */
export interface FailedCall {
  readonly operation: Operation
  readonly error: PortError
  readonly at: number
  readonly isIdempotent: boolean
  /** The port can look for a post. */
  readonly canLookUp: boolean
}

/** Records a failed call: what is now known of the chat, and whether to retry. Pure. */
export function withFailure(ledger: Ledger, call: FailedCall): Ledger {
  const { operation, error } = call
  switch (operation.type) {
    case 'post':
      return withFailedPost(ledger, operation, call)
    case 'edit':
      return withFailedEdit(ledger, operation, error)
    case 'remove':
      return withFailedRemoval(ledger, operation, error)
    case 'preview':
      return ledger
    case 'look-up':
      return withFailedLookUp(ledger, operation, error)
    default:
      return operation satisfies never
  }
}

/** Records that the files of a post can't be read, so that nothing is posted. `begun` has the post's intent. Pure. */
export function withUnread(begun: Ledger, { slot }: Post, error: FileRefusal, at: number): Ledger {
  const intent = openIntentOf(begun, slot)
  return intent ? withGivenUpPost(begun, intent, { error, at }) : begun
}

/** Whether the operation was refused while its text grows. It is then tried again once the text has changed. */
export function isRetriedWithMoreText(operation: Operation, { type }: PortError): operation is Post | Edit {
  if (type !== 'refused' || (operation.type !== 'post' && operation.type !== 'edit')) return false
  return operation.slot.isGrowing
}

/**
 * Drops the intent of a post that surely failed and can be tried again, marks it as failed if a retry can't help, and
 * keeps it if the result is unknown. After `too-long` and `unparsable` the next try is easier. An unknown result counts as
 * doubtful if a retry could duplicate the post, and leaves an entry in doubt after the last try.
 */
function withFailedPost(ledger: Ledger, operation: Post, { error, at, isIdempotent, canLookUp }: FailedCall): Ledger {
  const { slot } = operation
  const intent = openIntentOf(ledger, slot)
  if (!intent) return ledger
  if (isRetriedWithMoreText(operation, error)) return withoutLastTry(ledger, intent)
  switch (error.type) {
    case 'rate-limited':
    case 'unreachable':
      return withoutLastTry(ledger, intent)
    case 'too-long':
    case 'unparsable': {
      const easier = easierText(ledger, slot, error)
      return easier ? { ...withoutLastTry(ledger, intent), ...easier } : withGivenUpPost(ledger, intent, { error, at })
    }
    case 'refused':
    case 'gone':
    case 'fixed':
      return withGivenUpPost(ledger, intent, { error, at })
    case 'ambiguous': {
      // A retry with the same id cannot duplicate the post, and a look-up finds it, so the intent stays.
      if (isIdempotent || canLookUp) return withUnsureIntent(ledger, intent)
      const counted = withOneMoreDoubtful(ledger)
      const unclear = asUnclear(intent)
      return isWorthAnotherTry(intent) ? withChanged(counted, intent, unclear) : withDoubt(counted, { ...unclear, at })
    }
    default:
      return error.type satisfies never
  }
}

/**
 * Restores the entry if the edit surely failed, and leaves it unsure if the result is unknown. A message that is gone
 * or refuses edits is marked as such. After `too-long` and `unparsable` the next try is easier, if that is possible. A stream
 * that takes no more text is closed, so that an edit follows.
 */
function withFailedEdit(ledger: Ledger, operation: Edit, error: PortError): Ledger {
  const { entry, slot } = operation
  if (endsStream(operation, error))
    return withChanged(ledger, entry, { ...entry, access: { type: 'closed-stream' }, isUnsure: true })
  // The edit was not applied, so the entry is as it was before.
  const before = withChanged(ledger, entry, entry)
  if (isRetriedWithMoreText(operation, error)) return before
  switch (error.type) {
    case 'rate-limited':
    case 'unreachable':
      return before
    case 'ambiguous':
      return ledger
    case 'gone':
      return withChanged(ledger, entry, asGone(entry))
    case 'refused':
    case 'fixed':
      return withFixed(before, entry)
    case 'too-long':
    case 'unparsable': {
      const easier = easierText(ledger, slot, error)
      return easier ? { ...before, ...easier } : withFixed(before, entry)
    }
    default:
      return error.type satisfies never
  }
}

/**
 * Records a failed removal. Keeps the entry for another try, or marks it as fixed if the platform refused. Drops an entry
 * whose message is gone already.
 */
function withFailedRemoval(ledger: Ledger, { entry }: Remove, { type }: PortError): Ledger {
  switch (type) {
    case 'rate-limited':
    case 'unreachable':
    case 'ambiguous':
      return ledger
    case 'gone':
      return withoutEntry(ledger, entry)
    case 'refused':
    case 'fixed':
    case 'too-long':
    case 'unparsable':
      return withFixed(ledger, entry)
    default:
      return type satisfies never
  }
}

/**
 * Records a failed look-up. Keeps the intent for another one. If the platform refused the call, the result of the post stays
 * unknown.
 */
function withFailedLookUp(ledger: Ledger, operation: LookUp, { type }: PortError): Ledger {
  if (type === 'rate-limited' || type === 'unreachable' || type === 'ambiguous') return ledger
  // The platform refused the look-up, so the result stays unknown.
  return withLookUp(ledger, operation, { type: 'unknown' })
}

/** Whether the platform accepts no more text for this stream, so an edit has to show it. */
function endsStream({ streamChange }: Edit, { type }: PortError): boolean {
  if (streamChange !== 'append' && streamChange !== 'close') return false
  return type === 'fixed' || type === 'refused' || type === 'too-long' || type === 'unparsable'
}

/** Marks the post as failed for good. It counts as doubtful if an earlier try may have succeeded. */
function withGivenUpPost(
  ledger: Ledger,
  intent: IntentEntry,
  { error, at }: { readonly error: PortError; readonly at: number },
): Ledger {
  const after = withResult(ledger, intent, {
    ...intent,
    state: 'failed',
    at,
    reason: error.message,
    failure: error.type,
    ...(error instanceof FileRefusal && { isForPeople: true }),
  })
  return intent.tries > 1 ? withOneMoreDoubtful(after) : after
}

/**
 * Returns what to change before the next try: no markup, or less text. Each try cuts a text that is too long further.
 * Undefined if nothing is left to change.
 */
function easierText(ledger: Ledger, slot: Slot, { type }: PortError): Pick<Ledger, 'plain' | 'caps'> | undefined {
  const { plain, caps } = ledger
  const { key } = slot.card
  if (type === 'unparsable') return plain.includes(key) ? undefined : { plain: [...plain, key], caps }
  const { length } = slot.bubble
  const most = Math.floor((Math.min(length, caps[key]?.most ?? length) * 3) / 4)
  // A file cannot be cut shorter.
  if (most < 1 || slot.file || slot.attachments) return undefined
  // The text before this position already fits.
  const from = slot.piece?.from ?? 0
  return { plain, caps: { ...caps, [key]: { most, from } } }
}

/**
 * Records that the message can no longer be edited. If it may keep an older text for good (`newest-or-older`), its text is
 * posted again below it if it is the newest message, and else counts as undelivered. Such a message, and one whose text is
 * unsure, counts as doubtful.
 */
export function withFixed(ledger: Ledger, entry: ShownEntry): Ledger {
  if (entry.content.type === 'newest-or-older') return withOneMoreDoubtful(withOlderText(ledger, entry))
  const next = withChanged(ledger, entry, { ...entry, access: { type: 'fixed' } })
  return entry.isUnsure ? withOneMoreDoubtful(next) : next
}

/**
 * Records that the message may keep an older text for good. If it is the newest message, the text is posted again below
 * it. Otherwise its entry is marked as failed.
 */
function withOlderText(ledger: Ledger, entry: ShownEntry): Ledger {
  if (isNewest(ledger, entry)) return withEmptied(ledger, entry)
  const { ref, access, isUnsure, ...fields } = entry
  const reason = 'It may show an older text and can no longer be edited.'
  const failed: FailedEntry = { ...fields, state: 'failed', reason, failure: 'fixed', olderRef: ref }
  return withChanged(ledger, entry, failed)
}

/** Counts one more post that may be in the chat twice or not at all. */
function withOneMoreDoubtful(ledger: Ledger): Ledger {
  return { ...ledger, doubtful: ledger.doubtful + 1 }
}

/**
 * Records which messages are too old to edit, because platforms may accept such an edit without showing it. A status that is
 * too old makes room for a new message. Returns the same object if there are none.
 */
export function withExpired(
  ledger: Ledger,
  { now, limits }: { readonly now: number; readonly limits: Windows },
): Ledger {
  const old = ledger.entries
    .filter(isEditable)
    .filter(({ at, since = at, type }) => now - since >= editWindowOf(type, limits))
  return old.reduce(
    (next, entry) => (entry.key === statusKey ? withRetiredStatus(next, entry) : withFixed(next, entry)),
    ledger,
  )
}

type Windows = Pick<Limits, 'editWindowMs' | 'growWindowMs'>

/** Returns how long messages of this type are edited after their post, in ms. Infinity if the platform has no limit. */
function editWindowOf(type: CardType, { editWindowMs = Number.POSITIVE_INFINITY, growWindowMs }: Windows): number {
  return type === 'ask' || growWindowMs === undefined ? editWindowMs : Math.min(editWindowMs, growWindowMs)
}

/** Frees the key of an old status, so that a new message replaces it. */
function withRetiredStatus(ledger: Ledger, entry: ShownEntry): Ledger {
  return withChanged(ledger, entry, asReplaced({ ...entry, access: { type: 'fixed' } }))
}
