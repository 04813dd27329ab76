import { secretHash } from '../asks/token.ts'
import type { Slot } from '../layout/slot.ts'
import type { CardType } from '../ledger/card.ts'
import { isSameMessage, withChanged, withoutEntry } from '../ledger/change.ts'
import {
  type Access,
  asGone,
  asReplaced,
  type Content,
  type DoubtfulEntry,
  type EntryFields,
  type FailedEntry,
  type IntentEntry,
  openStream,
  type Sent,
  type ShownEntry,
} from '../ledger/entry.ts'
import { entryAt, type Ledger } from '../ledger/ledger.ts'
import type { LookedUp, MessageRef } from '../port/port.ts'
import type { Edit, LookUp, Post } from './operation.ts'
import { sentStateOf, withReportedTasks } from './streaming.ts'

/*
 * Changes of the ledger before and after each call. All pure.
 *
 * - A post: `withIntent` before it, then `withPosted`, or `withFailure` in call-result.ts.
 * - An edit, or more text for a stream: `withEditStarted` before it, then `withEdited` or `withFailure`.
 * - A removal: `withoutEntry` or `withEmptied` after it, or `withFailure`.
 * - A post with an unknown result, also after a restart: `withUnsureIntent`, then `withLookUp`.
 */

/**
 * Records a post before it is made, so that a restart after a crash finds it. Replaces the slot's former entry. A post that
 * was tried before keeps its id, unless its text changed and can't be edited. Then the former try counts as doubtful.
 */
export function withIntent(
  ledger: Ledger,
  { slot, isLoud }: Post,
  { id, at, canEdit, kind }: Pick<IntentEntry, 'id' | 'at' | 'kind'> & { readonly canEdit: boolean },
): Ledger {
  const before = openIntentOf(ledger, slot)
  const isChanged = before !== undefined && !isShowing(before.content, slot)
  const knownID = ledger.ids[slot.key]
  // Under its old id the platform may have the old text, which only an edit can change. Without edits, use a new id.
  const isNewID = knownID === undefined || (isChanged && !canEdit)
  const intent: IntentEntry = {
    ...fieldsOf(slot),
    state: 'intent',
    id: isNewID ? id : knownID,
    tries: (before?.tries ?? 0) + 1,
    interrupted: before?.interrupted,
    unclear: before?.unclear,
    at,
    isLoud,
    content: isChanged && !isNewID ? { type: 'newest-or-older', body: slot.body } : knownContentOf(slot),
    // An earlier try, possibly of an earlier process, may have succeeded.
    secretHashes: oldAndNewHashes(before, slot),
    before: slot.card.before,
    files: slot.attachments?.map((one) => one.key),
    reported: slot.card.type === 'notice' ? slot.card.reported : undefined,
    unsureSince: before?.unsureSince,
    kind,
  }
  const former = entryAt(ledger, slot.key)
  const rest = former ? withoutEntry(ledger, former) : ledger
  return {
    ...rest,
    entries: [...rest.entries, intent],
    doubtful: ledger.doubtful + (knownID !== undefined && isNewID ? 1 : 0),
    ids: { ...ledger.ids, [slot.key]: intent.id },
  }
}

/**
 * Records that the platform accepted the post. A stream is then open. If the platform has forgotten the key of an
 * earlier try (`keyMs`, see `Limits`), that try may have left a copy and counts as doubtful. Returns the same ledger
 * without an intent of the slot.
 */
export function withPosted(
  before: Ledger,
  { slot }: Post,
  { ref, at, keyMs = Number.POSITIVE_INFINITY }: Acceptance & { readonly keyMs?: number | undefined },
): Ledger {
  const intent = openIntentOf(before, slot)
  if (!intent) return before
  // Each time that the platform has forgotten the key, a try may have made another message.
  const forgotten = Math.min(intent.tries - 1, Math.floor((at - (intent.unsureSince ?? at)) / keyMs))
  const ledger = forgotten > 0 ? { ...before, doubtful: before.doubtful + forgotten } : before
  const shown = shownEntry(intent, { ref, at })
  if (intent.kind !== 'stream') return withResult(ledger, intent, shown)
  // An earlier try may have succeeded, with less text.
  const isUnsure = intent.tries > 1 || undefined
  const access: Access = { type: 'open-stream', sent: sentStateOf(slot, at) }
  return withResult(withReportedTasks(ledger, slot), intent, { ...shown, access, isUnsure })
}

interface Acceptance {
  readonly ref: MessageRef
  readonly at: number
}

/** Returns the entry of an accepted post. */
export function shownEntry({ unsureSince: since, ...intent }: IntentEntry, { ref, at }: Acceptance): ShownEntry {
  return { ...intent, state: 'shown', ref, at, access: { type: 'editable' }, ...(since !== undefined && { since }) }
}

/** Records an edit before it is made, because the message may show either version until its result is known. */
export function withEditStarted(ledger: Ledger, { entry, slot }: Edit): Ledger {
  return withChanged(ledger, entry, { ...entry, isUnsure: true, secretHashes: oldAndNewHashes(entry, slot) })
}

/**
 * Records an accepted edit, or more text in a stream. Frees the slot's key if another message had it. For the stream change
 * `end` only records that the stream is closed with unknown content, so that an edit follows.
 */
export function withEdited(ledger: Ledger, operation: Edit): Ledger {
  const { slot, entry, streamChange } = operation
  if (streamChange === 'end')
    return withChanged(ledger, entry, { ...entry, access: { type: 'editable' }, isUnsure: true })
  const shown: ShownEntry = {
    ...entry,
    ...fieldsOf(slot),
    content: knownContentOf(slot),
    access: accessAfter(operation),
    // Keeps the old hashes, so that a late press on removed buttons is answered.
    secretHashes: secretHashesOf(slot) ?? entry.secretHashes,
    isUnsure: undefined,
  }
  const recorded = streamChange === undefined ? ledger : withReportedTasks(ledger, slot)
  const entries = recorded.entries.map((one) => {
    if (isSameMessage(one, entry)) return shown
    // The status message now shows a text whose own message a person had removed.
    return one.key === slot.key && !one.isReplaced ? asReplaced(one) : one
  })
  return { ...recorded, entries }
}

/**
 * Returns how the message can change after the edit. A stream stays open after `append`. After `close` the message is
 * editable, or a closed stream if its text goes on in another message. Otherwise unchanged.
 */
function accessAfter({ slot, entry, streamChange }: Edit): Access {
  const sent = openStream(entry)
  if (streamChange === 'append' && sent) return { type: 'open-stream', sent: sentStateOf(slot, sent.openedAt) }
  // Closed before its text ended: it reached the stream's maximum time.
  if (streamChange === 'close') return { type: slot.isGrowing ? 'closed-stream' : 'editable' }
  return entry.access
}

/**
 * Records that the message counts as removed although it stays on the screen, and frees its key, so that its content can be
 * posted again. For platforms without removal, and for a message that can no longer be edited.
 */
export function withEmptied(ledger: Ledger, entry: ShownEntry): Ledger {
  return withChanged(ledger, entry, asReplaced(asGone(entry)))
}

/**
 * Replaces the intent by the result of its post, and forgets the post's id. Also records where a card interrupts the answer's
 * text, the tool calls that a notice reports, and counts notices and heartbeats.
 */
export function withResult(
  ledger: Ledger,
  intent: IntentEntry,
  result: ShownEntry | DoubtfulEntry | FailedEntry,
): Ledger {
  const { [intent.key]: _, ...ids } = ledger.ids
  const { card, type, before, reported = [], at } = result
  const isBreak = before !== undefined && !ledger.breaks.some(({ key }) => key === card)
  return {
    ...withChanged(ledger, intent, result),
    ids,
    breaks: isBreak ? [...ledger.breaks, { key: card, before }] : ledger.breaks,
    ...(type === 'notice' && {
      reported: [...ledger.reported, ...reported],
      notices: ledger.notices + 1,
      noticeAt: at,
    }),
    ...(type === 'heartbeat' && { heartbeats: ledger.heartbeats + 1 }),
  }
}

/** Records that the post may be in the chat and is not tried again. */
export function withDoubt(ledger: Ledger, intent: IntentEntry): Ledger {
  return withResult(ledger, intent, { ...intent, state: 'doubtful' })
}

/** Returns the intent of the slot's post. Undefined if it was not tried, or has a result. */
export function openIntentOf(ledger: Ledger, { key }: Slot): IntentEntry | undefined {
  const entry = entryAt(ledger, key)
  return entry?.state === 'intent' ? entry : undefined
}

/**
 * Whether a post whose tries all had an unknown result is tried again. Tries that ended with their process say nothing about the
 * platform, so up to `mostInterrupted` of them don't count. Messages that are tried only once are not tried again after them either.
 */
export function isWorthAnotherTry({
  type,
  tries,
  interrupted = 0,
  unsent,
}: Pick<EntryFields, 'type' | 'tries' | 'interrupted' | 'unsent'>): boolean {
  const most = unsent ? mostTriesOf.attachment : mostTriesOf[type]
  return tries - (most > 1 ? Math.min(interrupted, mostInterrupted) : 0) < most
}

/** Whether people wait for the text of the message, so that a missing one must be reported. For files see `delivery.ts`. */
export function isAwaited({ type, unsent }: Pick<EntryFields, 'type' | 'unsent'>): boolean {
  return type === 'answer' || type === 'ending' || unsent !== undefined
}

/**
 * How often a message is tried in total while the result of its post stays unknown. Tries that certainly failed don't count, nor do
 * the first ones that were interrupted.
 *
 * - An answer is posted a second time when the platform responds again, so an outage loses nothing and duplicates at most
 *   one message. After that another copy is likelier than a loss, so the delivery lists the message instead.
 * - An ask has no limit, because the run waits for it and all copies have the same tokens.
 * - A file is tried twice. After that its code is shown as text, and the delivery lists files of the reply.
 * - So is a note in place of files, which are listed if it may be missing. Without it, no one knows that there were any.
 * - Everything else is tried once. It tells of the work, or of what other people wrote, and the answer is whole without it.
 */
const mostTriesOf: Readonly<Record<CardType, number>> = {
  answer: 2,
  ending: 2,
  ask: Number.POSITIVE_INFINITY,
  file: 2,
  attachment: 2,
  status: 1,
  notice: 1,
  heartbeat: 1,
  note: 1,
  todos: 1,
  reasoning: 1,
}

/** How many interrupted tries of a message don't count. Each may have left a copy, so there is a limit. */
const mostInterrupted = 3

/** Returns the fields that an entry copies from its slot. */
function fieldsOf(
  slot: Slot,
): Pick<
  EntryFields,
  'key' | 'card' | 'type' | 'piece' | 'part' | 'isAllowing' | 'isContinued' | 'secretHashes' | 'unsent'
> {
  const { key, card, piece, part, isAllowing, isContinued } = slot
  return {
    key,
    card: card.key,
    type: card.type,
    piece,
    part,
    isAllowing,
    isContinued,
    secretHashes: secretHashesOf(slot),
    unsent: card.type === 'note' ? card.unsent : undefined,
  }
}

/** Returns the hash of the secret that all tokens of a message share. Undefined without buttons and form. */
function secretHashesOf({ bubble: { buttons, form } }: Slot): readonly string[] | undefined {
  const token = buttons.flat()[0]?.data ?? form?.token
  return token === undefined ? undefined : [secretHash(token)]
}

/** Returns the hashes of the former message and of the slot, because people may press the buttons of either. */
function oldAndNewHashes(
  before: Pick<EntryFields, 'secretHashes'> | undefined,
  slot: Slot,
): EntryFields['secretHashes'] {
  const both = [...new Set([...(before?.secretHashes ?? []), ...(secretHashesOf(slot) ?? [])])]
  return both.length > 0 ? both : undefined
}

/** Returns the content of a message that certainly shows the slot. */
function knownContentOf({ body, whole }: Slot): Content {
  return { type: 'known', body, whole }
}

/** Whether the message certainly shows this slot. */
function isShowing(content: Content, { whole }: Slot): boolean {
  return content.type === 'known' && content.whole === whole
}

/** Records that the result of a post is unknown, and since when. */
export function withUnsureIntent(ledger: Ledger, intent: IntentEntry): Ledger {
  return withChanged(ledger, intent, { ...intent, unsureSince: intent.unsureSince ?? intent.at })
}

/**
 * Records the result of a look-up: the message is shown, can be posted again, or is doubtful. An obsolete message
 * (`isWanted` false) is not posted again.
 */
export function withLookUp(ledger: Ledger, { entry, isWanted }: LookUp, found: LookedUp): Ledger {
  const { unsureSince: _, ...intent } = entry
  switch (found.type) {
    case 'there': {
      const { ref } = found
      const shown = shownEntry(entry, { ref, at: ref.postedAt ?? entry.at })
      // A stream may still be open, and is then closed before an edit.
      const sent: Sent = { openedAt: shown.at, length: 0, hash: '' }
      const isStream = entry.kind === 'stream'
      return withResult(
        ledger,
        entry,
        isStream ? { ...shown, access: { type: 'open-stream', sent }, isUnsure: true } : shown,
      )
    }
    case 'absent':
      // Stays an intent, so that the text of a stream that did not open becomes a message.
      if (isWanted && entry.kind === 'stream' && entry.tries === 1)
        return withChanged(ledger, entry, withoutTry(intent))
      return withoutLastTry(ledger, intent)
    case 'unknown': {
      const counted = { ...ledger, doubtful: ledger.doubtful + 1 }
      const unclear = asUnclear(intent)
      return isWanted && isWorthAnotherTry(entry) ? withChanged(counted, entry, unclear) : withDoubt(counted, unclear)
    }
    default:
      return found satisfies never
  }
}

/** Records that the last try is certainly not in the chat. Drops the intent if it was the only try. */
export function withoutLastTry(ledger: Ledger, intent: IntentEntry): Ledger {
  // One of its earlier tries may have succeeded.
  if (intent.tries > 1) return withChanged(ledger, intent, withoutTry(intent))
  return withoutEntry(ledger, intent)
}

/** Returns the intent without its last try. If that one was interrupted, one less was. */
function withoutTry(intent: IntentEntry): IntentEntry {
  const { interrupted = 0, unclear = 0 } = intent
  const tries = intent.tries - 1
  return { ...intent, tries, interrupted: Math.max(0, Math.min(interrupted, tries - unclear)) }
}

/** Returns the intent after a try without a clear answer of the platform. An interrupted try stays one. */
export function asUnclear(intent: IntentEntry): IntentEntry {
  const { tries, interrupted = 0 } = intent
  return { ...intent, unclear: Math.max(0, tries - interrupted) }
}

/** Whether no try is running, or was when the process ended, and none is still looked for. The intent waits for its next try. */
export function isWaiting({ tries, interrupted = 0, unclear = 0, unsureSince }: IntentEntry): boolean {
  return unsureSince === undefined && tries <= interrupted + unclear
}

/**
 * Prepares a ledger after a crash: the results of its open intents are unknown, and tries that had none yet were interrupted. Those
 * without another try become doubtful. Intents that wait for their next try stay as they are, because nothing was posted since.
 */
export function recoveredLedger(
  ledger: Ledger,
  { isIdempotent, canLookUp }: { readonly isIdempotent: boolean; readonly canLookUp: boolean },
): Ledger {
  const intents = ledger.entries.filter((entry) => entry.state === 'intent')
  const open = intents.filter((intent) => !isWaiting(intent)).map(asInterrupted)
  if (open.length === 0) return ledger
  if (isIdempotent || canLookUp) return open.reduce(withUnsureIntent, ledger)
  const counted = { ...ledger, doubtful: ledger.doubtful + open.length }
  return open.reduce(
    (next, intent) => (isWorthAnotherTry(intent) ? withChanged(next, intent, intent) : withDoubt(next, intent)),
    counted,
  )
}

/** Returns the intent with one more interrupted try, unless its try ended without a clear answer of the platform. */
function asInterrupted(intent: IntentEntry): IntentEntry {
  if (intent.unsureSince !== undefined) return intent
  return { ...intent, interrupted: (intent.interrupted ?? 0) + 1 }
}
