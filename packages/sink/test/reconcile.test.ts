import { describe, expect, test } from 'vitest'
import type { Operation } from '../src/deliver/operation.ts'
import { type ReconcileFacts, reconcile } from '../src/deliver/reconcile.ts'
import { layout } from '../src/layout/layout.ts'
import type { Slot } from '../src/layout/slot.ts'
import type { Card } from '../src/ledger/card.ts'
import type { Entry, ShownEntry } from '../src/ledger/entry.ts'
import { emptyLedger, type Ledger } from '../src/ledger/ledger.ts'
import { fakeRender } from '../src/testing/fake.ts'
import { fakeLimits } from '../src/testing/fake-options.ts'
import { texts } from '../src/texts.ts'
import type { Mode } from '../src/view/view.ts'
import { failedEntry, fieldsIn, goneEntry, shownEntry } from './entries.ts'

const live: ReconcileFacts = { isSettled: false, canEdit: true, canRemove: true, isPreviewing: false }
const settled = { ...live, isSettled: true }

const said = (source: string, more: { key?: string; isOpen?: boolean } = {}): Card => {
  return { type: 'answer', key: 'answer', source, isOpen: true, ...more }
}
const status: Card = { type: 'status', key: 'status', source: 'Working' }
const ask: Card = { type: 'ask', key: 'ask:1:0', source: '❓ Which?', buttons: [], isPending: true }
const note: Card = { type: 'note', key: 'compaction:1', source: '*Context compacted*' }
const done: Card = { type: 'ending', key: 'done', source: 'Done in 40s.', isFailure: false }

function slotsOf(cards: readonly Card[], { ledger = emptyLedger, mode = 'live' as Mode, limits = {} } = {}) {
  return layout(cards, { render: fakeRender, limits: { ...fakeLimits, ...limits }, mode, texts, ledger, now: 0 })
}

const [fixed, removed, failed] = [{ access: { type: 'fixed' } }, 'removed', 'failed'] as const

/** A ledger in which all of these were posted unchanged, in their order, apart from what `more` says. */
function ledgerOf(
  cards: readonly Card[],
  more: Readonly<Record<string, Partial<ShownEntry> | typeof removed | typeof failed>> = {},
): Ledger {
  const entries = slotsOf(cards).map(({ key, card, body, whole, piece }: Slot, index): Entry => {
    const content = { type: 'known', body, whole } as const
    const fields = { card: card.key, type: card.type, content, piece, id: `x${index}` }
    const own = more[key]
    if (own === removed) return goneEntry(key, fields)
    if (own === failed) return failedEntry(key, fields)
    return shownEntry(key, { ...fields, ...own })
  })
  return { ...emptyLedger, entries }
}

function steps(operations: readonly Operation[]): readonly string[] {
  return operations.map((one) => {
    if (one.type === 'remove' || one.type === 'look-up') return `${one.type} ${one.entry.key}`
    if (one.type === 'edit')
      return `edit ${one.entry.key}${one.entry.key === one.slot.key ? '' : ` to ${one.slot.key}`}`
    return `${one.type} ${one.slot.key}${one.type === 'post' && one.isLoud ? ' loud' : ''}`
  })
}

const next = (ledger: Ledger, cards: readonly Card[], options = live): readonly string[] =>
  steps(reconcile(ledger, slotsOf(cards, { ledger }), options))

test.each([[[]], [[status]]])(
  'the line that a run was stopped never becomes a message of its own, with the status %o',
  (more) => {
    const stopped: Card = { type: 'note', key: 'stopped-here', source: '*Stopped.*' }
    const keys = slotsOf([said('It is'), stopped, note, ...more]).map(({ key }) => key)
    expect(keys).not.toContain('stopped-here')
  },
)

test('texts that the reply does not have stay, and its end is said below them', () => {
  const ledger = ledgerOf([said('One.'), ask, said('Two.', { key: 'answer@n' }), status])
  expect(next(ledger, [done], { ...settled, keepsText: true })).toEqual(['post done loud'])
  expect(next(ledgerOf([said('One.'), note, status]), [done], { ...settled, keepsText: true })).toEqual([
    'post done loud',
    'remove status',
  ])
  expect(next(ledger, [done], settled)).toContain('remove answer#0')
})

describe('a missing message', () => {
  test('needs nothing when the chat shows it', () => {
    expect(next(ledgerOf([said('One.'), status]), [said('One.'), status])).toEqual([])
  })

  test('is posted in order, one at a time', () => {
    expect(next(emptyLedger, [said('One.', { isOpen: false }), note, said('Two.', { key: 'answer@note' })])).toEqual([
      'post answer#0',
    ])
  })

  test('is edited if its text changed', () => {
    expect(next(ledgerOf([said('One.')]), [said('One. Two.')])).toEqual(['edit answer#0'])
  })

  test('is as urgent as the one after it', () => {
    const [first] = reconcile(emptyLedger, slotsOf([note, ask]), live)
    expect(first).toMatchObject({ type: 'post', priority: 'ask', slot: { key: 'compaction:1' } })
  })

  test.each<[Card, boolean, string]>([
    [said('One.'), false, 'text'],
    [said('One.'), true, 'final'],
    [status, false, 'status'],
    [ask, false, 'ask'],
    [note, false, 'text'],
  ])('has its priority', (card, isSettled, priority) => {
    expect(reconcile(emptyLedger, slotsOf([card]), { ...live, isSettled })[0]?.priority).toBe(priority)
  })

  test('of an ask comes before edits of a text', () => {
    expect(next(ledgerOf([said('One.')]), [said('One. Two.'), ask])).toEqual(['post ask:1:0 loud', 'edit answer#0'])
  })
})

describe('a status', () => {
  test('is taken over by the first text', () => {
    expect(next(ledgerOf([status]), [said('One.')])).toEqual(['edit status to answer#0'])
  })

  test('is not taken over once something came below it', () => {
    const { entries } = ledgerOf([note, status])
    const ledger = { ...emptyLedger, entries: entries.toReversed() }
    expect(next(ledger, [note, said('One.', { key: 'answer@n' })])).toEqual(['post answer@n#0', 'remove status'])
  })

  test('is not taken over by a message that notifies, unless it could not be removed', () => {
    expect(next(ledgerOf([status]), [said('One.', { isOpen: false })], settled)).toEqual([
      'post answer#0 loud',
      'remove status',
    ])
    expect(next(ledgerOf([status]), [said('One.', { isOpen: false })], { ...settled, canRemove: false })).toEqual([
      'edit status to answer#0',
    ])
  })

  test('is not taken over if it can no longer be edited', () => {
    const ledger = ledgerOf([status], { status: fixed })
    expect(next(ledger, [said('One.')])).toEqual(['post answer#0', 'remove status'])
  })

  test('becomes a footer of growing text', () => {
    const [slot] = slotsOf([said('One.'), status])
    expect(slot?.bubble.text).toBe('One.\n\n*Working*')
    expect(slot?.body).not.toBe(slot?.whole)
  })
})

describe('an unwanted message', () => {
  const long = said('word '.repeat(120))

  test('is removed when a text became shorter', () => {
    expect(next(ledgerOf([long]), [said('word')])).toEqual(expect.arrayContaining(['remove answer#1']))
  })

  test('is removed when a text was taken back', () => {
    expect(next(ledgerOf([said('One.')]), [], settled)).toEqual(['remove answer#0'])
  })

  test('stays without edits', () => {
    expect(next(ledgerOf([said('One.'), note]), [], { ...live, canEdit: false })).toEqual([])
  })

  test('stays if it is an ask, note or ending', () => {
    expect(next(ledgerOf([ask, note, done]), [], settled)).toEqual([])
  })
})

describe('a message that a person removed', () => {
  test('counts as shown', () => {
    const cards = [said('One.', { isOpen: false }), note]
    expect(next(ledgerOf(cards, { 'answer#0': removed }), cards)).toEqual([])
  })

  test('is posted again while it grows', () => {
    const ledger = ledgerOf([said('One.')], { 'answer#0': removed })
    expect(next(ledger, [said('One. Two.')])).toEqual(['post answer#0'])
  })
})

describe('a message that can no longer be edited', () => {
  test('stays, and the text goes on in the next message', () => {
    const ledger = ledgerOf([said('One.')], { 'answer#0': fixed })
    const slots = slotsOf([said('One. Two.')], { ledger })
    expect(slots.map(({ key, bubble }) => [key, bubble.text])).toEqual([
      ['answer#0', ''],
      ['answer#1', 'Two.'],
    ])
    expect(steps(reconcile(ledger, slots, live))).toEqual(['post answer#1'])
  })

  test('stays, even if nothing comes after it', () => {
    const [posted] = slotsOf([said('One.')])
    const content = { type: 'known', body: posted?.body ?? '', whole: 'with a status' } as const
    const ledger = ledgerOf([said('One.')], { 'answer#0': { ...fixed, content } })
    expect(next(ledger, [said('One.', { isOpen: false })], settled)).toEqual([])
  })

  const wrong = ledgerOf([said('One.')], { 'answer#0': fixed })

  test('is corrected once it is final, if its text changed', () => {
    expect(slotsOf([said('Two.')], { ledger: wrong })).toEqual([])
    const [slot] = slotsOf([said('Two.', { isOpen: false })], { ledger: wrong })
    expect(slot).toMatchObject({ key: 'answer!#0', bubble: { text: '*Corrected:*\n\nTwo.' } })
  })

  test('stays corrected when the wrong message has been removed', () => {
    const cards = [said('Two.', { isOpen: false })]
    const correction = slotsOf(cards, { ledger: wrong })
    const [kept] = ledgerOf([said('', { key: 'answer!' }), said('x', { key: 'answer!' })]).entries
    expect(kept?.card).toBe('answer!')
    const other = { type: 'known', body: '', whole: '' } as const
    const ledger = {
      ...emptyLedger,
      entries: kept ? [shownEntry(kept.key, { ...fieldsIn(kept), content: other })] : [],
    }
    expect(slotsOf(cards, { ledger }).map(({ key }) => key)).toEqual(correction.map(({ key }) => key))
  })

  test('was posted before its white space arrived: what follows is cut as before', () => {
    const paragraphs = `${'word '.repeat(35).trim()}.\n\n`.repeat(6).trim()
    const slots = slotsOf([said(paragraphs)])
    expect(slots.length).toBeGreaterThan(2)
    const trimmed = ledgerOf([said(paragraphs)]).entries.map((entry) => {
      const { piece } = entry
      const cut = piece && { ...piece, to: paragraphs.slice(0, piece.to).trimEnd().length }
      return entry.key === 'answer#0' ? shownEntry(entry.key, { ...fieldsIn(entry), piece: cut, ...fixed }) : entry
    })
    const upTo = slotsOf([said(paragraphs.slice(0, trimmed[0]?.piece?.to))])[0]?.piece?.upTo ?? ''
    const entries = trimmed.map((entry, at) =>
      at === 0 && entry.piece ? { ...entry, piece: { ...entry.piece, upTo } } : entry,
    )
    const ledger = { ...emptyLedger, entries }
    expect(slotsOf([said(paragraphs)], { ledger }).map(({ body }) => body)).toEqual(slots.map(({ body }) => body))
  })
})

describe('a failed message between others', () => {
  const text = 'word '.repeat(240).trim()

  test('leaves later ones as they are, even if less fits than expected', () => {
    const slots = slotsOf([said(text)])
    const cap = slots[2]?.piece?.from ?? 0
    const ledger = {
      ...ledgerOf([said(text)], { 'answer#1': failed }),
      caps: { answer: { most: 100, from: cap } },
    }
    const after = slotsOf([said(text)], { ledger })
    expect(after[1]).toMatchObject({ key: 'answer#2', piece: { from: cap } })
  })

  test('is not posted again without edits, but later ones are', () => {
    const first = ledgerOf([said('One.')], { 'answer#0': failed })
    const slots = slotsOf([said('One. Two.')], { ledger: first, mode: 'append' })
    expect(slots.map(({ key, bubble }) => [key, bubble.text])).toEqual([
      ['answer#0', ''],
      ['answer#1', 'Two.'],
    ])
  })
})

describe('an edit with an unknown result', () => {
  test('is made again, even if the earlier text is wanted', () => {
    const ledger = ledgerOf([said('One.')], { 'answer#0': { isUnsure: true } })
    expect(next(ledger, [said('One.')])).toEqual(['edit answer#0'])
  })
})

describe('the message that notifies', () => {
  test('is only the last one of an answer', () => {
    const long = said('word '.repeat(200), { isOpen: false })
    const slots = slotsOf([long])
    expect(slots.map(({ isLast }) => isLast)).toEqual([false, false, true])
    expect(steps(reconcile(emptyLedger, slots, settled))).toEqual(['post answer#0'])
  })

  test('is the answer, and not a note on the time or context after it', () => {
    const context: Card = { type: 'note', key: 'context', source: '*The context is 61% full.*' }
    for (const after of [done, context]) {
      expect(next(emptyLedger, [said('One.', { isOpen: false }), after], settled)).toEqual(['post answer#0 loud'])
    }
  })

  test('is a failure instead of the answer before it', () => {
    const failure: Card = { type: 'ending', key: 'ending', source: '⚠️ Failed.', isFailure: true }
    expect(next(emptyLedger, [said('One.', { isOpen: false }), failure], settled)).toEqual(['post answer#0'])
    expect(
      next(ledgerOf([said('One.', { isOpen: false })]), [said('One.', { isOpen: false }), failure], settled),
    ).toEqual(['post ending loud'])
  })

  test('is an ask while it waits', () => {
    expect(next(emptyLedger, [ask])).toEqual(['post ask:1:0 loud'])
    expect(next(emptyLedger, [{ ...ask, isPending: false }])).toEqual(['post ask:1:0'])
  })
})

describe('a preview', () => {
  const previewing = { ...live, isPreviewing: true }

  test('shows growing text, and is not a message', () => {
    expect(next(emptyLedger, [said('One.')], previewing)).toEqual(['preview answer#0'])
  })

  test('ends before any message, after its text is posted', () => {
    expect(next(emptyLedger, [said('One.'), ask], previewing)).toEqual(['post answer#0'])
  })

  test('ends with the text', () => {
    expect(next(emptyLedger, [said('One.', { isOpen: false })], { ...settled, isPreviewing: true })).toEqual([
      'post answer#0 loud',
    ])
  })
})
