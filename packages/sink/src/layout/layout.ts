import type { Card } from '../ledger/card.ts'
import { changesKey, contextKey, doneKey, isJoinedPrompt, stoppedKey } from '../ledger/keys.ts'
import { entryAt, type Ledger } from '../ledger/ledger.ts'
import { split } from '../markdown/split.ts'
import { answerSlots } from './answer-slots.ts'
import { askSlots } from './ask-slots.ts'
import {
  hasFooter,
  isStreamed,
  isStreaming,
  type LayoutOptions,
  type Slot,
  slotOf,
  smallLine,
  withFooter,
  withLineBelow,
} from './slot.ts'

/**
 * Lays out cards as messages: renders, measures and splits them. A status goes below a text that grows at the end, if it can
 * be edited, and is left out if that text is streamed. Otherwise it is a message of its own at the end, unless it is
 * `isOnlyBelow`. So does the line about changed files, below the end of the answer. The line that the run was stopped only goes
 * there. Pure.
 */
export function layout(cards: readonly Card[], options: LayoutOptions): readonly Slot[] {
  const status = cards.find((card) => card.type === 'status')
  const tail = cards.findLast(({ type, key }) => !belowAnswer.has(type) && !isAfterword(key, options.ledger))
  const laidOut = cards.flatMap((card): readonly Slot[] => {
    if (card.type === 'answer') return answerSlots(card, { ...options, isTail: card === tail })
    if (card.type === 'ask') return askSlots(card, options)
    if (card.type === 'status') return []
    return [slotOf(card, card.key, isJoinedPrompt(card.key) ? shortened(card.source, options) : card.source, options)]
  })
  const slots = withStoppedBelow(laidOut, tail, options)
  if (!status) return tail?.type === 'answer' ? withChangesBelow(slots, tail, options) : slots
  const last = slots.at(-1)
  const isBelow = last?.isGrowing === true && last.card.key === tail?.key
  // A stream shows the activity itself.
  if (isBelow && isStreaming(last, options)) return slots
  // Growing text carries the status below it.
  if (isBelow && options.limits.edits) return [...slots.slice(0, -1), withFooter(last, status, options)]
  if (status.isOnlyBelow) return slots
  return [...slots, slotOf(status, status.key, smallLine(status, options), options)]
}

/** Returns the beginning of a text that fits a message. */
function shortened(source: string, { limits, render }: LayoutOptions): string {
  const { maxLength, escapable } = limits
  const [slice] = split(source, { maxLength, escapable, measure: (text) => render(text).length })
  return slice?.source.trim() ?? source
}

/**
 * Moves the line that the run was stopped below the end of the answer. Leaves it out if that is not the last card, or the line does
 * not fit there.
 */
function withStoppedBelow(slots: readonly Slot[], tail: Card | undefined, options: LayoutOptions): readonly Slot[] {
  const line = slots.find(({ key }) => key === stoppedKey)
  if (!line) return slots
  const others = slots.filter((slot) => slot !== line)
  const last = others.findLast(({ card }) => card === tail)
  if (tail?.type !== 'answer' || !last || last.isKept || isStreamed(last, options) || !options.limits.edits)
    return others
  const below = withLineBelow(last, line.bubble, options)
  return below ? others.map((slot) => (slot === last ? { ...below, saysStopped: true } : slot)) : others
}

/**
 * Moves the line about changed files, with its button, below the end of the answer. The same slots without that line, and if it
 * has to be a message of its own: because it does not fit, or because the answer was streamed or can't be edited.
 */
function withChangesBelow(slots: readonly Slot[], tail: Card, options: LayoutOptions): readonly Slot[] {
  const line = slots.find(({ card }) => card.key === changesKey)
  const last = slots.findLast(({ card }) => card === tail)
  if (!line || !last || last.isGrowing || isStreamed(last, options) || !options.limits.edits) return slots
  const below = last.isKept ? (hasFooter(last, options) ? last : undefined) : withLineBelow(last, line.bubble, options)
  return below ? slots.flatMap((slot) => (slot === line ? [] : [slot === last ? below : slot])) : slots
}

/** Cards below the end of an answer that belong to it. */
const belowAnswer: ReadonlySet<Card['type']> = new Set(['status', 'file', 'attachment'])

/**
 * Whether the card is posted after the end of the answer and is not posted yet. Until then, the answer's last message
 * notifies.
 */
function isAfterword(key: string, ledger: Ledger): boolean {
  return key === stoppedKey || ((key === doneKey || key === contextKey || key === changesKey) && !entryAt(ledger, key))
}
