import { type Carry, carryOf, closing, opening } from './carry.ts'
import { cutOf } from './cut.ts'
import { firstRow, type Row, reach } from './reach.ts'

export interface Slice {
  /** `[from, to)` in the source, in UTF-16 units. */
  readonly from: number
  readonly to: number
  /** The slice whole in itself: carried fences, items and quotes are opened again, an open fence is closed. */
  readonly source: string
  /** What the next slice goes on with. */
  readonly carry: Carry | undefined
}

export interface SplitOptions {
  /** The most that a slice may measure. */
  readonly maxLength: number
  /**
   * How long a slice is when it is rendered alone. Text must not measure more than its UTF-16 units, tables and the
   * like set aside (see `reach`): then what is sealed stays as it is. If it does, slices fit nevertheless.
   */
  readonly measure: (source: string) => number
  /** Letters of which each may be written as two: a pattern with `g`. Default: none is. */
  readonly swells?: RegExp | undefined
  /** Where to begin, and what is carried into that. Default: at the beginning, nothing. */
  readonly from?: number | undefined
  readonly carry?: Carry | undefined
}

/** How often it is tried to get more in, when markup leaves room. */
const TRIES = 4
/** Less than that isn't worth another try. */
const WORTH = 100
/** The most that a slice may shrink when it is rendered: what is behind that isn't looked at. */
const SHRINKS = 4

/**
 * Cuts Markdown into slices that each fit a message. Put together they are the source.
 *
 * Every slice but the last stays as it is whatever is added to the source. The last one takes white space behind it
 * along, however much. An empty source has no slices.
 */
export function split(source: string, { from = 0, carry, ...options }: SplitOptions): readonly Slice[] {
  const slices: Slice[] = []
  let at = from
  let open = carry
  while (at < source.length) {
    const slice = sliceAt(source, at, { ...options, carry: open })
    slices.push(slice)
    at = slice.to
    open = slice.carry
  }
  return slices
}

interface SliceOptions {
  readonly maxLength: number
  readonly measure: (source: string) => number
  readonly swells?: RegExp | undefined
  readonly carry: Carry | undefined
}

function sliceAt(source: string, from: number, options: SliceOptions): Slice {
  const { maxLength, measure, swells } = options
  const rest = source.slice(from, from + SHRINKS * maxLength + 1)
  const midLine = from > 0 && source.charAt(from - 1) !== '\n'
  const whole = opening(rest, options.carry, midLine)
  // With less room than that, slices are better cut than whole.
  const { prefix, skip } = whole.prefix.length > maxLength / 4 ? { prefix: '', skip: 0 } : whole
  const text = prefix + rest.slice(skip)
  const placeOf = (at: number): number => from + skip + at - prefix.length
  const slice = (at: number, to: number): Slice => ({ from, to, ...finished(text.slice(0, at)) })

  const measured = new Map<number, number>()
  const measureAt = (at: number): number => {
    const known = measured.get(at) ?? measure(finished(text.slice(0, at)).source)
    measured.set(at, known)
    return known
  }

  const inked = text.trimEnd().length
  const isWhole = from + rest.length === source.length
  let last = furthest(text, { maxLength, swells, measureAt, enough: isWhole ? inked : undefined })
  if (isWhole && inked <= last) {
    const all = slice(text.length, source.length)
    if (measure(all.source) <= maxLength) return all
    last = inked - 1
  }
  for (;;) {
    last = Math.max(prefix.length + 1, Math.min(last, text.length - 1))
    const at = cutOf(text, { first: prefix.length, last })
    const length = measureAt(at)
    if (length <= maxLength) return slice(at, placeOf(at))
    const least = cutOf(text, { first: prefix.length, last: prefix.length + 1 })
    if (at <= least) return bare(source, from, placeOf(at))
    const share = Math.min(0.9, maxLength / length)
    last = Math.max(least, prefix.length + Math.floor((at - prefix.length) * share))
  }
}

/** So much of the text fits. What is found never depends on what comes after it. */
function furthest(
  text: string,
  {
    maxLength,
    swells,
    measureAt,
    enough,
  }: Pick<SliceOptions, 'maxLength' | 'swells'> & {
    readonly measureAt: (at: number) => number
    readonly enough: number | undefined
  },
): number {
  let from: Row = firstRow(text)
  let { end, block } = reach(text, from, maxLength, swells)
  for (let tries = 0; tries < TRIES; tries++) {
    if ((enough !== undefined && end >= enough) || end >= text.length) break
    if (block === undefined || block.start <= from.start) break
    from = block
    // The white space before the block doesn't count until something follows.
    const space = from.start - text.slice(0, from.start).trimEnd().length
    const next = reach(text, from, maxLength - measureAt(from.start) - space, swells)
    if (next.end <= end) break
    const gain = next.end - end
    end = next.end
    block = next.block ?? block
    if (gain < WORTH) break
  }
  return end
}

function finished(text: string): { readonly source: string; readonly carry: Carry | undefined } {
  const carry = carryOf(text)
  // White space at the end is nothing to see: however much there is, it takes no room.
  return { source: text.trimEnd() + closing(carry), carry }
}

/** When not even one letter fits with all that is carried. */
function bare(source: string, from: number, to: number): Slice {
  return { from, to, source: source.slice(from, to), carry: undefined }
}
