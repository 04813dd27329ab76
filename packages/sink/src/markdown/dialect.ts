import { decodeReferences } from './character-references.ts'
import { lex } from './lex.ts'
import { isAsWritten, knownTokens, type Token } from './lexer/token.ts'
import { addressOf, asText, isMisleading, isOpenable, mayMislead } from './link-text.ts'
import { type Table, tableText } from './table.ts'

/** The position of a list item. */
export interface ItemPlace {
  /** Whether its list is numbered. */
  readonly ordered: boolean
  /** Counted from the number of the list's first item; from 1 in a list without numbers. */
  readonly number: number
  /** 0 in a top-level list. */
  readonly depth: number
  /** Whether its box is checked. Undefined without a box. */
  readonly checked: boolean | undefined
}

/** An item as plain text, for platforms without lists: indented by its depth, with its number, its box or "•". */
export function itemText(content: string, { ordered, number, depth, checked }: ItemPlace): string {
  const box = checked === undefined ? '•' : checked ? '☑' : '☐'
  const bullet = ordered ? `${number}.${checked === undefined ? '' : ` ${box}`}` : box
  return `${'  '.repeat(depth)}${bullet} ${content.trimStart()}`.trimEnd()
}

/**
 * How a platform writes each Markdown construct. Must be pure, as results are cached. `text` arguments are unescaped;
 * `content` was already written by the dialect.
 */
export interface Dialect {
  /** Text without markup: escapes what the platform would read as markup. */
  text(text: string): string
  /** Bold. */
  strong(content: string): string
  /** Italics. */
  em(content: string): string
  /** Crossed out. */
  del(content: string): string
  /** Code within a line. */
  codespan(text: string): string
  /** `lang` is the first word of the fence's info string. */
  code(text: string, lang: string | undefined): string
  /**
   * `href` is an address with http, https or mailto, without a name before its host. Other addresses come as `text`, after
   * the link's text. A link whose text names another address comes in two calls, `text` for its text and `link` for its
   * address.
   */
  link(content: string, href: string): string
  /**
   * `text` is the alternative text. `href` is as for `link`. Write a link: a picture that the platform loads tells its
   * server, without a press, what the model put into the address.
   */
  image(text: string, href: string): string
  /** `depth` is 1 for the largest, up to 6. */
  heading(content: string, depth: number): string
  /** A paragraph. It may have several lines. */
  paragraph(content: string): string
  /** One item of a list, with its mark. */
  item(content: string, place: ItemPlace): string
  /** A list of written items. `depth` is 0 for a top-level list. */
  list(items: readonly string[], depth: number): string
  /** `depth` is 0 for a top-level quote. */
  blockquote(content: string, depth: number): string
  /** Default: a code block with aligned columns. */
  table?(table: Table): string
  /** For platforms whose cells have formats. The cells were written by the dialect. Default: as `table`. */
  richTable?(table: Table): string
  /** A horizontal rule. */
  hr(): string
  /** A forced line break within a paragraph. */
  br(): string
  /** A tag as it was written: show it as text, never pass it on. Default: as `text`. */
  html?(text: string): string
}

type Item = Extract<Token, { readonly type: 'list' }>['items'][number]
type Row = Extract<Token, { readonly type: 'table' }>['header']

interface Inside {
  readonly dialect: Dialect
  readonly lists: number
  readonly quotes: number
  readonly link: boolean
}

/** Writes Markdown in a platform's dialect. Blank lines between blocks are kept. Never throws. */
export function renderMarkdown(source: string, dialect: Dialect): string {
  try {
    return blocks(lex(source), { dialect, lists: 0, quotes: 0, link: false }, remembering)
  } catch (error) {
    // The nesting was just within the lexer's limit, but too deep for rendering.
    if (error instanceof RangeError) return dialect.text(source)
    throw error
  }
}

/** Caches what was written for each token. The lexer caches the tokens. */
const written = new WeakMap<Dialect, WeakMap<Token, string>>()

function remembering(token: Token, inside: Inside): string {
  // To look up a short one takes as long as to write it.
  return token.raw.length < 16 ? block(token, inside) : once(token, inside, () => block(token, inside))
}

function once(token: Token, { dialect }: Inside, write: () => string): string {
  const ours = written.get(dialect) ?? new WeakMap<Token, string>()
  const text = ours.get(token) ?? write()
  if (!ours.has(token)) written.set(dialect, ours.set(token, text))
  return text
}

function blocks(tokens: readonly Token[], inside: Inside, write = block): string {
  let all = ''
  let gap = ''
  for (const token of tokens) {
    if (token.type === 'space') {
      if (all !== '') gap = '\n\n'
      continue
    }
    const one = write(token, inside)
    if (one === '') continue
    all += gap + one
    gap = '\n'
  }
  return all
}

function block(token: Token, inside: Inside): string {
  const { dialect } = inside
  switch (token.type) {
    case 'heading':
      return dialect.heading(spans(knownTokens(token.tokens), inside), token.depth)
    case 'paragraph':
      return dialect.paragraph(spans(knownTokens(token.tokens), inside).trim())
    case 'code':
      return dialect.code(token.text.replace(/\n+$/, ''), token.lang?.split(/\s/, 1)[0] || undefined)
    case 'blockquote': {
      const below = { ...inside, quotes: inside.quotes + 1 }
      return dialect.blockquote(blocks(knownTokens(token.tokens), below), inside.quotes)
    }
    case 'list': {
      const first = token.start === '' ? 1 : token.start
      const below = { ...inside, lists: inside.lists + 1 }
      const items = token.items.map((item, index) =>
        dialect.item(itemContent(item, below), {
          ordered: token.ordered,
          number: first + index,
          depth: inside.lists,
          checked: item.task ? item.checked === true : undefined,
        }),
      )
      return dialect.list(items, inside.lists)
    }
    case 'table': {
      if (dialect.richTable)
        return dialect.richTable({
          header: writtenCells(token.header, inside),
          rows: token.rows.map((row) => writtenCells(row, inside)),
          align: token.align,
        })
      const table: Table = {
        header: cellTexts(token.header),
        rows: token.rows.map(cellTexts),
        align: token.align,
      }
      return dialect.table?.(table) ?? dialect.code(tableText(table), undefined)
    }
    case 'hr':
      return dialect.hr()
    case 'def':
      return dialect.paragraph(dialect.text(token.raw.trim()))
    case 'space':
      return ''
    case 'list_item':
      return blocks(knownTokens(token.tokens), inside)
    case 'text':
      return span(token, inside).trim()
    case 'html':
    case 'br':
    case 'checkbox':
    case 'codespan':
    case 'del':
    case 'em':
    case 'escape':
    case 'image':
    case 'link':
    case 'strong':
      return span(token, inside)
  }
  return token satisfies never
}

/** Items of a growing list are the same tokens again. */
function itemContent(item: Item, inside: Inside): string {
  const write = (): string => blocks(knownTokens(item.tokens), inside)
  return inside.lists === 1 && inside.quotes === 0 ? once(item, inside, write) : write()
}

const cells = new WeakMap<Row, readonly string[]>()

/** Rows of a growing table are the same tokens again. */
function cellTexts(row: Row): readonly string[] {
  if (row.every(isAsWritten)) return row.map(({ text }) => text)
  const texts = cells.get(row) ?? row.map((cell) => lineOf(knownTokens(cell.tokens)))
  cells.set(row, texts)
  return texts
}

function writtenCells(row: Row, inside: Inside): readonly string[] {
  const { dialect } = inside
  return row.map((cell) =>
    isAsWritten(cell) ? dialect.text(cell.text) : spans(knownTokens(cell.tokens), inside).trim(),
  )
}

function spans(tokens: readonly Token[], inside: Inside): string {
  let all = ''
  for (const token of tokens) all += span(token, inside)
  return all
}

function span(token: Token, inside: Inside): string {
  const { dialect } = inside
  switch (token.type) {
    case 'strong':
      return dialect.strong(spans(knownTokens(token.tokens), inside))
    case 'em':
      return dialect.em(spans(knownTokens(token.tokens), inside))
    case 'del':
      return dialect.del(spans(knownTokens(token.tokens), inside))
    case 'codespan':
      return dialect.codespan(token.text)
    case 'br':
      return dialect.br()
    case 'link': {
      const tokens = knownTokens(token.tokens)
      const href = addressOf(token)
      if (!isOpenable(href)) return closed(token, spans(tokens, { ...inside, link: true }), lineOf(tokens), dialect)
      const content = spans(tokens, { ...inside, link: true })
      if (mayMislead(token.text, href) && isMisleading(lineOf(tokens), href)) return content + targetOf(token, dialect)
      return dialect.link(content === '' ? dialect.text('link') : content, href)
    }
    case 'image': {
      const alt = lineOf(knownTokens(token.tokens))
      const text = alt || 'image'
      if (inside.link) return dialect.text(text)
      const href = addressOf(token)
      if (!isOpenable(href)) return closed(token, dialect.text(alt), alt, dialect)
      return isMisleading(text, href) ? dialect.text(text) + targetOf(token, dialect) : dialect.image(text, href)
    }
    case 'escape':
      return dialect.text(token.text)
    case 'text':
      return token.tokens ? spans(knownTokens(token.tokens), inside) : dialect.text(decodeReferences(token.raw))
    case 'checkbox':
      return ''
    case 'html':
      if (/^<br\s*\/?>$/i.test(token.raw)) return dialect.br()
      return dialect.html?.(token.raw) ?? dialect.text(token.raw)
    default: // Blocks don't occur inside a line. If the lexer ever says so, show their source.
      return dialect.text(token.raw)
  }
}

type LinkToken = Extract<Token, { readonly type: 'link' | 'image' }>

/** The address of a link, to show after its text. The address of a reference is shown where it is defined. */
function targetOf(token: LinkToken, dialect: Dialect): string {
  if (!token.raw.endsWith(')')) return ''
  const href = addressOf(token)
  return `${dialect.text(' (')}${dialect.link(dialect.text(href), href)}${dialect.text(')')}`
}

/** What is written of a link that may not be one: its text and its address, both as text. */
function closed(token: LinkToken, content: string, text: string, dialect: Dialect): string {
  const { raw, type } = token
  const href = addressOf(token)
  // An address without a text of its own.
  if (type === 'link' && !raw.startsWith('[')) return dialect.text(asText(text))
  if (!raw.endsWith(')') || href === '') return content === '' ? dialect.text(type) : content
  const address = dialect.text(asText(href))
  if (text.trim() === '' || text === href) return address
  return `${content}${dialect.text(' (')}${address}${dialect.text(')')}`
}

/** The text of a line, without markup. */
function lineOf(tokens: readonly Token[]): string {
  return spans(tokens, { dialect: line, lists: 0, quotes: 0, link: true }).replaceAll('\n', ' ')
}

const same = (content: string): string => content

const line: Dialect = {
  text: same,
  strong: same,
  em: same,
  del: same,
  codespan: same,
  code: same,
  link: same,
  image: same,
  heading: same,
  paragraph: same,
  item: same,
  list: (items) => items.join(' '),
  blockquote: same,
  hr: () => '',
  br: () => ' ',
}
