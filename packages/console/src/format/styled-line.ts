import { styleText } from 'node:util'
import stringWidth from 'string-width'
import { clean } from './sanitize.ts'

/** The styles of a span. A span's text cannot contain any others. */
export type Tone =
  | 'bold'
  | 'dim'
  | 'italic'
  | 'underline'
  | 'strikethrough'
  | 'inverse'
  | 'red'
  | 'green'
  | 'yellow'
  | 'blue'
  | 'magenta'
  | 'cyan'

export interface Span {
  readonly text: string
  readonly tones: readonly Tone[]
}

/** One terminal row, or, before `wrap`, any number of them separated by line feeds. */
export type Line = readonly Span[]

/** Returns a text in a style, without escape sequences, and with tabs as four spaces. */
export function span(text: string, ...tones: readonly Tone[]): Span {
  const cleaned = clean(text)
  return { text: cleaned.includes('\t') ? cleaned.replaceAll('\t', '    ') : cleaned, tones }
}

/** Returns a line of one span. */
export function line(text: string, ...tones: readonly Tone[]): Line {
  return [span(text, ...tones)]
}

/** Returns the width in terminal columns: wide characters take two, combining ones none. */
export function widthOf(spans: Line): number {
  let width = 0
  for (const { text } of spans) width += columnsOf(text)
  return width
}

/** Returns the text without style. Line feeds and tabs become spaces. */
export function plain(spans: Line): string {
  return spans.map(({ text }) => cleanRow(text)).join('')
}

/**
 * Returns a line with its terminal escapes. The only place that produces them: the text is cleaned once more, and only SGR
 * is added.
 */
export function ansi(spans: Line): string {
  let out = ''
  for (const { text, tones } of spans) {
    const row = cleanRow(text)
    if (row === '') continue
    out += tones.length === 0 ? row : withEscapes(row, tones)
  }
  return out
}

/** The escapes before and after a text in these tones. */
const escapes = new Map<string, readonly [string, string]>()

/** Returns the text between the terminal escapes that switch its colour and style on and off. */
function withEscapes(text: string, tones: readonly Tone[]): string {
  const key = tones.join()
  let around = escapes.get(key)
  if (around === undefined) {
    // The caller decides about colour. Without `validateStream: false`, Node would check process.stdout instead.
    const [before = '', after = ''] = styleText([...tones], '|', { validateStream: false }).split('|')
    around = [before, after]
    escapes.set(key, around)
  }
  return around[0] + text + around[1]
}

/** Cuts to the width, with an ellipsis in the last column. Never splits a character. Empty for a width below 1. */
export function clip(spans: Line, width: number): Line {
  if (widthOf(spans) <= width) return spans
  const cells: Cell[] = []
  let used = 0
  for (const cell of cellsOf(spans)) {
    if (used + cell.width > width - 1) break
    used += cell.width
    cells.push(cell)
  }
  return width < 1 ? [] : [...trimmedSpans(cells), { text: '…', tones: ['dim'] }]
}

/** Returns the row, cut to make room for `end` behind it. Without `end` if fewer than 10 columns would be left. */
export function fit(row: Line, end: Line, width: number): Line {
  const room = width - widthOf(end)
  return room < 10 ? clip(row, width) : [...clip(row, room), ...end]
}

/**
 * Breaks at line feeds, then at spaces and beside wide characters, then anywhere.
 *
 * `lead` precedes the first row and `hang` (default: `lead`) the others. Both count as width. Spaces at a break are
 * dropped. Every row has at least one character, so a width smaller than the lead overflows.
 */
export function wrap(spans: Line, width: number, lead: Line = [], hang: Line = lead): readonly Line[] {
  const whole = wholeRow(spans, width - widthOf(lead))
  if (whole) return [[...lead, ...whole]]
  const rows: Line[] = []
  for (const cells of splitAtLineFeeds(cellsOf(spans))) {
    let start = 0
    do {
      const before = rows.length === 0 ? lead : hang
      const end = endOfRow(cells, start, Math.max(1, width - widthOf(before)))
      rows.push([...before, ...trimmedSpans(cells, start, end)])
      start = end
      // Spaces at a break belong to neither row. Those at the start of a line are indentation and stay.
      while (cells[start]?.text === ' ') start++
    } while (start < cells.length)
  }
  return rows
}

const PRINTABLE = /^[ -~]*$/

/** The fast path of `wrap`: returns ASCII text that fits on one row, without trailing spaces. Undefined for any other. */
function wholeRow(spans: Line, width: number): Line | undefined {
  let used = 0
  for (const { text } of spans) {
    used += text.length
    if (used > width || !PRINTABLE.test(text)) return undefined
  }
  const row: Span[] = []
  for (const { text, tones } of spans.toReversed()) {
    const next = row.at(-1)
    const inked = next === undefined ? text.trimEnd() : text
    if (inked === '') continue
    if (next?.tones === tones) row[row.length - 1] = { text: inked + next.text, tones }
    else row.push({ text: inked, tones })
  }
  return row.toReversed()
}

/**
 * Splits one line into rows of the width, anywhere. Every character stays, spaces too, so that people see exactly what they
 * approve. The first row begins with `lead`, later ones with `hang`.
 */
export function chop(spans: Line, width: number, { lead, hang }: { readonly lead: Line; readonly hang: Line }): Line[] {
  const cells = cellsOf(spans)
  const rows: Line[] = []
  let start = 0
  do {
    const before = rows.length === 0 ? lead : hang
    const room = Math.max(1, width - widthOf(before))
    let end = start
    for (let used = 0; end < cells.length; end++) {
      used += cells[end]?.width ?? 0
      if (used > room && end > start) break
    }
    rows.push([...before, ...mergedSpans(cells.slice(start, end))])
    start = end
  } while (start < cells.length)
  return rows
}

interface Cell {
  readonly text: string
  readonly width: number
  readonly tones: readonly Tone[]
}

/** Returns the characters of a line with their widths and tones. */
function cellsOf(spans: Line): Cell[] {
  const cells: Cell[] = []
  for (const { text, tones } of spans) {
    for (const character of charactersOf(text)) {
      cells.push({ text: character, width: widthOfCharacter(character), tones })
    }
  }
  return cells
}

/** Returns the cells of each line, without the line feeds. */
function splitAtLineFeeds(cells: readonly Cell[]): Cell[][] {
  const lines: Cell[][] = [[]]
  for (const cell of cells) {
    if (cell.text === '\n') lines.push([])
    else lines.at(-1)?.push(cell)
  }
  return lines
}

/** Returns the index of the first cell behind the row that begins at `startIndex`, for `wrap`. At least one further. */
function endOfRow(cells: readonly Cell[], startIndex: number, width: number): number {
  let used = 0
  let lastBreak = startIndex
  let inked = false
  for (let index = startIndex; index < cells.length; index++) {
    const cell = cells[index]
    const before = index > startIndex ? cells[index - 1] : undefined
    if (inked && (cell?.width === 2 || before?.width === 2 || before?.text === ' ')) lastBreak = index
    inked ||= cell?.text !== ' '
    used += cell?.width ?? 0
    if (used <= width) continue
    if (cell?.text === ' ' && inked) return Math.max(startIndex + 1, index)
    return Math.max(startIndex + 1, lastBreak === startIndex ? index : lastBreak)
  }
  return cells.length
}

/** Returns the cells from `start` to `end` without trailing spaces, as spans of one style each. */
function trimmedSpans(cells: readonly Cell[], start = 0, end = cells.length): Span[] {
  let last = end
  while (last > start && cells[last - 1]?.text === ' ') last--
  return mergedSpans(cells.slice(start, last))
}

/** Returns one span for neighbouring cells with the same tones. */
function mergedSpans(cells: readonly Cell[]): Span[] {
  const spans: Span[] = []
  let text = ''
  for (const [index, cell] of cells.entries()) {
    text += cell.text
    if (cells[index + 1]?.tones === cell.tones) continue
    spans.push({ text, tones: cell.tones })
    text = ''
  }
  return spans
}

/** Returns the text without escape sequences, with spaces for line feeds and tabs. */
function cleanRow(text: string): string {
  return clean(text).replace(/[\n\t]/g, ' ')
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
const ASCII = /^[ -~\n]*$/
/** Characters that take one column each, whatever stands next to them. */
const NARROW = /^[ -~\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u2500-\u259f]*$/
/** The same, with accents on them. An accent takes no column. */
const ACCENTED = /^[ -~\u00a1-\u00ac\u00ae-\u036f\u2010-\u2027\u2500-\u259f]*$/
const ACCENTS = /\p{M}+/gu
const WITH_ACCENTS = /\P{M}?\p{M}*/gu

/** The most rows with a cached width: a screen shows most of its rows again when text is added. */
const mostRows = 400
/** The longest row with a cached width, in UTF-16 units. */
const longestRow = 1000
const rowWidths = new Map<string, number>()

/** Returns the width in terminal columns: wide characters take two, combining ones none. */
export function columnsOf(text: string): number {
  if (ASCII.test(text) || NARROW.test(text)) return text.length
  if (ACCENTED.test(text)) return text.replace(ACCENTS, '').length
  const known = rowWidths.get(text)
  if (known !== undefined) return known
  const columns = measureCharacters(text)
  if (rowWidths.size >= mostRows) rowWidths.clear()
  if (text.length <= longestRow) rowWidths.set(text, columns)
  return columns
}

/** Returns the columns of any text. A line feed has none. */
function measureCharacters(text: string): number {
  let columns = 0
  for (const { segment } of graphemes.segment(text)) columns += segment === '\n' ? 0 : widthOfCharacter(segment)
  return columns
}

/** The most characters with a cached width: finding it takes longer than the rest of a row's layout. */
const mostCharacters = 4000
/** The longest cached character, in UTF-16 units. A letter may carry any number of accents. */
const longestCharacter = 16
const characterWidths = new Map<string, number>()

/** Returns the columns of one character as a person sees it. */
function widthOfCharacter(character: string): number {
  if (ASCII.test(character)) return character.length
  if (character.length > longestCharacter) return stringWidth(character)
  const known = characterWidths.get(character)
  if (known !== undefined) return known
  const width = stringWidth(character)
  if (characterWidths.size >= mostCharacters) characterWidths.clear()
  characterWidths.set(character, width)
  return width
}

/** Returns the characters as a person sees them. */
export function charactersOf(text: string): Iterable<string> {
  if (ASCII.test(text) || NARROW.test(text)) return text
  if (ACCENTED.test(text)) return text.match(WITH_ACCENTS)?.filter((character) => character !== '') ?? []
  return Array.from(graphemes.segment(text), ({ segment }) => segment)
}
