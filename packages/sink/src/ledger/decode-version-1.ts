import type { MessageRef } from '../port/port.ts'
import type { Access, Content, Entry, EntryFields, Sent } from './entry.ts'
import { replacedInVersion1, requestOf } from './keys.ts'
import type { Ledger } from './ledger.ts'

/** A ledger as it was written before entries were a union of states. */
export interface LedgerOfVersion1 extends Omit<Ledger, 'version' | 'entries' | 'outdated'> {
  readonly version: 1
  readonly entries: readonly EntryOfVersion1[]
  /** Absent in ledgers from before asks had several messages. */
  readonly outdated?: readonly string[] | undefined
}

/** Fields that are absent here had the same meaning as today. */
interface EntryOfVersion1 extends Omit<EntryFields, 'content' | 'isReplaced'> {
  readonly state: Entry['state']
  readonly ref?: MessageRef | undefined
  readonly body: string
  /** Empty: it may show the text of `body` or an older one. */
  readonly whole: string
  readonly stream?: Sent | undefined
  readonly isClosed?: true | undefined
  readonly isFixed?: true | undefined
  readonly isUnsure?: true | undefined
  readonly reason?: string | undefined
}

export function upgraded({ outdated, ...ledger }: LedgerOfVersion1): Ledger {
  return {
    ...ledger,
    version: 2,
    entries: ledger.entries.map(toEntry),
    outdated: outdated ?? openAsksOf(ledger),
  }
}

function toEntry(old: EntryOfVersion1): Entry {
  const { state, ref, body, whole, stream, isClosed, isFixed, isUnsure, reason = '', ...kept } = old
  const before = replacedInVersion1(old)
  const content: Content = whole === '' ? { type: 'newest-or-older', body } : { type: 'known', body, whole }
  const fields: EntryFields = { ...kept, content, ...(before && { ...before, isReplaced: true }) }
  switch (state) {
    case 'shown':
      if (!ref) return { ...fields, state: 'doubtful' }
      return { ...fields, state, ref, access: accessOf(old), ...(isUnsure && { isUnsure }) }
    case 'gone':
      if (!ref) return { ...fields, state: 'doubtful' }
      return { ...fields, state, ref, ...(isClosed && !isUnsure && { isClosed }) }
    case 'failed':
      return { ...fields, state, reason, ...(isFixed && ref && { olderRef: ref }) }
    case 'intent':
    case 'doubtful':
      return { ...fields, state }
    default:
      return state satisfies never
  }
}

function accessOf({ stream, isClosed, isFixed }: EntryOfVersion1): Access {
  if (isFixed) return { type: 'fixed' }
  if (stream) return { type: 'open-stream', sent: stream }
  return { type: isClosed ? 'closed-stream' : 'editable' }
}

/** Ledgers without `outdated` don't say how much of an ask was shown, so this lists the asks that may be open in them. */
function openAsksOf({ entries, asks }: Pick<LedgerOfVersion1, 'entries' | 'asks'>): readonly string[] {
  const open = entries.filter(({ type, card }) => {
    const state = asks[requestOf(card) ?? '']
    return type === 'ask' && state !== undefined && state.by === undefined && state.answers.length === 0
  })
  return [...new Set(open.map(({ card }) => card))]
}
