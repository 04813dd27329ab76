import { knownTokens, lex, type Token } from '@reply/sink/internal'
import { clip, type Line, line, type Span, span, type Tone, widthOf, wrap } from './styled-line.ts'

type TokenOf<T extends Token['type']> = Extract<Token, { readonly type: T }>

/** The lexer's type of nested tokens. */
type NestedTokens = Parameters<typeof knownTokens>[0]

/**
 * Cuts Markdown at its top-level blocks. The concatenated pieces are the source.
 *
 * Every piece but the last is finished: text added to the source lands in the last one or after it. (A list item that
 * begins after such a piece starts a new list, with its own number.)
 */
export function blocksOf(source: string): readonly string[] {
  const blocks: string[] = []
  let end = 0
  for (const token of lex(source)) {
    for (const raw of rawsOf(token)) {
      const start = end
      // Counted, not taken from `raw`: the lexer expands tabs and drops carriage returns in some tokens.
      end = endOfToken(source, start, raw)
      const piece = source.slice(start, end)
      const last = blocks.length - 1
      if (last >= 0 && (token.type === 'space' || blocks[last]?.trim() === '')) blocks[last] += piece
      else if (piece !== '') blocks.push(piece)
    }
  }
  if (end < source.length) blocks.push(source.slice(end))
  return blocks
}

/** From this many UTF-16 units on, the first items of a list are a separate block. */
const longList = 4096

/**
 * Returns the source of a block. A long list comes in several pieces, so that its first items are finished before its last
 * ones are written.
 */
function rawsOf(token: Token): readonly string[] {
  if (token.type !== 'list' || token.raw.length <= longList) return [token.raw]
  const raws: string[] = []
  let raw = ''
  for (const item of token.items) {
    if (raw.length > longList / 2) {
      raws.push(raw)
      raw = ''
    }
    raw += item.raw
  }
  return [...raws, raw]
}

/** Returns Markdown as terminal rows. Code is indented, never boxed, so that it can be copied. */
export function markdown(source: string, width: number): readonly Line[] {
  return blockLines(lex(source), width, [])
}

/**
 * Returns where the token that begins at `startIndex` ends in the source. If the lexer changed its `raw`, that is after as many
 * non-white-space characters as it has, and the white space after them.
 */
function endOfToken(source: string, startIndex: number, raw: string): number {
  if (source.startsWith(raw, startIndex)) return startIndex + raw.length
  let left = 0
  for (let at = 0; at < raw.length; at++) if (!isSpaceAt(raw, at)) left++
  let end = startIndex
  for (; end < source.length; end++) {
    if (isSpaceAt(source, end)) continue
    if (left === 0) break
    left--
  }
  return end
}

/** Whether the UTF-16 unit there is white space. */
function isSpaceAt(text: string, index: number): boolean {
  const code = text.charCodeAt(index)
  return code < 0x80 ? code === 0x20 || (code >= 0x09 && code <= 0x0d) : /\s/.test(text.charAt(index))
}

/** Returns the rows of blocks, with a blank row where the source has blank lines. */
function blockLines(tokens: NestedTokens, width: number, tones: readonly Tone[]): readonly Line[] {
  const rows: Line[] = []
  let gap = false
  for (const token of knownTokens(tokens)) {
    if (token.type === 'space') {
      gap = rows.length > 0
      continue
    }
    const block = blockTokenLines(token, width, tones)
    if (block.length === 0) continue
    if (gap) rows.push([])
    gap = false
    rows.push(...block)
  }
  return rows
}

/** Returns the rows of one block. Empty for white space. HTML and link definitions are shown as they are, dimmed. */
function blockTokenLines(token: Token, width: number, tones: readonly Tone[]): readonly Line[] {
  switch (token.type) {
    case 'heading':
      return wrap(inlineSpans(token.tokens, headingTones(token.depth)), width)
    case 'paragraph':
      return wrap(inlineSpans(token.tokens, tones), width)
    case 'text':
      return wrap(token.tokens ? inlineSpans(token.tokens, tones) : inlineTokenSpans(token, tones), width)
    case 'code':
      return codeLines(token, width)
    case 'blockquote':
      return blockLines(token.tokens, width - 2, tones).map((row) => [span('│ ', 'dim'), ...row])
    case 'list':
      return listLines(token, width, tones)
    case 'table':
      return tableLines(
        {
          align: token.align,
          header: cellLines(token.header, true),
          rows: token.rows.map((row) => cellLines(row, false)),
        },
        width,
      )
    case 'hr':
      return [clip(line('─'.repeat(Math.min(40, Math.max(1, width))), 'dim'), width)]
    case 'html':
    case 'def':
      return wrap(line(token.raw.trim(), 'dim'), width)
    case 'space':
    case 'checkbox':
      return []
    case 'list_item':
      return blockLines(token.tokens, width, tones)
    case 'br':
    case 'codespan':
    case 'del':
    case 'em':
    case 'escape':
    case 'image':
    case 'link':
    case 'strong':
      return wrap(inlineTokenSpans(token, tones), width)
  }
  return token satisfies never
}

/** Returns the tones of a heading of that depth: bold, in magenta for the first two depths, and underlined for depth 1. */
function headingTones(depth: number): readonly Tone[] {
  if (depth === 1) return ['bold', 'underline', 'magenta']
  if (depth === 2) return ['bold', 'magenta']
  return ['bold']
}

/** Returns the rows of a block of code, below a row with its language if it has one. */
function codeLines(token: TokenOf<'code'>, width: number): readonly Line[] {
  const label = token.lang === undefined || token.lang === '' ? [] : [clip(line(`  ${token.lang}`, 'dim'), width)]
  return [...label, ...wrap(line(token.text, 'cyan'), width, line('  '))]
}

/** Returns the rows of a list: each item after its number, its box or a bullet, and further rows indented. */
function listLines(token: TokenOf<'list'>, width: number, tones: readonly Tone[]): readonly Line[] {
  const first = token.start === '' ? 1 : token.start
  const digits = String(first + token.items.length - 1).length
  return token.items.flatMap((item, index) => {
    const number = token.ordered ? span(`${String(first + index).padStart(digits)}. `, 'dim') : BULLET
    const lead = item.task ? (item.checked ? CHECKED : UNCHECKED) : number
    const indent = widthOf([lead])
    const rows = blockLines(item.task ? withoutCheckbox(item.tokens) : item.tokens, width - indent, tones)
    if (rows.length === 0) return [[lead]]
    const space = span(' '.repeat(indent))
    return rows.map((row, at): Line => {
      if (at === 0) return [lead, ...row]
      return row.length === 0 ? [] : [space, ...row]
    })
  })
}

const BULLET = span('• ', 'dim')
const CHECKED = span('[x] ', 'dim')
const UNCHECKED = span('[ ] ', 'dim')

/** Removes the checkbox, because the item's bullet shows it. In a loose item it is inside the first paragraph. */
function withoutCheckbox(tokens: NestedTokens): NestedTokens {
  return knownTokens(tokens).filter((token) => token.type !== 'checkbox')
}

/** Returns each cell as one line, in bold for a header. */
function cellLines(cells: TokenOf<'table'>['header'], header: boolean): readonly Line[] {
  return cells.map((cell) => inlineSpans(cell.tokens, header ? ['bold'] : []))
}

/** Returns the spans of a line's tokens. Each has the tones around it and those of its own format. */
function inlineSpans(tokens: NestedTokens, tones: readonly Tone[]): Span[] {
  const known = knownTokens(tokens)
  const only = known.length === 1 ? known[0] : undefined
  return only ? inlineTokenSpans(only, tones) : known.flatMap((token) => inlineTokenSpans(token, tones))
}

/** Returns the spans of one token. `<br>` is a line feed, and other tags are shown dimmed. Empty for a checkbox. */
function inlineTokenSpans(token: Token, tones: readonly Tone[]): Span[] {
  switch (token.type) {
    case 'strong':
      return inlineSpans(token.tokens, [...tones, 'bold'])
    case 'em':
      return inlineSpans(token.tokens, [...tones, 'italic'])
    case 'del':
      return inlineSpans(token.tokens, [...tones, 'strikethrough'])
    case 'codespan':
      return [span(token.text, ...tones, 'cyan')]
    case 'br':
      return [span('\n', ...tones)]
    case 'link':
      return linkSpans(token, tones)
    case 'image':
      return [span(`[image: ${token.text || token.href}]`, ...tones, 'dim'), ...imageAddress(token, tones)]
    case 'escape':
      return [span(token.text, ...tones)]
    case 'text':
      return token.tokens ? inlineSpans(token.tokens, tones) : [span(decodeEntities(token.text), ...tones)]
    case 'checkbox':
      return []
    case 'html':
      return /^<br\s*\/?>$/i.test(token.raw.trim()) ? [span('\n', ...tones)] : [span(token.raw, ...tones, 'dim')]
    default:
      // Blocks don't occur inside a line. If the lexer returns one, show its source.
      return [span(token.raw, ...tones)]
  }
}

/**
 * Returns a link's text, and its address unless the text already shows it, if only without `mailto:` or `http://`: terminals
 * can't be trusted with hidden link targets.
 */
function linkSpans(token: TokenOf<'link'>, tones: readonly Tone[]): Span[] {
  const text = inlineSpans(token.tokens, [...tones, 'underline', 'blue'])
  const shown = text.map((part) => part.text).join('')
  if (shown === token.href || `mailto:${shown}` === token.href || `http://${shown}` === token.href) return text
  return [...text, span(` (${token.href})`, ...tones, 'dim')]
}

/** Returns the address of a picture, dimmed. Empty if the address takes the place of its text. */
function imageAddress({ text, href }: TokenOf<'image'>, tones: readonly Tone[]): Span[] {
  return text === '' || text === href ? [] : [span(` (${href})`, ...tones, 'dim')]
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&nbsp;': ' ',
}

/** Returns the text with the characters of the references in `ENTITIES`. Others stay as they are. */
function decodeEntities(text: string): string {
  if (!text.includes('&')) return text
  return text.replace(/&(?:amp|lt|gt|quot|#39|nbsp);/g, (entity) => ENTITIES[entity] ?? entity)
}

interface Table {
  readonly align: readonly ('center' | 'left' | 'right' | null)[]
  readonly header: readonly Line[]
  readonly rows: readonly (readonly Line[])[]
}

const RULE = span(' │ ', 'dim')
const minColumnWidth = 6

/**
 * Returns the rows of a table. Columns share the width by need, and cells wrap. With less than six columns' width for each,
 * rows become lists.
 */
function tableLines(table: Table, width: number): readonly Line[] {
  const count = table.header.length
  const room = width - widthOf([RULE]) * (count - 1)
  const wanted = table.header.map((head, column) =>
    Math.max(1, longestRowWidth(head), ...table.rows.map((row) => longestRowWidth(row[column] ?? []))),
  )
  const widths = shareWidth(wanted, room)
  if (widths === undefined) return fieldLines(table, width)
  const under = widths.map((column) => '─'.repeat(column)).join('─┼─')
  return [
    ...tableRowLines(table.header, table, widths),
    [span(under, 'dim')],
    ...table.rows.flatMap((row) => tableRowLines(row, table, widths)),
  ]
}

/** Returns the width of the longest row of a cell that is only broken at its line feeds. */
function longestRowWidth(cell: Line): number {
  return Math.max(0, ...wrap(cell, Number.POSITIVE_INFINITY).map(widthOf))
}

/**
 * Returns the widths of the columns. Narrow columns get their full width. Wide ones share the rest evenly. Undefined if
 * a wide one would get less than six, so that the caller shows the rows as lists.
 */
function shareWidth(wanted: readonly number[], room: number): readonly number[] | undefined {
  const widths = wanted.map(() => 0)
  let left = room
  let undecided = wanted.map((_, column) => column)
  while (undecided.length > 0) {
    const even = Math.floor(left / undecided.length)
    const fitting = undecided.filter((column) => (wanted[column] ?? 0) <= even)
    if (fitting.length === 0) {
      if (even < minColumnWidth) return undefined
      for (const column of undecided) widths[column] = even
      return widths
    }
    for (const column of fitting) {
      widths[column] = wanted[column] ?? 0
      left -= wanted[column] ?? 0
    }
    undecided = undecided.filter((column) => !fitting.includes(column))
  }
  return widths
}

/** Returns the rows of one table row. Each cell is wrapped to the width of its column. */
function tableRowLines(cells: readonly Line[], table: Table, widths: readonly number[]): readonly Line[] {
  const columns = widths.map((width, column) => wrap(cells[column] ?? [], width))
  const height = Math.max(1, ...columns.map((rows) => rows.length))
  return Array.from({ length: height }, (_, row) =>
    widths.flatMap((width, column): Line => {
      const cell = padCell(columns[column]?.[row] ?? [], width, table.align[column] ?? null)
      return column === 0 ? cell : [RULE, ...cell]
    }),
  )
}

/** Returns the cell filled with spaces to the width, on the side that the alignment says. Default: on the right. */
function padCell(cell: Line, width: number, align: Table['align'][number]): Line {
  const spare = Math.max(0, width - widthOf(cell))
  if (spare === 0) return cell
  const before = align === 'right' ? spare : align === 'center' ? Math.floor(spare / 2) : 0
  return [span(' '.repeat(before)), ...cell, span(' '.repeat(spare - before))]
}

/** Lists a row's cells below each other, each after its heading. A blank row precedes the next table row. */
function fieldLines(table: Table, width: number): readonly Line[] {
  return table.rows.flatMap((row, index) => {
    const lines = table.header.flatMap((head, column) =>
      wrap([...head, span(': ', 'bold'), ...(row[column] ?? [])], width, [], [span('  ')]),
    )
    return index === 0 ? lines : [[], ...lines]
  })
}
