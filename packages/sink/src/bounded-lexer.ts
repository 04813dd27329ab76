import { Lexer, type Token as MarkedOrOther, type MarkedToken, Tokenizer, type Tokens } from 'marked'

/** A token of Markdown. Tokens inside it are typed more widely by marked: `known` narrows them. */
export type Token = MarkedToken

/** Quotes and lists inside each other. What is deeper is text. */
const mostDepth = 12

/** Emphasis, links and the like inside each other. What is deeper is text. */
const mostSpans = 8

/** How many units the search for the ends of emphasis may read for each unit of a line, and for the line itself. */
const readsPerUnit = 10
const readsPerRun = 2000

/** Cells of a table for each unit that it is written with: marked fills up every row to the length of the head. */
const cellsPerUnit = 1

/** How many units of lists and quotes may be read, those inside others again, for each unit of the text. */
const nestedReadsPerUnit = 4

/**
 * Reads Markdown (GFM) with marked, in time that grows with the text alone. Never throws.
 *
 * marked reads some texts again for each level of nesting, or for each mark that nothing closes. Beyond a limit, such a
 * piece is text, shown with its marks; what stands before it is read as always. Without blocks of HTML: what is inside
 * them is shown as written, and it may as well be Markdown.
 */
export function readMarkdown(source: string): readonly Token[] {
  const tokenizer = new Tokenizer()
  const lexer = new Lexer({ gfm: true, breaks: false, pedantic: false, tokenizer })
  limitBlocks(tokenizer, lexer, nestedReadsPerUnit * source.length + readsPerRun)
  limitSpans(tokenizer, lexer)
  return known(lexer.lex(source))
}

/** Lists and quotes that are too deep, or read too often, are paragraphs. */
function limitBlocks(tokenizer: Tokenizer, lexer: Lexer, mostReads: number): void {
  const readQuote = tokenizer.blockquote.bind(tokenizer)
  const readList = tokenizer.list.bind(tokenizer)
  const readTable = tokenizer.table.bind(tokenizer)
  let [depth, reads] = [0, 0]
  const readUnderlined = tokenizer.lheading.bind(tokenizer)
  const isUnderlineNext = createUnderlineSearch()
  tokenizer.html = () => undefined
  tokenizer.lheading = (src) => {
    if (!isUnderlineNext(src)) return undefined
    const token = readUnderlined(src)
    if (token === undefined && depth > 0) charge(src.length)
    return token
  }
  tokenizer.table = (src) => (isTableTooWide(src) ? undefined : readTable(src))
  tokenizer.blockquote = (src) => (depth === 0 ? outermost(src, readQuote) : nested(src, readQuote))
  tokenizer.list = (src) => (depth === 0 ? outermost(src, readList) : nested(src, readList))

  function outermost<T extends MarkedOrOther>(src: string, read: (src: string) => T | undefined): T | undefined {
    const queued = lexer.inlineQueue.length
    const { top, lastToken } = lexer.state
    try {
      return reads > mostReads ? undefined : nested(src, read)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      reads = Number.POSITIVE_INFINITY
      depth = 0
      lexer.inlineQueue.length = queued
      Object.assign(lexer.state, { top, lastToken })
      return undefined
    }
  }

  function nested<T extends MarkedOrOther>(src: string, read: (src: string) => T | undefined): T | undefined {
    if (depth >= mostDepth) return undefined
    depth++
    const token = read(src)
    depth--
    charge(token?.raw.length ?? 0)
    return token
  }

  function charge(units: number): void {
    reads += units
    if (reads > mostReads)
      throw new RangeError(`Lists and quotes of a text were read more than ${mostReads} units far.`)
  }
}

/** Spans that are too deep, or whose ends are looked for too often, are text. */
function limitSpans(tokenizer: Tokenizer, lexer: Lexer): void {
  const readSpans = lexer.inlineTokens.bind(lexer)
  const readEmphasis = tokenizer.emStrong.bind(tokenizer)
  const readDeleted = tokenizer.del.bind(tokenizer)
  const readReference = tokenizer.reflink.bind(tokenizer)
  let [depth, left] = [0, 0]
  let isBracketClosed = true
  const { rules } = tokenizer
  tokenizer.rules = { ...rules, inline: { ...rules.inline, ...boundedAddresses(rules.inline) } }
  tokenizer.reflink = (src, links) => (isBracketClosed ? readReference(src, links) : openBrackets(src))
  tokenizer.emStrong = (src, masked, before) => metered(src, () => readEmphasis(src, masked, before))
  tokenizer.del = (src, masked, before) => metered(src, () => readDeleted(src, masked, before))
  lexer.inlineTokens = (src, tokens = []) => {
    if (depth === 0) {
      left = readsPerRun + readsPerUnit * src.length
      isBracketClosed = src.includes(']')
    }
    left -= src.length
    if (depth >= mostSpans || left < 0) {
      tokens.push({ type: 'text', raw: src, text: src, escaped: false })
      return tokens
    }
    depth++
    const read = readSpans(src, tokens)
    depth--
    return read
  }

  function metered<T extends { readonly raw: string }>(src: string, read: () => T | undefined): T | undefined {
    if (!/^[*_~]/.test(src)) return undefined
    if (left < 0) return undefined
    const token = read()
    if (token === undefined && /^[*_~]+\S/.test(src)) left -= src.length
    return token
  }
}

/** Brackets where none is closed: marked would look for a link at each of them. */
function openBrackets(src: string): Tokens.Text | undefined {
  const raw = /^(?:!?\[)+/.exec(src)?.[0]
  return raw === undefined ? undefined : { type: 'text', raw, text: raw }
}

/** Units before the @ of an address: RFC 5321 takes 64, and 254 in all. Without a bound each word is read to its end from each mark in it. */
const addressLength = 254

function boundedAddresses({ text, url }: { readonly text: RegExp; readonly url: RegExp }): {
  text: RegExp
  url: RegExp
} {
  return { text: bounded(text), url: bounded(url) }
}

const boundedRules = new Map<RegExp, RegExp>()

function bounded(rule: RegExp): RegExp {
  const known = boundedRules.get(rule)
  if (known) return known
  const source = rule.source.replace(/\]\+(?=\(?@)/g, `]{1,${addressLength}}`)
  const one = new RegExp(source, rule.flags)
  boundedRules.set(rule, one)
  return one
}

/**
 * Tells whether the paragraph at the beginning of a text has an underline, which makes it a heading. It is asked for
 * one text again and again, each time without its first lines: what was found is remembered.
 */
function createUnderlineSearch(): (src: string) => boolean {
  let text = ''
  let end = -1
  let isUnderline = false
  return (src) => {
    const passed = text.length - src.length
    const isKnown = passed >= 0 && passed <= end && text.endsWith(src)
    if (!isKnown) {
      const found = /\n(?: {0,3}(?<line>=+|-+)[ \t]*(?=\n|$)|[ \t]*(?=\n|$))/.exec(src)
      text = src
      end = found?.index ?? src.length
      isUnderline = found?.groups?.line !== undefined
    }
    return isUnderline
  }
}

/** Narrows the type: no extensions of marked are in use, so all tokens are its own. */
export function known(tokens: readonly MarkedOrOther[]): readonly Token[] {
  return tokens.every(isKnown) ? tokens : tokens.filter(isKnown)
}

/** Whether filling up every row to the columns of the head would make the table much longer than its text. */
function isTableTooWide(src: string): boolean {
  const headEnd = src.indexOf('\n')
  if (headEnd < 0) return false
  const columns = src.slice(0, headEnd).split('|').length
  if (columns < 50) return false
  const blank = /\n[ \t]*\n/.exec(src)
  const table = blank ? src.slice(0, blank.index) : src
  return columns * table.split('\n').length > cellsPerUnit * table.length
}

const kinds = new Set<string>([
  'blockquote',
  'br',
  'checkbox',
  'code',
  'codespan',
  'def',
  'del',
  'em',
  'escape',
  'heading',
  'hr',
  'html',
  'image',
  'link',
  'list',
  'list_item',
  'paragraph',
  'space',
  'strong',
  'table',
  'text',
] satisfies MarkedToken['type'][])

function isKnown(token: MarkedOrOther): token is Token {
  return kinds.has(token.type)
}
