import { bestCut } from './cut.ts'
import { estimateFit } from './estimate.ts'
import { firstLine, type Line } from './line.ts'
import { closingFence, type OpenBlocks, openBlocksOf, reopening } from './reopen-blocks.ts'

/** One piece of a text, as one message shows it. */
export interface Slice {
  /** `[from, to)` in the source, in UTF-16 units. */
  readonly from: number
  /** The end, exclusive: the next slice begins here. */
  readonly to: number
  /** The slice, valid Markdown on its own: blocks open at its start are reopened, a fence open at its end is closed. */
  readonly source: string
  /** The blocks open at its end, which the next slice continues. */
  readonly open: OpenBlocks | undefined
}

/** How long slices may be, and how to measure them. */
export interface SplitOptions {
  /** The maximum length of a slice, as measured. */
  readonly maxLength: number
  /**
   * The rendered length of a slice on its own. Text must not measure more than its UTF-16 units, apart from tables and
   * the like (see `estimateFit`): then sealed slices stay as they are. If it does measure more, slices still fit.
   */
  readonly measure: (source: string) => number
  /** Finds runs of the characters that rendering may double: a pattern with `g`. Default: none. */
  readonly escapable?: RegExp | undefined
  /** Where to begin. Default: at the beginning. */
  readonly from?: number | undefined
  /** The blocks that are open at `from`, as the `open` of the slice before it. Default: none. */
  readonly open?: OpenBlocks | undefined
}

/** How often to try to fit more in when markup leaves room. */
const mostFitTries = 4
/** The smallest expected gain that is worth another try, in UTF-16 units. */
const leastGain = 250
/** The most that a slice may shrink when it is rendered, as a factor. Text beyond that is not considered. */
const mostShrink = 4
/** The most text beyond a message's length that is considered, in UTF-16 units. */
const mostBeyond = 12_288

/**
 * Cuts Markdown into slices that each fit a message. Concatenated, they are the source.
 *
 * Every slice but the last is stable when text is added to the source. The last one includes all white space after it.
 * An empty source has no slices.
 */
export function split(source: string, { from = 0, open, ...options }: SplitOptions): readonly Slice[] {
  const hasEscapable = includesEscapable(source.slice(from), options.escapable)
  const slices: Slice[] = []
  let at = from
  let blocks = open
  while (at < source.length) {
    const slice = sliceAt(source, at, { ...options, hasEscapable, open: blocks })
    slices.push(slice)
    at = slice.to
    blocks = slice.open
  }
  return slices
}

interface SliceLimits {
  readonly maxLength: number
  readonly measure: (source: string) => number
  readonly escapable?: RegExp | undefined
  /** Whether the source has characters that may double, here or in later slices. */
  readonly hasEscapable: boolean
  readonly open: OpenBlocks | undefined
}

/**
 * Returns the slice that begins at `startIndex`. It is as long as fits, and ends at the best position before that, or after
 * one character if nothing fits. `limits.open` has the blocks to reopen.
 */
function sliceAt(source: string, startIndex: number, limits: SliceLimits): Slice {
  const { maxLength, measure } = limits
  const rest = source.slice(startIndex, startIndex + Math.min(mostShrink * maxLength, maxLength + mostBeyond) + 1)
  const isMidLine = startIndex > 0 && source.charAt(startIndex - 1) !== '\n'
  const whole = reopening(rest, limits.open, isMidLine)
  // If the reopened constructs take more than a quarter of the slice, drop them.
  const { prefix, skip } = whole.prefix.length > maxLength / 4 ? { prefix: '', skip: 0 } : whole
  const text = prefix + rest.slice(skip)
  const escapable = limits.hasEscapable || includesEscapable(prefix, limits.escapable) ? limits.escapable : undefined
  const placeOf = (at: number): number => startIndex + skip + at - prefix.length
  const complete = new Map<number, CompleteText>()
  /** Returns the text before that index with its blocks closed, cached. */
  const completeAt = (at: number): CompleteText => {
    const found = complete.get(at) ?? completedText(text.slice(0, at))
    complete.set(at, found)
    return found
  }
  const measured = new Map<number, number>()
  /** Returns the rendered length of the text before that index with its blocks closed, cached. */
  const measureAt = (at: number): number => {
    const known = measured.get(at)
    if (known !== undefined) return known
    const unclosed = text.slice(0, at).trimEnd()
    let length = measure(unclosed)
    // A text that is already too long is not measured again with its fence closed.
    if (length <= maxLength && completeAt(at).source !== unclosed) length = measure(completeAt(at).source)
    measured.set(at, length)
    return length
  }
  const slice = (at: number, to: number): Slice => ({ from: startIndex, to, ...completeAt(at) })

  const inked = text.trimEnd().length
  const isWhole = startIndex + rest.length === source.length
  let last = furthestFit(text, { maxLength, escapable, measureAt, enough: isWhole ? inked : undefined })
  if (isWhole && inked <= last) {
    if (measureAt(text.length) <= maxLength) return slice(text.length, source.length)
    last = inked - 1
  }
  for (;;) {
    last = Math.max(prefix.length + 1, Math.min(last, text.length - 1))
    const at = bestCut(text, { first: prefix.length, last })
    const length = measureAt(at)
    if (length <= maxLength) return slice(at, placeOf(at))
    const share = Math.min(0.9, (0.98 * maxLength) / length)
    last = prefix.length + Math.floor((at - prefix.length) * share)
    // The shortest cut is one or two units after the prefix.
    if (last > prefix.length + 2) continue
    const least = bestCut(text, { first: prefix.length, last: prefix.length + 1 })
    if (at <= least) return sliceWithoutBlocks(source, startIndex, placeOf(at))
    last = Math.max(least, last)
  }
}

/** Whether the text has characters that may double. False without a pattern. */
function includesEscapable(text: string, escapable: RegExp | undefined): boolean {
  return escapable !== undefined && text.search(escapable) >= 0
}

/**
 * Returns up to which index the text fits a message, approximately: never too far, and closer by measuring what markup saves,
 * in at most `mostFitTries` tries, until `enough` is reached. The end never depends on the text after it.
 */
function furthestFit(
  text: string,
  {
    maxLength,
    escapable,
    measureAt,
    enough,
  }: Pick<SliceLimits, 'maxLength' | 'escapable'> & {
    readonly measureAt: (at: number) => number
    readonly enough: number | undefined
  },
): number {
  let from: Line = firstLine(text)
  let { end, block, isFull } = estimateFit(text, from, maxLength, escapable)
  let gained = end
  for (let tries = 0; tries < mostFitTries; tries++) {
    if (isFull || (enough !== undefined && end >= enough) || end >= text.length) break
    if (block === undefined || block.start <= from.start) break
    from = block
    // The white space before the block counts only when something follows it.
    const space = from.start - text.slice(0, from.start).trimEnd().length
    const next = estimateFit(text, from, maxLength - measureAt(from.start) - space, escapable)
    if (next.end <= end) break
    const gain = next.end - end
    end = next.end
    isFull = next.isFull
    block = next.block ?? block
    // The next gain shrinks as this one did.
    if (gain < leastGain || (gain * gain) / gained < leastGain) break
    gained = gain
  }
  return end
}

interface CompleteText {
  readonly source: string
  readonly open: OpenBlocks | undefined
}

/** Closes an open fence, and returns the blocks that stay open. */
function completedText(text: string): CompleteText {
  const open = openBlocksOf(text)
  // Trailing white space is invisible, so it takes no room.
  return { source: text.trimEnd() + closingFence(open), open }
}

/** Returns the source as it is. Used when not even one character fits together with the reopened blocks. */
function sliceWithoutBlocks(source: string, from: number, to: number): Slice {
  return { from, to, source: source.slice(from, to), open: undefined }
}
