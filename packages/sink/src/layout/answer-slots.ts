import type { AnswerCard } from '../ledger/card.ts'
import { type Entry, isOrWasThere } from '../ledger/entry.ts'
import { answerMessageKey, correctionOf } from '../ledger/keys.ts'
import { entriesByKey, entriesOf } from '../ledger/ledger.ts'
import { closeMarkdown } from '../markdown/close-markdown.ts'
import { createGrowingSplit, type HashedSlice } from '../markdown/growing-split.ts'
import { openBlocksOf } from '../markdown/reopen-blocks.ts'
import { split } from '../markdown/split.ts'
import type { AppendStream } from '../port/port.ts'
import { withoutHalf } from '../port/well-formed.ts'
import { hasStatusBelow, type PostedAnswer, postedAnswer } from './posted-answer.ts'
import { isStreaming, keptSlot, type LayoutOptions, type Slot, sealedSlot, slotOf } from './slot.ts'

/** Caches how growing texts were cut, so that only new text is cut. */
const cutGrowing = createGrowingSplit()

export interface AnswerLayoutOptions extends LayoutOptions {
  /** Whether the answer is the last card, apart from a status and notes on its end that are not posted yet. */
  readonly isTail: boolean
}

/**
 * Returns the messages of an answer. Pure.
 *
 * 1. Posted messages that stay as they are keep their slices of the text.
 * 2. The text below them is cut into slices that each fit a message. All but the last are complete.
 * 3. If a posted message shows another text and can't be edited, the whole answer is posted again when it is final.
 * 4. While the beginning of the text is unknown, all messages stay as they are.
 */
export function answerSlots(newest: AnswerCard, options: AnswerLayoutOptions): readonly Slot[] {
  // The end of growing text is often taken back: white space, and half a pair of backticks by `closeMarkdown`. The other
  // half of a surrogate pair comes with the next delta.
  const card = newest.isOpen ? { ...newest, source: withoutHalf(newest.source).trimEnd() } : newest
  if (card.isUnknown) {
    const there = entriesOf(options.ledger, card.key).filter(isOrWasThere)
    return there.map((entry) => keptSlot(entry, card, options))
  }
  const posted = postedAnswer(card, options)
  if (posted.isWrong) return card.isOpen ? [] : answerSlots(correctionFor(card, options), options)
  const kept = posted.kept.map((entry) => slotOfKept(entry, card, options))
  if (kept.length > 0 && card.source.slice(posted.from).trim() === '') return kept
  const rest = slicesBelow(posted, card, options).map((slice) => slotOfSlice(slice, card, options))
  return [...kept, ...rest.filter(({ bubble }) => bubble.text.trim() !== '')]
}

/** Returns the answer as a new card with a label, to post below the wrong messages. */
function correctionFor(card: AnswerCard, { texts }: LayoutOptions): AnswerCard {
  return { ...card, key: correctionOf(card.key), source: withLabel(texts.correction, card.source) }
}

/**
 * Returns the slot of a message that keeps its slice of the text. If it shows an outdated status below its text, the
 * slot is without it, so that an edit removes it.
 */
function slotOfKept(entry: Entry, card: AnswerCard, options: LayoutOptions): Slot {
  const { key, piece, isContinued } = entry
  if (!piece || !hasStatusBelow(entry)) return keptSlot(entry, card, options)
  const open = openBlocksOf(card.source.slice(0, piece.from))
  const uncut = { maxLength: Number.POSITIVE_INFINITY, measure: (text: string) => text.length }
  const [slice] = split(card.source.slice(0, piece.to), { ...uncut, from: piece.from, open })
  const label = isContinued ? continuedLabel(options) : ''
  const slot = slotOf(card, key, `${label}${slice?.source.trim() ?? ''}`, options)
  return { ...slot, piece, ...(isContinued && { isContinued }) }
}

/** A slice of the text, and the message that shows it. */
interface PlacedSlice {
  readonly slice: HashedSlice
  readonly key: string
  /** Whether its message is the last one of the answer. */
  readonly isLast: boolean
  /** Whether its message begins with a label because it continues a text above other messages. */
  readonly isContinued: boolean
}

/** Cuts the answer's text from `from` on, which no message that stays shows, into slices for the messages below those. */
function slicesBelow(
  { from, nextIndex }: PostedAnswer,
  card: AnswerCard,
  options: AnswerLayoutOptions,
): readonly PlacedSlice[] {
  const { ledger, limits, render, streaming, isTail } = options
  const maxLength = maxLengthOf(card, options)
  const slices = cutGrowing(card.source, {
    from,
    open: () => openBlocksOf(card.source.slice(0, from)),
    maxLength,
    escapable: limits.escapable,
    measure: (text) => renderedLength(text, maxLength, options),
    measuredBy: [render, limits.maxLength, streaming?.stream],
  })
  const posted = entriesByKey(ledger)
  return slices.map((slice, at) => {
    const index = nextIndex + at
    const key = answerMessageKey(card.key, index)
    const entry = posted.get(key)
    // A posted message keeps its label, or stays without.
    const isContinued = entry ? entry.isContinued === true : index > 0 && !isTail
    return { slice, key, isLast: at === slices.length - 1, isContinued }
  })
}

/**
 * Returns the message of a slice, with a label if it continues text above another card. Growing Markdown is closed where
 * messages are edited. Without the label and the closing marks if the text only fits without them.
 */
function slotOfSlice(
  { slice, key, isLast, isContinued }: PlacedSlice,
  card: AnswerCard,
  options: AnswerLayoutOptions,
): Slot {
  const { mode, streaming, isTail } = options
  const isGrowing = card.isOpen && isLast
  // A stream shows text as it comes. An edited message shows valid Markdown at any time.
  const isClosedEarly = isGrowing && mode === 'live' && !isStreaming({ key, isGrowing }, options)
  const isComplete = !isLast && !isContinued
  const text = (): string => slice.source.trim()
  const labelled = (): string =>
    `${isContinued ? continuedLabel(options) : ''}${isClosedEarly ? closeMarkdown(slice.source.trimEnd()) : text()}`
  const fittingOrBare = (source: string): string => (fitsMessage(source, card, options) ? source : text())
  const slot = isComplete
    ? sealedSlot(slice, { card, key, source: text }, options)
    : slotOf(card, key, fittingOrBare(labelled()), options)
  return {
    ...slot,
    piece: { from: slice.from, to: slice.to, upTo: slice.upTo },
    isGrowing,
    isLast: isLast && isTail,
    ...(isLast && isTail && streaming && { flow: streaming.flow }),
    ...(isContinued && { isContinued }),
  }
}

/** Returns the label of a message that continues the one above. Empty if the host's text is blank. */
function continuedLabel({ texts }: LayoutOptions): string {
  return withLabel(texts.continued, '')
}

/** Puts a label of the sink in italics above the text. Returns the text alone if the label is blank. */
function withLabel(label: string, text: string): string {
  return label.trim() === '' ? text : `*${label}*\n\n${text}`
}

/** Whether the text fits a message. A label or a closing mark may be too much for a text that fits alone. */
function fitsMessage(source: string, card: AnswerCard, options: LayoutOptions): boolean {
  const maxLength = maxLengthOf(card, options)
  return renderedLength(source, maxLength, options) <= maxLength
}

/** Returns the rendered length of a text, for a message and a stream alike. */
function renderedLength(text: string, maxLength: number, { render, streaming }: LayoutOptions): number {
  const rendered = render(text)
  if (!streaming) return rendered.length
  return Math.max(rendered.length, scaledStreamLength(rendered.text, streaming.stream, maxLength))
}

/** Returns the maximum length of a slice, less after the platform refused a message as too long. */
function maxLengthOf(
  card: AnswerCard,
  { limits, mode, ledger, appendLength = limits.maxLength }: LayoutOptions,
): number {
  const most = mode === 'append' ? Math.min(appendLength, limits.maxLength) : limits.maxLength
  return Math.min(most, ledger.caps[card.key]?.most ?? most)
}

/** Returns the stream's length of a text, scaled to the unit of messages, so that a slice fits both. */
function scaledStreamLength(text: string, { maxLength, measure }: AppendStream, maxMessageLength: number): number {
  return Math.ceil((measure(text) / maxLength) * maxMessageLength)
}
