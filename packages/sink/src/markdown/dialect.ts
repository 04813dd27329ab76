import { decodeReferences } from './character-references.ts'
import { lex } from './lex.ts'
import { isAsWritten, knownTokens, type Token } from './lexer/token.ts'
import { addressOf, asUnlinkedText, isMisleading, isOpenable, mayMislead } from './link-text.ts'
import { type Table, tableText } from './table.ts'

/** The position of a list item. */
export interface ItemPlace {
  /** Whether its list is numbered. */
  readonly ordered: boolean
  /** Counts from the number of the list's first item, or from 1 in a list without numbers. */
  readonly number: number
  /** 0 in a top-level list. */
  readonly depth: number
  /** Whether its box is checked. Undefined without a box. */
  readonly checked: boolean | undefined
}

/** Writes an item as plain text, for platforms without lists: indented by its depth, with its number, its box or "•". */
export function itemText(content: string, { ordered, number, depth, checked }: ItemPlace): string {
  const box = checked === undefined ? '•' : checked ? '☑' : '☐'
  const bullet = ordered ? `${number}.${checked === undefined ? '' : ` ${box}`}` : box
  return `${'  '.repeat(depth)}${bullet} ${content.trimStart()}`.trimEnd()
}

/**
 * How a platform writes each Markdown construct. Must be pure, because results are cached. `text` arguments are unescaped.
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
   * `text` is the alternative text. `href` is as for `link`. Write a link, because a platform that loads the picture sends
   * the address, with anything that the model put into it, to the server.
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
  /** A tag as it was written. Show it as text and never pass it on. Default: as `text`. */
  html?(text: string): string
}

type Item = Extract<Token, { readonly type: 'list' }>['items'][number]
type CellTokens = Extract<Token, { readonly type: 'table' }>['header']

interface Inside {
  readonly dialect: Dialect
  readonly lists: number
  readonly quotes: number
  readonly link: boolean
}

/**
 * Writes Markdown in a platform's dialect. Keeps one blank line where blocks have some between them. A text that is nested
 * too deep is written without markup. Throws only what the dialect throws.
 */
export function renderMarkdown(source: string, dialect: Dialect): string {
  try {
    return writeBlocks(lex(source), { dialect, lists: 0, quotes: 0, link: false }, writeCachedBlock)
  } catch (error) {
    // The nesting was just within the lexer's limit, but too deep for rendering.
    if (error instanceof RangeError) return dialect.text(source)
    throw error
  }
}

/** Caches what was written for each token. The lexer caches the tokens. */
const written = new WeakMap<Dialect, WeakMap<Token, string>>()

/**
 * Writes a top-level block once per dialect. Short ones are not cached, because a look-up takes as long as writing
 * them.
 */
function writeCachedBlock(token: Token, inside: Inside): string {
  return token.raw.length < 16 ? writeBlock(token, inside) : cachedText(token, inside, () => writeBlock(token, inside))
}

/** Returns the cached text of the token, or else calls `write` and caches its result. */
function cachedText(token: Token, { dialect }: Inside, write: () => string): string {
  const ours = written.get(dialect) ?? new WeakMap<Token, string>()
  const text = ours.get(token) ?? write()
  if (!ours.has(token)) written.set(dialect, ours.set(token, text))
  return text
}

/** Writes blocks on lines of their own. Keeps one blank line where the source has some. */
function writeBlocks(tokens: readonly Token[], inside: Inside, write = writeBlock): string {
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

/**
 * Writes a block. A table is code if the dialect has no tables, and a link definition is shown as text. Empty for white
 * space.
 */
function writeBlock(token: Token, inside: Inside): string {
  const { dialect } = inside
  switch (token.type) {
    case 'heading':
      return dialect.heading(writeSpans(knownTokens(token.tokens), inside), token.depth)
    case 'paragraph':
      return dialect.paragraph(writeSpans(knownTokens(token.tokens), inside).trim())
    case 'code':
      return dialect.code(token.text.replace(/\n+$/, ''), token.lang?.split(/\s/, 1)[0] || undefined)
    case 'blockquote': {
      const below = { ...inside, quotes: inside.quotes + 1 }
      return dialect.blockquote(writeBlocks(knownTokens(token.tokens), below), inside.quotes)
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
      return writeBlocks(knownTokens(token.tokens), inside)
    case 'text':
      return writeSpan(token, inside).trim()
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
      return writeSpan(token, inside)
  }
  return token satisfies never
}

/**
 * Writes the content of an item. Cached in top-level lists, because the items of a growing list are the same tokens
 * again.
 */
function itemContent(item: Item, inside: Inside): string {
  const write = (): string => writeBlocks(knownTokens(item.tokens), inside)
  return inside.lists === 1 && inside.quotes === 0 ? cachedText(item, inside, write) : write()
}

const cells = new WeakMap<CellTokens, readonly string[]>()

/** Returns the cells without markup. Cached, because the rows of a growing table are the same tokens again. */
function cellTexts(row: CellTokens): readonly string[] {
  if (row.every(isAsWritten)) return row.map(({ text }) => text)
  const texts = cells.get(row) ?? row.map((cell) => plainLine(knownTokens(cell.tokens)))
  cells.set(row, texts)
  return texts
}

/** Returns the cells written by the dialect. */
function writtenCells(row: CellTokens, inside: Inside): readonly string[] {
  const { dialect } = inside
  return row.map((cell) =>
    isAsWritten(cell) ? dialect.text(cell.text) : writeSpans(knownTokens(cell.tokens), inside).trim(),
  )
}

/** Writes spans one after the other. */
function writeSpans(tokens: readonly Token[], inside: Inside): string {
  let all = ''
  for (const token of tokens) all += writeSpan(token, inside)
  return all
}

/**
 * Writes a span. Shows the address of a link or image beside its text if the text names another address, and only as text
 * if it must not be opened. In a link, an image is its alternative text. `<br>` is a line break, and other tags are text.
 */
function writeSpan(token: Token, inside: Inside): string {
  const { dialect } = inside
  switch (token.type) {
    case 'strong':
      return dialect.strong(writeSpans(knownTokens(token.tokens), inside))
    case 'em':
      return dialect.em(writeSpans(knownTokens(token.tokens), inside))
    case 'del':
      return dialect.del(writeSpans(knownTokens(token.tokens), inside))
    case 'codespan':
      return dialect.codespan(token.text)
    case 'br':
      return dialect.br()
    case 'link': {
      const tokens = knownTokens(token.tokens)
      const href = addressOf(token)
      if (!isOpenable(href))
        return withoutLink(token, writeSpans(tokens, { ...inside, link: true }), plainLine(tokens), dialect)
      const content = writeSpans(tokens, { ...inside, link: true })
      if (mayMislead(token.text, href) && isMisleading(plainLine(tokens), href))
        return content + shownAddress(token, dialect)
      return dialect.link(content === '' ? dialect.text('link') : content, href)
    }
    case 'image': {
      const alt = plainLine(knownTokens(token.tokens))
      const text = alt || 'image'
      if (inside.link) return dialect.text(text)
      const href = addressOf(token)
      if (!isOpenable(href)) return withoutLink(token, dialect.text(alt), alt, dialect)
      return isMisleading(text, href) ? dialect.text(text) + shownAddress(token, dialect) : dialect.image(text, href)
    }
    case 'escape':
      return dialect.text(token.text)
    case 'text':
      return token.tokens ? writeSpans(knownTokens(token.tokens), inside) : dialect.text(decodeReferences(token.raw))
    case 'checkbox':
      return ''
    case 'html':
      if (/^<br\s*\/?>$/i.test(token.raw)) return dialect.br()
      return dialect.html?.(token.raw) ?? dialect.text(token.raw)
    default: // Blocks don't occur inside a line. If the lexer ever returns one, show its source.
      return dialect.text(token.raw)
  }
}

type LinkToken = Extract<Token, { readonly type: 'link' | 'image' }>

/**
 * Returns the address of a link in brackets, to show after its text. Empty for a reference, whose address is shown
 * where it is defined.
 */
function shownAddress(token: LinkToken, dialect: Dialect): string {
  if (!token.raw.endsWith(')')) return ''
  const href = addressOf(token)
  return `${dialect.text(' (')}${dialect.link(dialect.text(href), href)}${dialect.text(')')}`
}

/**
 * Writes a link that must not be opened: its text and its address, both as text. Only the text for a reference or an empty
 * address, and only the address if the text is blank or the same.
 */
function withoutLink(token: LinkToken, content: string, text: string, dialect: Dialect): string {
  const { raw, type } = token
  const href = addressOf(token)
  // An address without a text of its own.
  if (type === 'link' && !raw.startsWith('[')) return dialect.text(asUnlinkedText(text))
  if (!raw.endsWith(')') || href === '') return content === '' ? dialect.text(type) : content
  const address = dialect.text(asUnlinkedText(href))
  if (text.trim() === '' || text === href) return address
  return `${content}${dialect.text(' (')}${address}${dialect.text(')')}`
}

/** Returns the text of spans in one line, without markup. */
function plainLine(tokens: readonly Token[]): string {
  return writeSpans(tokens, { dialect: plainDialect, lists: 0, quotes: 0, link: true }).replaceAll('\n', ' ')
}

const asIs = (content: string): string => content

const plainDialect: Dialect = {
  text: asIs,
  strong: asIs,
  em: asIs,
  del: asIs,
  codespan: asIs,
  code: asIs,
  link: asIs,
  image: asIs,
  heading: asIs,
  paragraph: asIs,
  item: asIs,
  list: (items) => items.join(' '),
  blockquote: asIs,
  hr: () => '',
  br: () => ' ',
}
