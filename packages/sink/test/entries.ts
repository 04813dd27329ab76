import {
  asGone,
  type DoubtfulEntry,
  type Entry,
  type EntryFields,
  type FailedEntry,
  type GoneEntry,
  type IntentEntry,
  type ShownEntry,
} from '../src/ledger/entry.ts'
import { beginning } from './timeline.ts'

/** Short builders for a ledger's entries. */

export function shownEntry(key: string, more: Partial<Omit<ShownEntry, 'state'>> = {}): ShownEntry {
  return { ...fieldsOf(key), state: 'shown', ref: { id: key }, access: { type: 'editable' }, ...more }
}

export function goneEntry(key: string, more: Partial<Omit<ShownEntry, 'state'>> = {}): GoneEntry {
  return asGone(shownEntry(key, more))
}

export function failedEntry(key: string, more: Partial<Omit<FailedEntry, 'state'>> = {}): FailedEntry {
  return { ...fieldsOf(key), state: 'failed', reason: 'It may not.', failure: 'refused', ...more }
}

export function intentEntry(key: string, more: Partial<EntryFields> = {}): IntentEntry {
  return { ...fieldsOf(key), state: 'intent', ...more }
}

export function doubtfulEntry(key: string, more: Partial<EntryFields> = {}): DoubtfulEntry {
  return { ...fieldsOf(key), state: 'doubtful', ...more }
}

/** The fields that entries have in every state. */
export function fieldsIn({ key, card, type, id, tries, at, isLoud, content, piece }: Entry): EntryFields {
  return { key, card, type, id, tries, at, isLoud, content, piece }
}

function fieldsOf(key: string): EntryFields {
  const content = { type: 'known', body: '', whole: '' } as const
  return {
    key,
    card: key.replace(/#\d+$/, ''),
    type: 'answer',
    id: 'x',
    tries: 1,
    at: beginning,
    isLoud: false,
    content,
  }
}
