// Reads the constructs that most texts consist of without marked: the result is the same, but it is faster.

import type { Lexer, Token, Tokens } from 'marked'
import { mostDepth, textSpan } from './limits.ts'

type Definitions = Lexer['tokens']['links']

/** Spans that a line may have, and in addition one per this many UTF-16 units. What follows is one text. */
const mostSpansPerLine = 300
const unitsPerSpan = 8

const backtick = 0x60

/** The definitions of a text that has none: its brackets are text. */
export const noDefinitions: Definitions = {}

/** Whether something in a line may be an escape, a reference, a link, a line break or an address without a protocol. */
const otherSpan = /\\|&#|\]\(| {2}\n|[wW]{3}\.|(?<!https?):\/\/|(?<!^|[\s(])@/

/** Without any of these, a line is text. */
const specialPattern = /[\\&[\]*_~\x60<@\n]|:\/\/|[wW]{3}\./

/** A mark that may end emphasis or struck out text: there is no white space before it. */
const closingMark = /(?<=\S)(?:(?<!\*)\*|(?<!_)_|(?<!~)~)/

/** An address from its protocol to the next white space. No sign at its end could belong to the sentence. */
const plainAddressPattern = String.raw`(?<=^|\s)https?:\/\/[A-Za-z\d-]+(?:[A-Za-z\d\/.:?=#%-]*[A-Za-z\d\/])?(?=\s|$)`

/** A label that has no second one after it, and is not an image. */
const labelPattern = String.raw`(?<!!)\[[A-Za-z\d]{1,99}\](?!\[)`

/** Emphasis without other spans in it. It does not begin or end inside a word. */
const emphasisPattern = String.raw`(?<=^|[\s(])(\*\*?|_)([\p{L}\p{N}](?:[^*_\x60]*[\p{L}\p{N}])?)\2(?=$|[\s.,;:)!?])`

/** What a line may contain, apart from text and code. */
interface Marks {
  readonly hasEmphasis: boolean
  readonly hasAddresses: boolean
  readonly hasLabels: boolean
}

/**
 * Creates a pattern that matches the text up to the next mark, address or label, or one of those. Backticks are read by
 * hand.
 */
function createPiecePattern({ hasEmphasis, hasAddresses, hasLabels }: Marks): RegExp {
  const marks = `${hasEmphasis ? '*_' : ''}${hasLabels ? '[' : ''}\x60`
  const text = hasAddresses ? String.raw`(?:[^${marks}h]|h(?!ttps?:\/\/))+` : `[^${marks}]+`
  const links = [...(hasAddresses ? [plainAddressPattern] : []), ...(hasLabels ? [labelPattern] : [])]
  const link = links.length === 0 ? '(?!)' : links.join('|')
  return new RegExp(`${text}|(${link})|${hasEmphasis ? emphasisPattern : '((?!))((?!))'}`, 'uy')
}

const either = [false, true]
const piecePatterns = either.map((hasEmphasis) =>
  either.map((hasAddresses) => either.map((hasLabels) => createPiecePattern({ hasEmphasis, hasAddresses, hasLabels }))),
)

/** Returns the pattern for lines with these marks. */
function piecePatternFor({ hasEmphasis, hasAddresses, hasLabels }: Marks): RegExp | undefined {
  return piecePatterns[Number(hasEmphasis)]?.[Number(hasAddresses)]?.[Number(hasLabels)]
}

/**
 * Reads a line whose only markup is bold, italics and code that don't contain each other, addresses, and labels of plain
 * words. Same result as marked, but faster. Undefined for all other lines, which marked reads.
 *
 * `definitions` are those of the text, undefined if not all of them are read yet. `isInLink`: the line is the text of a
 * link, which contains no other links.
 */
export function readSimpleSpans(
  line: string,
  definitions: Definitions | undefined,
  isInLink: boolean,
): Token[] | undefined {
  // Without a ">" there is no tag.
  if (line === '') return undefined
  if (!specialPattern.test(line)) return [textSpan(line)]
  if (otherSpan.test(line) || (line.includes('<') && line.includes('>'))) return undefined
  const hasBrackets = line.includes('[')
  const hasAddresses = line.includes('://')
  if (hasBrackets && definitions === undefined) return undefined
  if (isInLink && (hasBrackets || hasAddresses)) return undefined
  const labels = hasBrackets && definitions !== noDefinitions ? definitions : undefined
  // Marks that nothing can end are text.
  const hasEmphasis = /[*_~]/.test(line) && closingMark.test(line)
  if (hasEmphasis && line.includes('~')) return undefined
  if (!hasEmphasis && labels === undefined && !hasAddresses && !line.includes('`')) return [textSpan(line)]
  const piece = piecePatternFor({ hasEmphasis, hasAddresses, hasLabels: labels !== undefined })
  if (piece === undefined) return undefined
  const spans: Token[] = []
  const closingOf = createBacktickSearch(line)
  const most = mostSpansPerLine + line.length / unitsPerSpan
  let textStart = 0
  let at = 0
  while (at < line.length && spans.length < most) {
    const start = at
    let span: Token | undefined
    if (line.charCodeAt(at) === backtick) {
      const { length, closing } = closingOf(at)
      at = (closing ?? at) + length
      if (closing !== undefined)
        span = {
          type: 'codespan',
          raw: line.slice(start, at),
          text: codeWithoutPadding(line.slice(start + length, closing)),
        }
    } else {
      piece.lastIndex = at
      const found = piece.exec(line)
      if (found === null) return undefined
      at = piece.lastIndex
      // Emphasis may contain brackets only while they are text.
      if (found[3] !== undefined && (found[3].includes('://') || (labels && found[3].includes('[')))) return undefined
      span = spanOf(found, labels)
    }
    if (span === undefined) continue
    if (textStart < start) spans.push(textSpan(line.slice(textStart, start)))
    spans.push(span)
    textStart = at
  }
  if (textStart < line.length) spans.push(textSpan(line.slice(textStart)))
  return spans
}

/** A run of backticks, and where the next run of the same length begins, which ends the code between them. */
interface Backticks {
  readonly length: number
  readonly closing: number | undefined
}

/**
 * Returns a function that finds the end of code: the length of the run of backticks at `start`, and where the run that
 * closes it begins. Call it from left to right, because it makes one pass.
 */
function createBacktickSearch(line: string): (start: number) => Backticks {
  let starts: Map<number, number[]> | undefined
  return (start) => {
    starts ??= runsOf(line, start)
    const length = runEnd(line, start) - start
    const same = starts.get(length) ?? []
    while ((same.at(-1) ?? start + 1) <= start) same.pop()
    return { length, closing: same.at(-1) }
  }
}

/** Returns where each run of backticks begins, by its length. The last one comes first. */
function runsOf(line: string, from: number): Map<number, number[]> {
  const runs: (readonly [start: number, length: number])[] = []
  for (let start = from; start >= 0; ) {
    const end = runEnd(line, start)
    runs.push([start, end - start])
    start = line.indexOf('`', end)
  }
  const starts = new Map<number, number[]>()
  for (const [start, length] of runs.toReversed()) {
    const same = starts.get(length)
    if (same) same.push(start)
    else starts.set(length, [start])
  }
  return starts
}

/** Returns the end of a run of backticks. */
function runEnd(line: string, start: number): number {
  let end = start
  while (line.charCodeAt(end) === backtick) end++
  return end
}

/** Returns the spans of a line while the blocks are read. marked fills those of a difficult line later. */
export function spansOf(line: string, lexer: Lexer): Token[] {
  return readSimpleSpans(line, undefined, false) ?? lexer.inline(line)
}

/**
 * Returns emphasis, an address or a label. Undefined for text, and for a label without a definition, which is text,
 * too.
 */
function spanOf(
  { 0: raw, 1: link, 2: mark, 3: inner = '' }: RegExpExecArray,
  labels: Definitions | undefined,
): Token | undefined {
  if (mark !== undefined) {
    return { type: mark === '**' ? 'strong' : 'em', raw, text: inner, tokens: [textSpan(inner)] }
  }
  if (link === undefined) return undefined
  return link.startsWith('[') ? linkByLabel(link, labels) : linkToAddress(link)
}

/** Returns the text of inline code. Line feeds become spaces, and one space at both ends belongs to the backticks. */
function codeWithoutPadding(content: string): string {
  const code = content.includes('\n') ? content.replaceAll('\n', ' ') : content
  return code.startsWith(' ') && code.endsWith(' ') && /[^ ]/.test(code) ? code.slice(1, -1) : code
}

/** Returns the link that a bare address is. */
function linkToAddress(raw: string): Tokens.Link {
  const tokens = [{ type: 'text', raw, text: raw } as const]
  return { type: 'link', raw, text: raw, href: raw, autolink: true, tokens }
}

/** Returns the link that a label refers to. Undefined without a definition. */
function linkByLabel(raw: string, labels: Definitions | undefined): Tokens.Link | undefined {
  const text = raw.slice(1, -1)
  const link = labels?.[text.toLowerCase()]
  return link && { type: 'link', raw, href: link.href, title: link.title || null, text, tokens: [textSpan(text)] }
}

/** The text of an item of one line: it begins with a letter or a span's mark, and contains no tab. */
const itemTextPattern = String.raw`(?:\p{L}|\*\*?[\p{L}\p{N}]|_[\p{L}\p{N}]|${'`'}[^${'`'}\n]|\d+(?![\d.)]))(?:[^\n\t\r]*[^\s\\])?`
const itemMarkPattern = String.raw`(?:[-*+]|\d{1,9}[.)])`
const itemLinePattern = new RegExp(
  String.raw`( *)((?:${itemMarkPattern} ){0,11})(${itemMarkPattern}) (${itemTextPattern})(\n?\n?)`,
  'uy',
)
/** What may follow the last row of a list. */
const listEnd = /(?:\n\s*)?$|\n{2,} ?(?=[^\s*+\-\d])/y

/** One item without the items in it. */
interface ItemRow {
  readonly indent: number
  /** The spaces before its mark: none if it begins in the line of the item around it, which has no text then. */
  readonly space: number
  readonly mark: string
  readonly text: string
  /** The line feeds after it: none, one, or two with a blank line. */
  readonly gap: string
}

/**
 * Reads a list of one-line items and lists of such items in them. Same result as marked, but in one pass, and without
 * compiling patterns for each item. Undefined for all other lists, which marked reads.
 */
export function readSimpleList(src: string, lexer: Lexer): Tokens.List | undefined {
  const rows = readRows(src)
  return rows && listFromRows(rows, { source: src, from: 0, to: rows.length, lexer })
}

/** Reads the items of a list, outer and inner ones, in order. Undefined if anything in it is not a one-line item. */
function readRows(src: string): readonly ItemRow[] | undefined {
  const rows: ItemRow[] = []
  const open: ItemRow[] = []
  let end = 0
  let gap = ''
  itemLinePattern.lastIndex = 0
  for (let found = itemLinePattern.exec(src); found !== null; found = itemLinePattern.exec(src)) {
    const space = found[1]?.length ?? 0
    let indent = space
    gap = found[5] ?? ''
    for (const mark of found[2] ? found[2].trimEnd().split(' ') : []) {
      if (!tryAddRow({ indent, space: indent === space ? space : 0, mark, text: '', gap: '' }, rows, open))
        return undefined
      indent += mark.length + 1
    }
    const row = { indent, space: indent === space ? space : 0, mark: found[3] ?? '', text: found[4] ?? '', gap }
    if (!tryAddRow(row, rows, open)) return undefined
    end = itemLinePattern.lastIndex
    if (gap === '') break
  }
  listEnd.lastIndex = end - gap.length
  return rows.length > 0 && listEnd.test(src) ? rows : undefined
}

/**
 * Adds the row to `rows`, and updates the `open` lists. Returns whether it continues an open list, or begins one right below
 * the text of the item above, at most `mostDepth` deep. If not, marked must read the whole list.
 */
function tryAddRow(row: ItemRow, rows: ItemRow[], open: ItemRow[]): boolean {
  const above = rows.at(-1)
  rows.push(row)
  if (above === undefined || row.indent === above.indent + above.mark.length + 1) {
    // A list that doesn't begin with 1 can't interrupt a text.
    const isRead = above === undefined ? row.indent === 0 : above.gap !== '\n' || !/^(?!1\D)\d/.test(row.mark)
    return isRead && open.push(row) <= mostDepth
  }
  while ((open.at(-1)?.indent ?? 0) > row.indent) open.pop()
  const first = open.at(-1)
  return first?.indent === row.indent && first.mark.at(-1) === row.mark.at(-1)
}

interface RowRange {
  /** Begins with the list, without the indentation that all of its lines have. */
  readonly source: string
  /** Its rows. */
  readonly from: number
  readonly to: number
  readonly lexer: Lexer
}

/** Returns the list of the rows from index `from` to `to`. Deeper rows become lists in its items. */
function listFromRows(rows: readonly ItemRow[], { source, from, to, lexer }: RowRange): Tokens.List {
  const indent = rows[from]?.indent ?? 0
  const mark = rows[from]?.mark ?? ''
  const items: Tokens.ListItem[] = []
  let at = 0
  let loose = false
  for (let first = from; first < to; ) {
    let end = at
    let next = first
    do {
      const row = rows[next]
      if (row) end += Math.max(0, row.space - indent) + row.mark.length + 1 + row.text.length + row.gap.length
      next++
    } while (next < to && (rows[next]?.indent ?? 0) > indent)
    const raw = source.slice(at, end)
    const isLast = next === to
    items.push(itemFromRows(rows, { source: isLast ? raw.trimEnd() : raw, from: first, to: next, lexer }, isLast))
    loose ||= (!isLast && raw.endsWith('\n\n')) || (next - first > 1 && rows[first]?.gap === '\n\n')
    at = end
    first = next
  }
  if (loose) for (const item of items) makeLoose(item)
  const ordered = /^\d/.test(mark)
  const start = ordered ? Number.parseInt(mark, 10) : ('' as const)
  return { type: 'list', raw: source.slice(0, at).trimEnd(), ordered, start, loose, items }
}

/** Returns the item of the first row. The other rows are its inner list. */
function itemFromRows(
  rows: readonly ItemRow[],
  { source: raw, from, to, lexer }: RowRange,
  isLast: boolean,
): Tokens.ListItem {
  const row = rows[from]
  const width = (row?.mark.length ?? 0) + 1
  const line = row?.text ?? ''
  const gap = row?.gap ?? ''
  const hasItems = to - from > 1
  const own = isLast ? raw.slice(width) : raw.slice(width, -1)
  const text = hasItems ? own.replaceAll(`\n${' '.repeat(width)}`, '\n') : own
  const lineEnd = text.endsWith('\n') ? '\n' : ''
  const tokens: Tokens.ListItem['tokens'] = []
  if (line !== '') {
    const end = hasItems ? (gap === '\n' ? '\n' : '') : lineEnd
    tokens.push({ type: 'text', raw: line + end, text: line, tokens: spansOf(line, lexer) })
  }
  if (hasItems) {
    if (gap === '\n\n') tokens.push({ type: 'space', raw: gap })
    const list = listFromRows(rows, { source: text.slice(line.length + gap.length), from: from + 1, to, lexer })
    list.raw += lineEnd
    tokens.push(list)
  }
  return { type: 'list_item', raw, task: false, loose: false, text, tokens }
}

/** Turns the item's text into paragraphs, as marked does in a list with blank lines. Mutates the item. */
function makeLoose(item: Tokens.ListItem): void {
  item.loose = true
  for (const token of item.tokens) if (token.type === 'text') token.type = 'paragraph'
}

/** Every row begins and ends with a bar, and no cell contains anything that could turn a bar into text. */
const flatTable = /^(?<head>\|[^\n\\`]*\|)\n\|(?<rule>(?: *:?-+:? *\|)+)(?<rows>(?:\n\|[^\n\\`]*\|)*)(?=\n?$|\n\n)/

/**
 * Reads a table whose cells contain no code and no escapes. Same result as marked, but faster per row. Undefined for
 * all other tables, which marked reads.
 */
export function readFlatTable(src: string, lexer: Lexer): Tokens.Table | undefined {
  const found = flatTable.exec(src)
  if (!found) return undefined
  const { head = '', rule = '', rows = '' } = found.groups ?? {}
  const align = rule.slice(0, -1).split('|').map(alignmentOf)
  const bars = head.split('|').length - 1
  if (bars !== align.length + 1) return undefined
  const rowOf = (line: string, header: boolean): Tokens.TableCell[] => {
    let start = 1
    return align.map((one) => {
      const end = line.indexOf('|', start)
      const text = end < 0 ? '' : line.slice(start, end).trim()
      start = end < 0 ? line.length : end + 1
      return { text, tokens: spansOf(text, lexer), header, align: one }
    })
  }
  const [, ...lines] = rows.split('\n')
  return {
    type: 'table',
    raw: found[0],
    header: rowOf(head, true),
    align,
    rows: lines.map((line) => rowOf(line, false)),
  }
}

/** Returns the alignment that a cell of the rule gives its column. Null without a colon. */
function alignmentOf(rule: string): 'left' | 'right' | 'center' | null {
  const isLeft = rule.trim().startsWith(':')
  const isRight = rule.trim().endsWith(':')
  if (isLeft) return isRight ? 'center' : 'left'
  return isRight ? 'right' : null
}
