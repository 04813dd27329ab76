import { hashOf } from '../hash.ts'
import type { Card } from '../ledger/card.ts'
import { indexOf } from '../ledger/keys.ts'
import type { Entry, Ledger } from '../ledger/ledger.ts'
import { heal } from '../markdown/close-markdown.ts'
import { createGrowingSplit } from '../markdown/growing-split.ts'
import { carryOf } from '../markdown/reopen-blocks.ts'
import { split } from '../markdown/split.ts'
import { askSlots } from './ask-slots.ts'
import type { LayoutOptions, Slot } from './slot.ts'
import { sealedSlot, slotOf, smallLine, withFooter } from './slot.ts'
import { streamLength } from './stream-length.ts'

/** UTF-16 units reserved for a status below growing text. */
const footerLength = 200

/** The longest message without edits, so that people can follow along. */
const appendLength = 3500

/** Caches how growing texts were cut, so that only new text is cut. */
const cut = createGrowingSplit()

/** Lays out cards as messages: renders, measures and splits them. Pure. */
export function layout(cards: readonly Card[], options: LayoutOptions): readonly Slot[] {
  const status = cards.find((card) => card.type === 'status')
  const tail = cards.findLast((card) => card.type !== 'status' && !isAfterword(card, options.ledger))
  const slots = cards.flatMap((card): readonly Slot[] => {
    if (card.type === 'answer') return answerSlots(card, { ...options, isTail: card === tail })
    if (card.type === 'ask') return askSlots(card, options)
    return card.type === 'status' ? [] : [slotOf(card, card.key, card.source, options)]
  })
  if (!status) return slots
  const last = slots.at(-1)
  const isBelow = last?.isGrowing === true && last.card.key === tail?.key
  // A stream shows the activity itself.
  if (isBelow && options.streaming) return slots
  // Growing text carries the status below it.
  if (isBelow && options.limits.edits) return [...slots.slice(0, -1), withFooter(last, status, options)]
  if (options.limits.silent === false) return slots
  return [...slots, slotOf(status, status.key, smallLine(status, options), options)]
}

/** A card posted after the end of the answer. Until it is posted, the answer is the message that notifies. */
function isAfterword({ key }: Card, { entries }: Ledger): boolean {
  return (key === 'done' || key === 'context') && !entries.some((entry) => entry.key === key)
}

function answerSlots(
  given: Extract<Card, { type: 'answer' }>,
  options: LayoutOptions & { readonly isTail: boolean },
): readonly Slot[] {
  const { ledger, mode, words } = options
  // The end of growing text is often taken back: white space, and half a pair of backticks by `heal`.
  const card = given.isOpen ? { ...given, source: given.source.trimEnd() } : given
  // A failed message keeps its place, so that later ones stay cut as they are.
  const own = ledger.entries
    .filter((entry) => entry.card === card.key && entry.piece && entry.state !== 'intent')
    .toSorted((a, b) => indexOf(a.key) - indexOf(b.key))
  const fits = (entry: Entry): boolean =>
    isWhole(own, entry, card.source) && hashOf(card.source.slice(0, entry.piece?.to)) === entry.piece?.upTo
  const isOver = (entry: Entry): boolean => entry.isClosed === true && !entry.isUnsure && fits(entry)
  const stays = lastFixed(own, options) ?? own.findLast(isOver)
  // Once corrected it stays so, even if the wrong message has been removed.
  const isCorrected = ledger.entries.some((entry) => entry.card === `${card.key}!`)
  const isPrefix = !isCorrected && (!stays || fits(stays))
  // Where less fits than expected, earlier messages stay cut as they are.
  const cap = ledger.caps[card.key]
  const last = own.findLast((entry) => entry === stays || (endOf(entry, card.source) === cap?.from && fits(entry)))
  // The posted text changed and cannot be edited, so it is posted once more when it is final.
  if (!isPrefix) {
    const key = `${card.key}!`
    const source = `*${words.correction}*\n\n${card.source}`
    return card.isOpen ? [] : answerSlots({ ...card, key, source }, options)
  }
  const from = last ? endOf(last, card.source) : 0
  const first = last ? indexOf(last.key) + 1 : 0
  const before = last ? upTo(own, last).map((entry) => standing(entry, card, options)) : []
  if (last && card.source.slice(from).trim() === '') return before
  const maxLength = lengthFor(card, options)
  const slices = cut(card.source, {
    from,
    carry: () => carryOf(card.source.slice(0, from)),
    maxLength,
    swells: options.limits.swells,
    measure: (text) => measured(text, maxLength, options),
    measuredBy: [options.render, options.limits.maxLength, options.streaming?.stream],
  })
  const entries = new Map(ledger.entries.map((entry) => [entry.key, entry]))
  const slots = slices.map((slice, index) => {
    const key = `${card.key}#${first + index}`
    const isLast = index === slices.length - 1
    const isGrowing = card.isOpen && isLast
    const known = entries.get(key)
    const isContinued = known ? known.isContinued === true : first + index > 0 && !options.isTail
    const label = isContinued ? `*${words.continued}*\n\n` : ''
    const isHealed = mode === 'live' && isGrowing && !options.streaming
    const text = (): string => (isHealed ? heal(slice.source.trimEnd()) : slice.source.trim())
    const isSealed = !isLast && label === ''
    const slot = isSealed
      ? sealedSlot(slice, { card, key, source: text }, options)
      : slotOf(card, key, label + text(), options)
    return {
      ...slot,
      piece: { from: slice.from, to: slice.to, upTo: slice.upTo },
      isGrowing,
      isLast: isLast && options.isTail,
      ...(isLast && options.isTail && options.streaming && { flow: options.streaming.flow }),
      ...(isContinued && { isContinued }),
    }
  })
  return [...before, ...slots.filter((slot) => slot.bubble.text.trim() !== '')]
}

/** The last message that stays, and earlier ones that still have a status below them, which has moved on. */
function upTo(own: readonly Entry[], last: Entry): readonly Entry[] {
  return own.slice(0, own.indexOf(last) + 1).filter((entry) => entry === last || isFooted(entry))
}

function isFooted({ state, isFixed, whole, body }: Entry): boolean {
  return state === 'shown' && !isFixed && whole !== '' && whole !== body
}

function standing(entry: Entry, card: Card, options: LayoutOptions): Slot {
  return isFooted(entry) ? again(entry, card, options) : asIs(entry, card, options)
}

/** The message without the status below its text. */
function again({ key, piece, isContinued }: Entry, card: Card, options: LayoutOptions): Slot {
  const { from = 0, to = 0 } = piece ?? {}
  const carry = carryOf(card.source.slice(0, from))
  const whole = { maxLength: Number.POSITIVE_INFINITY, measure: (text: string) => text.length }
  const [slice] = split(card.source.slice(0, to), { ...whole, from, carry })
  const label = isContinued ? `*${options.words.continued}*\n\n` : ''
  const slot = slotOf(card, key, `${label}${slice?.source.trim() ?? ''}`, options)
  return { ...slot, piece, ...(isContinued && { isContinued }) }
}

/** A message that stays as it is: it is wanted, and so are all before it. */
function asIs({ key, body, whole }: Entry, card: Card, { render }: LayoutOptions): Slot {
  const bubble = { ...render(''), source: '', isPlain: false, buttons: [] }
  return { key, card, bubble, body, whole, isGrowing: false }
}

/** The last of a card's messages that stays as it is. */
function lastFixed(own: readonly Entry[], { mode, limits }: LayoutOptions): Entry | undefined {
  const isFixed = mode === 'append' || !limits.edits
  return own.findLast((entry) => isFixed || entry.isFixed)
}

function measured(text: string, most: number, { render, streaming }: LayoutOptions): number {
  const rendered = render(text)
  if (!streaming) return rendered.length
  return Math.max(rendered.length, streamLength(rendered.text, streaming.stream, most))
}

/**
 * Everything up to this one is there, each beginning where the one before ended; differently cut pieces don't count.
 */
function isWhole(own: readonly Entry[], last: Entry, source: string): boolean {
  const upTo = own.slice(0, own.indexOf(last) + 1)
  return upTo.every(({ piece }, index) => {
    const before = upTo[index - 1]
    const [from, end] = [piece?.from ?? 0, before ? endOf(before, source) : 0]
    // A failed piece may have grown since.
    return from === end || (before?.state === 'failed' && from > end)
  })
}

/** Where the next message begins. Blank lines belong to the one before, which may have been posted without them. */
function endOf({ piece }: Entry, source: string): number {
  const to = piece?.to ?? 0
  return to + (/^(?:[ \t\r]*\n)*/.exec(source.slice(to))?.[0].length ?? 0)
}

function lengthFor(card: Card, { limits, mode, ledger }: LayoutOptions): number {
  const most = mode === 'append' ? Math.min(appendLength, limits.maxLength) : limits.maxLength
  const free = mode === 'live' ? Math.max(Math.ceil(most / 2), most - footerLength) : most
  return Math.min(free, ledger.caps[card.key]?.most ?? free)
}
