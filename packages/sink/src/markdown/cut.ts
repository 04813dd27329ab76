import { nextRow, type Row, rowAt } from './row.ts'

export interface CutWindow {
  /** Cuts come after this position. */
  readonly first: number
  /** The last position for a cut. Only the one unit behind it is examined. */
  readonly last: number
}

/** How far back from the last position to look for a better cut, in UTF-16 units. */
const BACK = 200

/** How far back to look for the start of a link or of code, in UTF-16 units. */
const SPAN_BACK = 1000

const SENTENCE = /[.!?…]["'”’)\]*_`]*[ \t]+|[。！？]+[”’」』）]*/g
const SPACE = /[ \t]+/g
const SPAN =
  /(?<!`)(`+)(?!`)[^\n]*?[^`]\1(?!`)|!?\[[^\]\n]*\]\([^)\n]*\)|https?:\/\/[^\s<>]+|\*\*[^*\n]+\*\*|(?<!`)`+[^`\n]*$|!?\[[^\]\n]*(?:\](?:\([^)\n]*)?)?$|\*\*[^*\n]*$/g
const CLOSING = /^[ \t>]*(?:`{3,}|~{3,})\s*$/

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/**
 * The best position to cut a text: the last blank line, else new line, sentence end, or space in the window. Never
 * within a grapheme, unless it is longer than the window.
 */
export function cutOf(text: string, { first, last }: CutWindow): number {
  const low = Math.max(first, last - Math.min(BACK, (last - first) >> 1))
  const seen = text.slice(0, last + 1)
  const rows = rowsIn(seen, low)
  const atRow = rowCut(seen, rows, { first: low, last })
  if (atRow !== undefined) return atRow
  const row = rows.at(-1)
  const spans = row === undefined || row.fence !== undefined ? [] : spansIn(seen, Math.max(row.start, last - SPAN_BACK))
  const isFree = (at: number): boolean => !spans.some(({ start, end }) => start < at && at < end)
  const inLine = (pattern: RegExp, from: number): number | undefined => {
    const places = [...seen.slice(from, last).matchAll(pattern)].map(
      ({ index, 0: found }) => from + index + found.length,
    )
    return places.findLast((at) => at > from && isFree(at) && isLetterStart(seen, at))
  }
  const near = Math.max(low, row?.start ?? 0)
  const far = Math.max(first, row?.start ?? 0, last - SPAN_BACK)
  return (
    inLine(SENTENCE, near) ??
    inLine(SPACE, near) ??
    hardCut(seen, { first, low, last }, isFree) ??
    inLine(SPACE, far) ??
    hardCut(seen, { first, low: first, last }, () => true) ??
    codePoint(seen, { first, last })
  )
}

/** Ends of words, also in texts without spaces. */
const WORD_END = /\s+|[、，。！？；：]+/g
const LINE_END = /\n+/g

/**
 * Where a text that may go on ends with a whole word, outside links, inline code and bold text; in a block of code with a
 * whole line. At least `first`. A word of more than 200 units is cut.
 */
export function wordsEnd(text: string, first: number): number {
  const last = isHigh(text.charCodeAt(text.length - 1)) ? text.length - 1 : text.length
  // One unit behind the text stands for what may come.
  const seen = `${text.slice(0, last)}x`
  const { start, fence } = rowAt(seen, last)
  const spans = fence === undefined ? spansIn(seen, Math.max(start, last - SPAN_BACK)) : []
  const isFree = (at: number): boolean => !spans.some((span) => span.start < at && at < span.end)
  const from = Math.max(first, last - SPAN_BACK)
  const found = seen.slice(from, last).matchAll(fence === undefined ? WORD_END : LINE_END)
  const end = [...found].map(({ index, 0: gap }) => from + index + gap.length).findLast(isFree)
  if (end === undefined)
    return last - first <= BACK ? first : (hardCut(seen, { first, low: first, last }, () => true) ?? first)
  if (fence === undefined) return end
  const above = rowAt(seen, end - 1)
  // A fence that has just been opened comes with its first line.
  return above.fence === undefined ? Math.max(first, above.start) : end
}

/** The line at a position and all lines after it. */
function rowsIn(text: string, at: number): readonly Row[] {
  const rows: Row[] = []
  for (let row: Row | undefined = rowAt(text, at); row !== undefined; row = nextRow(text, row)) rows.push(row)
  return rows
}

function rowCut(text: string, rows: readonly Row[], { first, last }: CutWindow): number | undefined {
  const hasBar = (row: Row | undefined): boolean => row !== undefined && text.slice(row.start, row.end).includes('|')
  const isPlace = ({ start }: Row): boolean => start > first && start <= last
  const isOutside = (row: Row): boolean => row.fence === undefined && isPlace(row)
  const blank = rows.findLast((row) => row.afterBlank && isOutside(row))
  if (blank !== undefined) return blank.start
  const plain = rows.findLast((row, at) => isOutside(row) && !(hasBar(row) && hasBar(rows[at - 1])))
  if (plain !== undefined) return plain.start
  const inside = rows.findLast((row, at) => {
    if (!isPlace(row)) return false
    const line = text.slice(row.start, row.end)
    if (row.fence !== undefined) return rows[at - 1]?.fence !== undefined && !CLOSING.test(line)
    // Not between a table's head and its rule.
    return !/^[\s|:-]*$/.test(line)
  })
  return inside?.start
}

function spansIn(text: string, from: number): readonly { readonly start: number; readonly end: number }[] {
  return [...text.slice(from, -1).matchAll(SPAN)].map(({ index, 0: found }) => ({
    start: from + index,
    // A span that reaches the end may continue behind it.
    end: from + index + found.length + (from + index + found.length === text.length - 1 ? 1 : 0),
  }))
}

/** Whether a grapheme begins there. Unsure cases count as no. */
function isLetterStart(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  if (code < 0x80) return true
  if (Number.isNaN(code) || (isHigh(code) && at + 1 >= text.length)) return false
  return graphemes.segment(text.slice(at - 1, at + 2)).containing(1)?.index === 1
}

/** The last place between graphemes after `low`. `first` is one, too. */
function hardCut(
  seen: string,
  { first, low, last }: CutWindow & { readonly low: number },
  isGood: (at: number) => boolean,
): number | undefined {
  const text = isHigh(seen.charCodeAt(last)) ? seen.slice(0, last) : seen
  let at = Math.min(last, text.length - 1)
  for (; at > low && isBetweenAscii(text, at); at--) {
    if (isGood(at)) return at
  }
  if (at <= low) return undefined
  const start = safeStart(text, first, low)
  let best: number | undefined
  for (const { index } of graphemes.segment(text.slice(start))) {
    const place = start + index
    if (place > low && place <= last && isGood(place)) best = place
  }
  return best
}

/** A cut within a grapheme that is longer than the window, but between code points. */
function codePoint(seen: string, { first, last }: CutWindow): number {
  const isPair = isHigh(seen.charCodeAt(last - 1)) && isLow(seen.charCodeAt(last))
  if (!isPair) return last
  return last - 1 > first ? last - 1 : last + 1
}

/** Where to look for graphemes from. Only the first that is found there may be less than a whole one. */
function safeStart(text: string, first: number, low: number): number {
  for (let at = low; at > Math.max(first, low - SPAN_BACK); at--) {
    if (isBetweenAscii(text, at)) return at
  }
  return flagStart(text, first, low)
}

/** The position, or that of the flag that it is in: each two of the letters that flags are made of are one. */
function flagStart(text: string, first: number, at: number): number {
  const near = isLow(text.charCodeAt(at)) && at > first ? at - 1 : at
  let start = near
  while (start - 2 >= first && isFlagLetter(text, start - 2)) start -= 2
  return (near - start) % 4 === 0 ? near : near - 2
}

/** U+1F1E6 to U+1F1FF. */
function isFlagLetter(text: string, at: number): boolean {
  const low = text.charCodeAt(at + 1)
  return text.charCodeAt(at) === 0xd83c && low >= 0xdde6 && low <= 0xddff
}

function isBetweenAscii(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1)
  const after = text.charCodeAt(at)
  return before < 0x80 && after < 0x80 && !(before === 0x0d && after === 0x0a)
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}

function isLow(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff
}
