import { describe, expect, expectTypeOf, test } from 'vitest'
import { withFailure } from '../src/deliver/call-result.ts'
import type { Edit } from '../src/deliver/operation.ts'
import { withEdited, withEditStarted } from '../src/deliver/transitions.ts'
import { layout } from '../src/layout/layout.ts'
import type { DoubtfulEntry, Entry, FailedEntry, IntentEntry, ShownEntry } from '../src/ledger/entry.ts'
import { emptyLedger, type Ledger } from '../src/ledger/ledger.ts'
import { PortError, type PortErrorType } from '../src/port/port-error.ts'
import { fakeRender } from '../src/testing/fake.ts'
import { fakeLimits } from '../src/testing/fake-options.ts'
import { texts } from '../src/texts.ts'
import { goneEntry, shownEntry } from './entries.ts'

const options = { at: 0, isIdempotent: false, canLookUp: false }
const older = { type: 'newest-or-older', body: 'b' } as const

function ledgerOf(...entries: readonly Entry[]): Ledger {
  return { ...emptyLedger, entries }
}

/** Edits a message to show an answer. */
function editOf(entry: ShownEntry): Edit {
  const card = { type: 'answer', key: 'answer', source: 'One.', isOpen: false } as const
  const [slot] = layout([card], {
    ...{ render: fakeRender, limits: fakeLimits, mode: 'live', texts, ledger: emptyLedger, now: 0 },
  })
  if (!slot) throw new Error('The answer has no message.')
  return { type: 'edit', slot, entry, priority: 'text' }
}

function afterFailure(ledger: Ledger, edit: Edit, type: PortErrorType): Ledger {
  return withFailure(withEditStarted(ledger, edit), { ...options, operation: edit, error: new PortError(type, 'No.') })
}

describe('an edit that fails', () => {
  const entry = shownEntry('answer#0')

  test.each(['rate-limited', 'unreachable'] as const)('as %s leaves the message as it was', (type) => {
    expect(afterFailure(ledgerOf(entry), editOf(entry), type)).toEqual(ledgerOf(entry))
  })

  test('without a result may have been applied', () => {
    const unsure = { ...entry, isUnsure: true } as const
    expect(afterFailure(ledgerOf(entry), editOf(entry), 'ambiguous')).toEqual(ledgerOf(unsure))
  })

  test('for good leaves a message that no edit reaches', () => {
    const { entries, doubtful } = afterFailure(ledgerOf(entry), editOf(entry), 'refused')
    expect([entries, doubtful]).toEqual([[{ ...entry, access: { type: 'fixed' } }], 0])
  })

  test('for good counts as doubtful if an older text may be there, and the last message is posted again', () => {
    const unknown = { ...entry, content: older }
    const { entries, doubtful } = afterFailure(ledgerOf(unknown), editOf(unknown), 'fixed')
    expect([entries, doubtful]).toEqual([[{ ...goneEntry('answer#0', { content: older }), isReplaced: true }], 1])
  })

  test('for good fails a message with others below it, if an older text may be there', () => {
    const unknown = { ...entry, content: older }
    const ledger = afterFailure(ledgerOf(unknown, shownEntry('answer#1')), editOf(unknown), 'fixed')
    expect(ledger.entries[0]).toMatchObject({ state: 'failed', olderRef: unknown.ref })
  })

  test('as unparsable even as plain text leaves a status for what it is: the text gets a message of its own', () => {
    const status = shownEntry('status', { type: 'status' })
    const ledger = { ...ledgerOf(status), plain: ['answer'] }
    const { entries } = afterFailure(ledger, editOf(status), 'unparsable')
    expect(entries).toEqual([{ ...status, access: { type: 'fixed' } }])
  })
})

test('a status that takes the place of a removed message replaces it', () => {
  const [removed, status] = [goneEntry('answer#0'), shownEntry('status', { id: 'y', type: 'status' })]
  const { entries } = withEdited(ledgerOf(removed, status), editOf(status))
  expect(entries).toMatchObject([
    { key: 'answer#0', isReplaced: true },
    { key: 'answer#0', card: 'answer', type: 'answer', ref: status.ref },
  ])
})

test('the states of an entry have only the fields that they can have', () => {
  expectTypeOf<IntentEntry | DoubtfulEntry | FailedEntry>().not.toHaveProperty('ref')
  expectTypeOf<Exclude<Entry, ShownEntry>>().not.toHaveProperty('access')
  expectTypeOf<Exclude<Entry, ShownEntry>>().not.toHaveProperty('isUnsure')
  expectTypeOf<Exclude<ShownEntry['access'], { type: 'open-stream' }>>().not.toHaveProperty('sent')
})
