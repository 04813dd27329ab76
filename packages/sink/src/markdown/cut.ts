import { type Line, lineAt, nextLine } from './line.ts'

export interface CutWindow {
  /** Cuts must be after this position. */
  readonly first: number
  /** The last position for a cut. At most one UTF-16 unit after it is read. */
  readonly last: number
}

/** How far back from the last position to look for a better cut, in UTF-16 units. */
const mostBack = 200

/** How far back to look for the start of a link or of code, in UTF-16 units. */
const mostSpanBack = 1000

const afterSentencePattern = /[.!?…]["'”’)\]*_`]*[ \t]+|[。！？]+[”’」』）]*/g
const spacePattern = /[ \t]+/g
const spanPattern =
  /(?<!`)(`+)(?!`)[^\n]*?[^`]\1(?!`)|!?\[[^\]\n]*\]\([^)\n]*\)|https?:\/\/[^\s<>]+|\*\*[^*\n]+\*\*|(?<!`)`+[^`\n]*$|!?\[[^\]\n]*(?:\](?:\([^)\n]*)?)?$|\*\*[^*\n]*$/g
const closingFencePattern = /^[ \t>]*(?:`{3,}|~{3,})\s*$/

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/**
 * Returns the best position to cut a text: the last blank line in the window, or else the last new line, sentence end or
 * space. Not within links, code and bold text unless they are too long. Never within a grapheme, unless that is longer than
 * the window.
 */
export function bestCut(text: string, { first, last }: CutWindow): number {
  const low = Math.max(first, last - Math.min(mostBack, (last - first) >> 1))
  const seen = text.slice(0, last + 1)
  const lines = linesAtAndAfter(seen, low)
  const betweenLines = cutBetweenLines(seen, lines, { first: low, last })
  if (betweenLines !== undefined) return betweenLines
  const line = lines.at(-1)
  const spans =
    line === undefined || line.fence !== undefined
      ? []
      : unbreakableSpans(seen, Math.max(line.start, last - mostSpanBack))
  const isOutsideSpans = (at: number): boolean => !spans.some(({ start, end }) => start < at && at < end)
  const lastMatchEnd = (pattern: RegExp, from: number): number | undefined => {
    const places = [...seen.slice(from, last).matchAll(pattern)].map(
      ({ index, 0: found }) => from + index + found.length,
    )
    return places.findLast((at) => at > from && isOutsideSpans(at) && isGraphemeStart(seen, at))
  }
  const near = Math.max(low, line?.start ?? 0)
  const far = Math.max(first, line?.start ?? 0, last - mostSpanBack)
  return (
    lastMatchEnd(afterSentencePattern, near) ??
    lastMatchEnd(spacePattern, near) ??
    lastGraphemeCut(seen, { first, low, last }, isOutsideSpans) ??
    lastMatchEnd(spacePattern, far) ??
    lastGraphemeCut(seen, { first, low: first, last }, () => true) ??
    codePointCut(seen, { first, last })
  )
}

/** Ends of words, also in texts without spaces. */
const wordEndPattern = /\s+|[、，。！？；：]+/g
const lineEndPattern = /\n+/g

/**
 * Returns where a growing text can be posted up to that is never edited: the end of its last whole word, outside of links,
 * inline code and bold text. In a code block, the end of the last whole line. At least `leastEnd`. A word of more than 200
 * units is cut.
 */
export function lastWordEnd(text: string, leastEnd: number): number {
  const last = isHigh(text.charCodeAt(text.length - 1)) ? text.length - 1 : text.length
  // The extra unit stands for text that may follow.
  const seen = `${text.slice(0, last)}x`
  const { start, fence } = lineAt(seen, last)
  const spans = fence === undefined ? unbreakableSpans(seen, Math.max(start, last - mostSpanBack)) : []
  const isOutsideSpans = (at: number): boolean => !spans.some((span) => span.start < at && at < span.end)
  const from = Math.max(leastEnd, last - mostSpanBack)
  const found = seen.slice(from, last).matchAll(fence === undefined ? wordEndPattern : lineEndPattern)
  const end = [...found].map(({ index, 0: gap }) => from + index + gap.length).findLast(isOutsideSpans)
  if (end === undefined)
    return last - leastEnd <= mostBack
      ? leastEnd
      : (lastGraphemeCut(seen, { first: leastEnd, low: leastEnd, last }, () => true) ?? leastEnd)
  if (fence === undefined) return end
  const above = lineAt(seen, end - 1)
  // A fence that has just been opened comes with its first line.
  return above.fence === undefined ? Math.max(leastEnd, above.start) : end
}

/** Returns the line at a position and all lines after it. */
function linesAtAndAfter(text: string, at: number): readonly Line[] {
  const lines: Line[] = []
  for (let line: Line | undefined = lineAt(text, at); line !== undefined; line = nextLine(text, line)) lines.push(line)
  return lines
}

/**
 * Returns the start of the best line to cut before: after a blank line, else outside of fences and tables, else inside
 * them. Undefined if no line begins in the window.
 */
function cutBetweenLines(text: string, lines: readonly Line[], { first, last }: CutWindow): number | undefined {
  const hasBar = (line: Line | undefined): boolean =>
    line !== undefined && text.slice(line.start, line.end).includes('|')
  const isPlace = ({ start }: Line): boolean => start > first && start <= last
  const isOutside = (line: Line): boolean => line.fence === undefined && isPlace(line)
  const blank = lines.findLast((line) => line.afterBlank && isOutside(line))
  if (blank !== undefined) return blank.start
  const plain = lines.findLast((line, at) => isOutside(line) && !(hasBar(line) && hasBar(lines[at - 1])))
  if (plain !== undefined) return plain.start
  const inside = lines.findLast((line, at) => {
    if (!isPlace(line)) return false
    const content = text.slice(line.start, line.end)
    if (line.fence !== undefined) return lines[at - 1]?.fence !== undefined && !closingFencePattern.test(content)
    // Not between a table's head and its rule.
    return !/^[\s|:-]*$/.test(content)
  })
  return inside?.start
}

/** Returns links, inline code and bold text from `from` on, also incomplete ones at the end. */
function unbreakableSpans(text: string, from: number): readonly { readonly start: number; readonly end: number }[] {
  return [...text.slice(from, -1).matchAll(spanPattern)].map(({ index, 0: found }) => ({
    start: from + index,
    // A span that reaches the end may continue after it.
    end: from + index + found.length + (from + index + found.length === text.length - 1 ? 1 : 0),
  }))
}

/** Whether a grapheme begins at the position. False if that is unclear. */
function isGraphemeStart(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  if (code < 0x80) return true
  if (Number.isNaN(code) || (isHigh(code) && at + 1 >= text.length)) return false
  return graphemes.segment(text.slice(at - 1, at + 2)).containing(1)?.index === 1
}

/**
 * Returns the last position to cut at between graphemes, for a line without a space to cut at: after `low`, up to `last`, and
 * only where `isGood`. Undefined if there is none. A grapheme must begin at `first`.
 */
function lastGraphemeCut(
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
  const start = segmentingStart(text, first, low)
  let best: number | undefined
  for (const { index } of graphemes.segment(text.slice(start))) {
    const place = start + index
    if (place > low && place <= last && isGood(place)) best = place
  }
  return best
}

/** Returns a position between code points, within a grapheme that is longer than the window. */
function codePointCut(seen: string, { first, last }: CutWindow): number {
  const isPair = isHigh(seen.charCodeAt(last - 1)) && isLow(seen.charCodeAt(last))
  if (!isPair) return last
  return last - 1 > first ? last - 1 : last + 1
}

/** Returns where to start segmenting a text for graphemes after `low`: before that, and only the first may be incomplete. */
function segmentingStart(text: string, first: number, low: number): number {
  for (let at = low; at > Math.max(first, low - mostSpanBack); at--) {
    if (isBetweenAscii(text, at)) return at
  }
  return flagStart(text, first, low)
}

/** Returns the position, or the start of the flag around it. A flag consists of two regional indicators. */
function flagStart(text: string, first: number, at: number): number {
  const near = isLow(text.charCodeAt(at)) && at > first ? at - 1 : at
  let start = near
  while (start - 2 >= first && isFlagLetter(text, start - 2)) start -= 2
  return (near - start) % 4 === 0 ? near : near - 2
}

/** Whether a regional indicator, U+1F1E6 to U+1F1FF, begins at the position. */
function isFlagLetter(text: string, at: number): boolean {
  const low = text.charCodeAt(at + 1)
  return text.charCodeAt(at) === 0xd83c && low >= 0xdde6 && low <= 0xddff
}

/** Whether the position is between two ASCII characters, where a grapheme certainly begins. Not within a line break. */
function isBetweenAscii(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1)
  const after = text.charCodeAt(at)
  return before < 0x80 && after < 0x80 && !(before === 0x0d && after === 0x0a)
}

/** Whether the code is the first half of a surrogate pair. */
function isHigh(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}

/** Whether the code is the second half of a surrogate pair. */
function isLow(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff
}
