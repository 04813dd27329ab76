import { hashOf } from '../hash.ts'
import type { AnswerCard } from '../ledger/card.ts'
import { type Entry, isEditable } from '../ledger/entry.ts'
import { correctionOf, messageIndex } from '../ledger/keys.ts'
import { entriesOf, type Ledger } from '../ledger/ledger.ts'
import type { LayoutOptions } from './slot.ts'

/** The part of an answer that the chat shows, and where the rest of its text begins. */
export interface PostedAnswer {
  /** Whether a message that can't be edited shows an outdated text, or such a message was corrected. */
  readonly isWrong: boolean
  /**
   * Messages that keep their slice of the text, oldest first: the last one that stays, and those above it that show a
   * status.
   */
  readonly kept: readonly Entry[]
  /** Where the text below them begins, in UTF-16 units. */
  readonly from: number
  /** Index of the next message. */
  readonly nextIndex: number
}

/** A posted message of the answer, and its slice of the text. */
interface PostedPiece {
  readonly entry: Entry
  readonly from: number
  readonly to: number
  readonly upTo: string
  /** Where the next message begins. The blank lines after the slice may have been posted without it. */
  readonly end: number
  /** Whether the slices up to this one cover the text without a gap. */
  readonly isConnected: boolean
}

/**
 * Decides which posted messages of an answer stay as they are, and so where the text for the messages below them begins:
 * 1. the last one that can't be edited, with all before it
 * 2. otherwise the last one that was a stream and was closed before the text ended
 * 3. where less fits than expected, also all before the message that did not fit
 */
export function postedAnswer({ key, source }: AnswerCard, options: LayoutOptions): PostedAnswer {
  const { ledger } = options
  const pieces = postedPieces(ledger, { key, source })
  const isUnchanged = ({ isConnected, to, upTo }: PostedPiece): boolean =>
    isConnected && hashOf(source.slice(0, to)) === upTo
  const fixed = pieces.findLast(({ entry }) => isFixed(entry, options))
  const final = fixed ?? pieces.findLast((piece) => isClosedStream(piece.entry) && isUnchanged(piece))
  const capFrom = ledger.caps[key]?.from
  const last = pieces.findLast((piece) => piece === final || (piece.end === capFrom && isUnchanged(piece)))
  // Once corrected it stays so, even if the wrong message has been removed.
  const isCorrected = entriesOf(ledger, correctionOf(key)).length > 0
  return {
    isWrong: isCorrected || (final !== undefined && !isUnchanged(final)),
    kept: pieces
      .slice(0, last ? pieces.indexOf(last) + 1 : 0)
      .filter((piece) => piece === last || hasStatusBelow(piece.entry))
      .map(({ entry }) => entry),
    from: last?.end ?? 0,
    nextIndex: last ? messageIndex(last.entry.key) + 1 : 0,
  }
}

/**
 * Returns the messages of the answer whose posts have a result, in order. A failed one keeps its place, so that later
 * ones stay cut as they are.
 */
function postedPieces(ledger: Ledger, { key, source }: Pick<AnswerCard, 'key' | 'source'>): readonly PostedPiece[] {
  const entries = entriesOf(ledger, key)
    .filter(({ state }) => state !== 'intent')
    .toSorted((a, b) => messageIndex(a.key) - messageIndex(b.key))
  const pieces: PostedPiece[] = []
  for (const entry of entries) {
    if (!entry.piece) continue
    const before = pieces.at(-1)
    const { from, to, upTo } = entry.piece
    const blank = /^(?:[ \t\r]*\n)*/.exec(source.slice(to))?.[0] ?? ''
    const expected = before?.end ?? 0
    // A failed piece may have grown since.
    const isNext = from === expected || (before?.entry.state === 'failed' && from > expected)
    const isConnected = isNext && (before?.isConnected ?? true)
    pieces.push({ entry, from, to, upTo, end: to + blank.length, isConnected })
  }
  return pieces
}

/**
 * Whether the message keeps its text for good: it can no longer be edited. Where nothing can be edited, that is every message.
 * A failed one only if an older text may be in its place.
 */
function isFixed(entry: Entry, { mode, limits }: LayoutOptions): boolean {
  if (mode === 'append' || !limits.edits) return true
  if (entry.state === 'failed') return entry.olderRef !== undefined
  return entry.state === 'shown' && entry.access.type === 'fixed'
}

/** Whether the message was a stream that was closed before its text ended, and certainly shows, or showed, its text. */
function isClosedStream(entry: Entry): boolean {
  if (entry.state === 'gone') return entry.isClosed === true
  return entry.state === 'shown' && entry.access.type === 'closed-stream' && !entry.isUnsure
}

/** Whether the message shows a status below its text that can be removed. */
export function hasStatusBelow(entry: Entry): boolean {
  return isEditable(entry) && entry.content.type === 'known' && entry.content.whole !== entry.content.body
}
