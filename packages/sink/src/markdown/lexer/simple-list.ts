import type { Lexer, Tokens } from 'marked'
import { spansOf } from './simple-spans.ts'

/** The text of an item of one line: it begins with a letter or a span's mark, and contains no tab. */
const TEXT = String.raw`(?:\p{L}|\*\*?[\p{L}\p{N}]|_[\p{L}\p{N}]|${'`'}[^${'`'}\n]|\d+(?![\d.)]))(?:[^\n\t\r]*[^\s\\])?`
const MARK = String.raw`(?:[-*+]|\d{1,9}[.)])`
const LINE = new RegExp(String.raw`( *)((?:${MARK} ){0,11})(${MARK}) (${TEXT})(\n?\n?)`, 'uy')
/** What may follow the last row of a list. */
const END = /(?:\n\s*)?$|\n{2,} ?(?=[^\s*+\-\d])/y

/** The most lists nested in each other. */
const mostDepth = 12

/** One item without the items in it. */
interface Row {
  readonly indent: number
  /** The spaces before its mark: none if it begins in the line of the item around it, which has no text then. */
  readonly space: number
  readonly mark: string
  readonly text: string
  /** The line feeds behind it: none, one, or two with a blank line. */
  readonly gap: string
}

/**
 * Reads a list of one-line items and lists of such items in them. Same result as marked, but in one pass, and without
 * compiling patterns for each item. Undefined for all other lists, which marked reads.
 */
export function readSimpleList(src: string, lexer: Lexer): Tokens.List | undefined {
  const rows = rowsOf(src)
  return rows && listOf(rows, { source: src, from: 0, to: rows.length, lexer })
}

function rowsOf(src: string): readonly Row[] | undefined {
  const rows: Row[] = []
  const open: Row[] = []
  let [end, gap] = [0, '']
  LINE.lastIndex = 0
  for (let found = LINE.exec(src); found !== null; found = LINE.exec(src)) {
    const space = found[1]?.length ?? 0
    let indent = space
    gap = found[5] ?? ''
    for (const mark of found[2] ? found[2].trimEnd().split(' ') : []) {
      if (!isAdded({ indent, space: indent === space ? space : 0, mark, text: '', gap: '' }, rows, open))
        return undefined
      indent += mark.length + 1
    }
    const row = { indent, space: indent === space ? space : 0, mark: found[3] ?? '', text: found[4] ?? '', gap }
    if (!isAdded(row, rows, open)) return undefined
    end = LINE.lastIndex
    if (gap === '') break
  }
  END.lastIndex = end - gap.length
  return rows.length > 0 && END.test(src) ? rows : undefined
}

/** Adds the row if it continues an open list, or begins one right below the text of the item above. */
function isAdded(row: Row, rows: Row[], open: Row[]): boolean {
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

interface Part {
  /** Begins with the list, without the indentation that all of its lines have. */
  readonly source: string
  /** Its rows. */
  readonly from: number
  readonly to: number
  readonly lexer: Lexer
}

function listOf(rows: readonly Row[], { source, from, to, lexer }: Part): Tokens.List {
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
    items.push(itemOf(rows, { source: isLast ? raw.trimEnd() : raw, from: first, to: next, lexer }, isLast))
    loose ||= (!isLast && raw.endsWith('\n\n')) || (next - first > 1 && rows[first]?.gap === '\n\n')
    at = end
    first = next
  }
  if (loose) for (const item of items) loosen(item)
  const ordered = /^\d/.test(mark)
  const start = ordered ? Number.parseInt(mark, 10) : ('' as const)
  return { type: 'list', raw: source.slice(0, at).trimEnd(), ordered, start, loose, items }
}

function itemOf(rows: readonly Row[], { source: raw, from, to, lexer }: Part, isLast: boolean): Tokens.ListItem {
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
    const list = listOf(rows, { source: text.slice(line.length + gap.length), from: from + 1, to, lexer })
    list.raw += lineEnd
    tokens.push(list)
  }
  return { type: 'list_item', raw, task: false, loose: false, text, tokens }
}

function loosen(item: Tokens.ListItem): void {
  item.loose = true
  for (const token of item.tokens) if (token.type === 'text') token.type = 'paragraph'
}
