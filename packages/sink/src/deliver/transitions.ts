import type { Slot } from '../layout/slot.ts'
import type { Entry, Ledger } from '../ledger/ledger.ts'
import { withOutdated } from '../ledger/outdated.ts'
import type { MessageRef, PortError } from '../port/port.ts'
import { isStreamed, type Operation } from './reconcile.ts'
import { sentOf, withTasks } from './streaming.ts'

/** Ledger transitions, before and after each operation. All pure. */

type Post = Extract<Operation, { type: 'post' }>

/** Recorded before the post, so that a restart after a crash finds it. */
export function intending(
  ledger: Ledger,
  { slot, isLoud }: Post,
  { id, at, canEdit }: { readonly id: string; readonly at: number; readonly canEdit: boolean },
): Ledger {
  const before = ledger.entries.find((entry) => entry.key === slot.key && entry.state === 'intent')
  const isOther = before !== undefined && before.whole !== slot.whole
  const known = ledger.ids[slot.key]
  // Under its old id the platform may have the old text, which only an edit can change. Without edits, use a new id.
  const isNew = known === undefined || (isOther && !canEdit)
  const entry: Entry = {
    key: slot.key,
    card: slot.card.key,
    type: slot.card.type,
    state: 'intent',
    id: isNew ? id : known,
    tries: (before?.tries ?? 0) + 1,
    at,
    isLoud,
    body: slot.body,
    whole: isOther && !isNew ? '' : slot.whole,
    piece: slot.piece,
    part: slot.part,
    isAllowing: slot.isAllowing,
    isContinued: slot.isContinued,
    before: slot.card.before,
    told: slot.card.type === 'notice' ? slot.card.told : undefined,
  }
  const doubtful = ledger.doubtful + (known !== undefined && isNew ? 1 : 0)
  return { ...withEntry(ledger, entry), doubtful, ids: { ...ledger.ids, [slot.key]: entry.id } }
}

export function posted(
  ledger: Ledger,
  { slot }: Post,
  { ref, at }: { readonly ref: MessageRef; readonly at: number },
): Ledger {
  if (!isStreamed(slot)) return decided(ledger, slot.key, { state: 'shown', ref, at })
  // An earlier try may have succeeded, with less text.
  const isUnsure = (ledger.entries.find(({ key }) => key === slot.key)?.tries ?? 1) > 1 || undefined
  return decided(withTasks(ledger, slot), slot.key, { state: 'shown', ref, at, isUnsure, stream: sentOf(slot, at) })
}

/** Records the final result of a post. Its place and what it reported count from now on. */
function decided(ledger: Ledger, key: string, fields: Partial<Entry> & { readonly at: number }): Ledger {
  const next = changeEntry(ledger, key, fields)
  const entry = next.entries.find((one) => one.key === key)
  if (!entry) return next
  const { card, type, before, told = [] } = entry
  const isBreak = before !== undefined && !ledger.breaks.some((one) => one.key === card)
  const { [key]: _, ...ids } = next.ids
  return {
    ...next,
    ids,
    breaks: isBreak ? [...next.breaks, { key: card, before }] : next.breaks,
    ...(type === 'notice' && { told: [...next.told, ...told], notices: next.notices + 1, noticeAt: fields.at }),
    ...(type === 'heartbeat' && { heartbeats: next.heartbeats + 1 }),
  }
}

/** Until the result is known, the message may show either version. */
export function editing(ledger: Ledger, { entry }: Extract<Operation, { type: 'edit' }>): Ledger {
  return changeEntry(ledger, entry.key, { isUnsure: true })
}

export function edited(ledger: Ledger, { slot, entry, flowing }: Extract<Operation, { type: 'edit' }>): Ledger {
  if (flowing === 'end') return changeEntry(ledger, entry.key, { stream: undefined, isUnsure: true })
  const { key, card, body, whole, piece, part, isAllowing, isContinued } = slot
  const known = flowing === 'append' || flowing === 'close' ? withTasks(ledger, slot) : ledger
  const stream = flowing === 'append' && entry.stream ? sentOf(slot, entry.stream.openedAt) : undefined
  // Closed before its text ended: it reached the stream's maximum time.
  const isClosed = (flowing === 'close' && slot.isGrowing) || entry.isClosed ? true : undefined
  const shows: Partial<Entry> = {
    key,
    card: card.key,
    type: card.type,
    body,
    whole,
    piece,
    part,
    isAllowing,
    isContinued,
    stream,
    isClosed,
  }
  const entries = known.entries.map((one): Entry => {
    if (one.key === entry.key) return { ...one, isUnsure: undefined, ...shows }
    // A person had removed it: this message replaces it.
    return one.key === key ? { ...one, key: `${key}~${one.id}`, card: `${one.card}~` } : one
  })
  return { ...known, entries }
}

export function removed(ledger: Ledger, entry: Entry): Ledger {
  return { ...ledger, entries: ledger.entries.filter(({ key }) => key !== entry.key) }
}

/** Without removal: the message is still there, but counts as removed. */
export function emptied(ledger: Ledger, entry: Entry): Ledger {
  return changeEntry(ledger, entry.key, { key: `${entry.key}~${entry.id}`, card: `${entry.card}~`, state: 'gone' })
}

export interface Failing {
  readonly at: number
  readonly isIdempotent: boolean
}

/** The ledger after a failed call: what is now known of the screen, and whether to retry. */
export function failed(ledger: Ledger, operation: Operation, error: PortError, failing: Failing): Ledger {
  if (operation.type === 'preview') return ledger
  if (operation.type === 'post') return postFailed(ledger, operation, error, failing)
  const { entry } = operation
  if (operation.type === 'edit' && endsStream(operation, error))
    return changeEntry(ledger, entry.key, { stream: undefined, isClosed: true, isUnsure: true })
  // The edit was not applied, so the entry is as unsure as it was before.
  const known = operation.type === 'edit' ? changeEntry(ledger, entry.key, { isUnsure: entry.isUnsure }) : ledger
  switch (error.type) {
    case 'rate-limited':
    case 'unreachable':
      return known
    case 'ambiguous':
      return ledger
    case 'gone':
      return operation.type === 'remove' ? removed(known, entry) : changeEntry(known, entry.key, { state: 'gone' })
    case 'refused':
    case 'fixed':
      return fixed(known, entry)
    case 'too-long':
    case 'unparsable':
      return operation.type === 'remove' ? fixed(known, entry) : refitted(known, operation.slot, error, known)
    default:
      return error.type satisfies never
  }
}

/** The platform takes no more of this stream: show the full text by an edit. */
function endsStream({ flowing }: Extract<Operation, { type: 'edit' }>, { type }: PortError): boolean {
  if (flowing !== 'append' && flowing !== 'close') return false
  return type === 'fixed' || type === 'refused' || type === 'too-long' || type === 'unparsable'
}

/** The message can no longer be edited, so an unconfirmed edit stays unconfirmed: count it as doubtful. */
export function fixed(ledger: Ledger, entry: Entry): Ledger {
  const isUnknown = entry.whole === ''
  const next = isUnknown ? outdated(ledger, entry) : changeEntry(ledger, entry.key, { isFixed: true })
  return entry.isUnsure || isUnknown ? { ...next, doubtful: next.doubtful + 1 } : next
}

/** An older text may have been posted under its id, and it stays. If it is the last message, post again below it. */
function outdated(ledger: Ledger, entry: Entry): Ledger {
  if (ledger.entries.at(-1)?.key === entry.key) return emptied(ledger, entry)
  const reason = 'It may show an older text and can no longer be edited.'
  return changeEntry(ledger, entry.key, { state: 'failed', isFixed: true, reason })
}

function postFailed(ledger: Ledger, operation: Post, error: PortError, { at, isIdempotent }: Failing): Ledger {
  const { slot } = operation
  switch (error.type) {
    case 'rate-limited':
    case 'unreachable':
      return without(ledger, slot.key)
    case 'too-long':
    case 'unparsable':
      return refitted(ledger, slot, error, without(ledger, slot.key))
    case 'refused':
    case 'gone':
    case 'fixed':
      return given(ledger, slot, { reason: error.message, at })
    case 'ambiguous':
      // A retry with the same id cannot duplicate the post, so the intent stays.
      return isIdempotent ? ledger : doubted(ledger, slot, at)
    default:
      return error.type satisfies never
  }
}

/** Gives up on a post. An earlier try may have succeeded. */
function given(ledger: Ledger, slot: Slot, fields: { readonly reason: string; readonly at: number }): Ledger {
  const after = decided(ledger, slot.key, { ...fields, state: 'failed' })
  const isTried = (ledger.entries.find(({ key }) => key === slot.key)?.tries ?? 1) > 1
  return isTried ? { ...after, doubtful: after.doubtful + 1 } : after
}

/** The post may be there. Important cards are posted once more; each case is counted. */
function doubted(ledger: Ledger, slot: Slot, at: number): Ledger {
  const entry = ledger.entries.find(({ key }) => key === slot.key)
  const counted = { ...ledger, doubtful: ledger.doubtful + 1 }
  if (isWorthTwo(slot.card.type) && entry?.tries === 1) return counted
  return decided(counted, slot.key, { state: 'doubtful', at })
}

/** Retries with less text or without markup. Plain text that is still too long is cut further on each try. */
function refitted(ledger: Ledger, slot: Slot, error: PortError, again: Ledger): Ledger {
  const key = slot.card.key
  if (error.type === 'unparsable' && !ledger.plain.includes(key)) return { ...again, plain: [...again.plain, key] }
  const known = ledger.caps[key]?.most ?? slot.bubble.length
  const most = Math.floor((Math.min(slot.bubble.length, known) * 3) / 4)
  // The text before this position already fits.
  const from = slot.piece?.from ?? 0
  // A file cannot be cut shorter.
  if (error.type === 'too-long' && most >= 1 && !slot.file)
    return { ...again, caps: { ...again.caps, [key]: { most, from } } }
  const shown = ledger.entries.find((entry) => entry.key === slot.key)
  if (shown?.state === 'shown') return fixed(ledger, shown)
  return given(ledger, slot, { reason: error.message, at: shown?.at ?? 0 })
}

/** After a crash: it is unknown whether the open intents were posted. */
export function recovered(ledger: Ledger, { isIdempotent }: { readonly isIdempotent: boolean }): Ledger {
  const known = withOutdated(ledger)
  const open = known.entries.filter(({ state }) => state === 'intent')
  // An idempotent platform is simply given the same post again. An unwanted one stays an intent.
  if (open.length === 0 || isIdempotent) return known
  const given = open.filter(({ type, tries }) => tries > 1 || !isWorthTwo(type))
  const counted = { ...known, doubtful: known.doubtful + open.length }
  return given.reduce((next, { key, at }) => decided(next, key, { state: 'doubtful', at }), counted)
}

/** Cards worth posting twice when the first result is unknown. */
function isWorthTwo(type: Entry['type']): boolean {
  return type === 'answer' || type === 'ask' || type === 'ending' || type === 'file'
}

function withEntry(ledger: Ledger, entry: Entry): Ledger {
  return { ...ledger, entries: [...ledger.entries.filter(({ key }) => key !== entry.key), entry] }
}

export function changeEntry(ledger: Ledger, key: string, fields: Partial<Entry>): Ledger {
  return { ...ledger, entries: ledger.entries.map((entry) => (entry.key === key ? { ...entry, ...fields } : entry)) }
}

/** It is certainly not there, and does not count as tried. */
function without(ledger: Ledger, key: string): Ledger {
  const entry = ledger.entries.find((one) => one.key === key)
  // One of its tries may have succeeded.
  if (entry && entry.tries > 1) return changeEntry(ledger, key, { tries: entry.tries - 1 })
  return { ...ledger, entries: ledger.entries.filter((one) => one.key !== key) }
}
