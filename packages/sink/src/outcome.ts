import type { Slot } from './layout.ts'
import type { Entry, Ledger } from './ledger.ts'
import { withOutdated } from './outdated.ts'
import type { MessageRef, PortError } from './port.ts'
import { isStreamed, type Operation } from './reconcile.ts'
import { sentOf, withTasks } from './streaming.ts'

/** The ledger before and after each thing that is done. All pure. */

type Post = Extract<Operation, { type: 'post' }>

/** Written down before it is posted, so that a crash in between is seen afterwards. */
export function intending(
  ledger: Ledger,
  { slot, isLoud }: Post,
  { id, at, canEdit }: { readonly id: string; readonly at: number; readonly canEdit: boolean },
): Ledger {
  const before = ledger.entries.find((entry) => entry.key === slot.key && entry.state === 'intent')
  const isOther = before !== undefined && before.whole !== slot.whole
  const known = ledger.ids[slot.key]
  // Under its old id the platform may have the old text, which can only be edited; else it is another message.
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
  // An earlier try may have come through, with less text.
  const isUnsure = (ledger.entries.find(({ key }) => key === slot.key)?.tries ?? 1) > 1 || undefined
  return decided(withTasks(ledger, slot), slot.key, { state: 'shown', ref, at, isUnsure, stream: sentOf(slot, at) })
}

/** Its fate is known as far as it ever will be: where it stands and what it told counts from now on. */
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

/** Until it is known how it went, nobody can say what the message shows. */
export function editing(ledger: Ledger, { entry }: Extract<Operation, { type: 'edit' }>): Ledger {
  return changeEntry(ledger, entry.key, { isUnsure: true })
}

export function edited(ledger: Ledger, { slot, entry, flowing }: Extract<Operation, { type: 'edit' }>): Ledger {
  if (flowing === 'end') return changeEntry(ledger, entry.key, { stream: undefined, isUnsure: true })
  const { key, card, body, whole, piece, part, isAllowing, isContinued } = slot
  const known = flowing === 'append' || flowing === 'close' ? withTasks(ledger, slot) : ledger
  const stream = flowing === 'append' && entry.stream ? sentOf(slot, entry.stream.openedAt) : undefined
  // Closed before its text was at its end: it had been open for as long as one may be.
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
    // A person had removed it: this message stands for it now.
    return one.key === key ? { ...one, key: `${key}~${one.id}`, card: `${one.card}~` } : one
  })
  return { ...known, entries }
}

export function removed(ledger: Ledger, entry: Entry): Ledger {
  return { ...ledger, entries: ledger.entries.filter(({ key }) => key !== entry.key) }
}

/** Where nothing can be removed: it is still there, and says nothing any more. */
export function emptied(ledger: Ledger, entry: Entry): Ledger {
  return changeEntry(ledger, entry.key, { key: `${entry.key}~${entry.id}`, card: `${entry.card}~`, state: 'gone' })
}

export interface Failing {
  readonly at: number
  readonly isIdempotent: boolean
}

/** After a call that failed: what is known of the screen now, and whether the same is tried again. */
export function failed(ledger: Ledger, operation: Operation, error: PortError, failing: Failing): Ledger {
  if (operation.type === 'preview') return ledger
  if (operation.type === 'post') return postFailed(ledger, operation, error, failing)
  const { entry } = operation
  if (operation.type === 'edit' && endsStream(operation, error))
    return changeEntry(ledger, entry.key, { stream: undefined, isClosed: true, isUnsure: true })
  // As unsure as it was before.
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

/** The platform takes no more of it: the whole is shown by an edit. */
function endsStream({ flowing }: Extract<Operation, { type: 'edit' }>, { type }: PortError): boolean {
  if (flowing !== 'append' && flowing !== 'close') return false
  return type === 'fixed' || type === 'refused' || type === 'too-long' || type === 'unparsable'
}

/** What an edit may have made of it that nobody confirmed, cannot be made sure of any more. */
export function fixed(ledger: Ledger, entry: Entry): Ledger {
  const isUnknown = entry.whole === ''
  const next = isUnknown ? outdated(ledger, entry) : changeEntry(ledger, entry.key, { isFixed: true })
  return entry.isUnsure || isUnknown ? { ...next, doubtful: next.doubtful + 1 } : next
}

/** Under its id an older text may have been posted, which stays. The last message of all is posted anew. */
function outdated(ledger: Ledger, entry: Entry): Ledger {
  if (ledger.entries.at(-1)?.key === entry.key) return emptied(ledger, entry)
  const reason = 'It may show an older text, and cannot be edited any more.'
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
      // The same id says the same thing to the platform: it is simply given again.
      return isIdempotent ? ledger : doubted(ledger, slot, at)
    default:
      return error.type satisfies never
  }
}

/** It is not tried again. An earlier try may have come through. */
function given(ledger: Ledger, slot: Slot, fields: { readonly reason: string; readonly at: number }): Ledger {
  const after = decided(ledger, slot.key, { ...fields, state: 'failed' })
  const isTried = (ledger.entries.find(({ key }) => key === slot.key)?.tries ?? 1) > 1
  return isTried ? { ...after, doubtful: after.doubtful + 1 } : after
}

/** It may be there. What matters is said once more, and everything is counted. */
function doubted(ledger: Ledger, slot: Slot, at: number): Ledger {
  const entry = ledger.entries.find(({ key }) => key === slot.key)
  const counted = { ...ledger, doubtful: ledger.doubtful + 1 }
  if (isWorthTwo(slot.card.type) && entry?.tries === 1) return counted
  return decided(counted, slot.key, { state: 'doubtful', at })
}

/** Less of it, or without markup. What is plain already and too long even so is cut further each time. */
function refitted(ledger: Ledger, slot: Slot, error: PortError, again: Ledger): Ledger {
  const key = slot.card.key
  if (error.type === 'unparsable' && !ledger.plain.includes(key)) return { ...again, plain: [...again.plain, key] }
  const known = ledger.caps[key]?.most ?? slot.bubble.length
  const most = Math.floor((Math.min(slot.bubble.length, known) * 3) / 4)
  // What comes before it fits as it is.
  const from = slot.piece?.from ?? 0
  // Nothing makes a file shorter.
  if (error.type === 'too-long' && most >= 1 && !slot.file)
    return { ...again, caps: { ...again.caps, [key]: { most, from } } }
  const shown = ledger.entries.find((entry) => entry.key === slot.key)
  if (shown?.state === 'shown') return fixed(ledger, shown)
  return given(ledger, slot, { reason: error.message, at: shown?.at ?? 0 })
}

/** What a crash left: nobody knows whether it was posted. */
export function recovered(ledger: Ledger, { isIdempotent }: { readonly isIdempotent: boolean }): Ledger {
  const known = withOutdated(ledger)
  const open = known.entries.filter(({ state }) => state === 'intent')
  // Where that is possible the same is given again, and one that is not wanted any more stays an intent.
  if (open.length === 0 || isIdempotent) return known
  const given = open.filter(({ type, tries }) => tries > 1 || !isWorthTwo(type))
  const counted = { ...known, doubtful: known.doubtful + open.length }
  return given.reduce((next, { key, at }) => decided(next, key, { state: 'doubtful', at }), counted)
}

/** What is said once more where nobody knows whether it was said. */
function isWorthTwo(type: Entry['type']): boolean {
  return type === 'answer' || type === 'ask' || type === 'ending' || type === 'file'
}

function withEntry(ledger: Ledger, entry: Entry): Ledger {
  return { ...ledger, entries: [...ledger.entries.filter(({ key }) => key !== entry.key), entry] }
}

export function changeEntry(ledger: Ledger, key: string, fields: Partial<Entry>): Ledger {
  return { ...ledger, entries: ledger.entries.map((entry) => (entry.key === key ? { ...entry, ...fields } : entry)) }
}

/** It is not there, for certain, and was not tried. */
function without(ledger: Ledger, key: string): Ledger {
  const entry = ledger.entries.find((one) => one.key === key)
  // One of its tries may have come through.
  if (entry && entry.tries > 1) return changeEntry(ledger, key, { tries: entry.tries - 1 })
  return { ...ledger, entries: ledger.entries.filter((one) => one.key !== key) }
}
