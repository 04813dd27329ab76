import { Lexer, type Token as MarkedOrOther, Tokenizer, type Tokens } from 'marked'
import { noDefinitions, readFlatTable, readSimpleList, readSimpleSpans } from './fast-path.ts'
import {
  boundedAddresses,
  containersAt,
  createHeadingLimit,
  createTableLimit,
  createUnderlineSearch,
  markedLine,
  mayBeginEmphasis,
  mostDepth,
  openBrackets,
  textSpan,
  undefinedLabel,
} from './limits.ts'
import { knownTokens, type Token } from './token.ts'

// Why marked: the alternatives miss the goals of the benchmarks `hostile.*.8k`. Telegram's goal, for example, is 5 times
// as long as plain text, which takes 0.2 to 0.3 ms to split and render. Reading 8 KB of the worst pattern alone takes
// 0.7 ms here and 3.0 ms with markdown-it, although that was given 4 KB at a time and at most 200 brackets each. A wide
// table with empty rows takes markdown-it 83 ms, and nested lists take micromark more than 1,000. markdown-it is also
// twice the size (42 instead of 20 kB, minified and gzipped), and its spans don't have the source that
// `closeMarkdown` reads.

/** The most emphasis, links and the like nested in each other. Deeper ones are text. */
const mostNestedSpans = 8

/** UTF-16 units that the search for closing emphasis may read: per unit of a line, and per line. */
const readsPerUnit = 8
const readsPerLine = 4000

/** What each run of marks costs in such a search, in units of plain text. */
const unitsPerRun = 20

/** What each mark costs beyond that limit, in UTF-16 units. After as many units as the line has, the rest is one text. */
const unitsPerMark = 30

/** Spans that marked may read: per line, and in addition one per this many UTF-16 units. What follows is one text. */
const mostSteps = 400
const unitsPerStep = 16

/** UTF-16 units of lists and quotes that may be read: per unit of the text, and per text. Nested ones count each time. */
const nestedReadsPerUnit = 4
const nestedReads = 2000

/**
 * Reads Markdown (GFM) with marked, in time linear in the text. Never throws.
 *
 * marked reads some texts again for each level of nesting, or for each mark that is never closed. Beyond a limit, such
 * a piece becomes text with its marks. Everything before it is read as usual. HTML blocks are disabled: their content is
 * shown as written, and may be Markdown.
 */
export function readMarkdown(source: string): readonly Token[] {
  const tokenizer = new Tokenizer()
  const lexer = new Lexer({ gfm: true, breaks: false, pedantic: false, tokenizer })
  const fallback = createPlainFallback(tokenizer, lexer)
  limitContainers(tokenizer, lexer, { mostReads: nestedReadsPerUnit * source.length + nestedReads, fallback })
  limitTables(tokenizer, lexer, source.length)
  limitHeadings(tokenizer, source.length, fallback)
  limitSpans(tokenizer, lexer)
  return knownTokens(lexer.lex(source))
}

/** Reads the rest of a text as plain paragraphs once one of its limits is reached. */
interface PlainFallback {
  /** Lists, quotes and headings are paragraphs, and none of their lines ends a paragraph. */
  readonly isPlain: () => boolean
  makePlain(): void
}

/**
 * Creates the fallback. It replaces the paragraph rule only when needed, because marked joins paragraphs only while the
 * rule is its own.
 */
function createPlainFallback(tokenizer: Tokenizer, lexer: Lexer): PlainFallback {
  let isPlain = false
  return {
    isPlain: () => isPlain,
    makePlain() {
      isPlain = true
      tokenizer.paragraph = (src) => plainBlock(src, lexer)
    },
  }
}

/**
 * Replaces the tokenizer's rules so that lists and quotes that are nested too deep, or read too often, become
 * paragraphs. Also disables HTML blocks.
 */
function limitContainers(
  tokenizer: Tokenizer,
  lexer: Lexer,
  { mostReads, fallback }: { readonly mostReads: number; readonly fallback: PlainFallback },
): void {
  const readQuote = tokenizer.blockquote.bind(tokenizer)
  const readList = tokenizer.list.bind(tokenizer)
  let depth = 0
  let reads = 0
  /** How much of the text's end `containersAt` has not looked at yet, in UTF-16 units. */
  let uncheckedLength = Number.POSITIVE_INFINITY
  const readUnderlined = tokenizer.lheading.bind(tokenizer)
  const isUnderlineNext = createUnderlineSearch()
  tokenizer.html = () => undefined
  tokenizer.lheading = (src) => {
    if (!isUnderlineNext(src)) return undefined
    const token = readUnderlined(src)
    if (token === undefined && depth > 0) chargeReads(src.length)
    return token
  }
  tokenizer.blockquote = (src) => {
    if (!/^ {0,3}>/.test(src)) return undefined
    return depth === 0 ? readOutermost(src, readQuote) : readNested(src, readQuote)
  }
  tokenizer.list = (src) => {
    if (depth > 0) return readNested(src, readList)
    const isPlain = fallback.isPlain() || !markedLine.test(src)
    return isPlain ? undefined : (readSimpleList(src, lexer) ?? readOutermost(src, readList))
  }

  /**
   * Reads an outermost list or quote. Undefined for other text. Makes the text plain and returns undefined if it is or
   * would be read too often, or is nested too deeply for the stack.
   */
  function readOutermost<T extends MarkedOrOther>(src: string, read: (src: string) => T | undefined): T | undefined {
    if (!markedLine.test(src)) return undefined
    if (src.length <= uncheckedLength) {
      const found = containersAt(src)
      uncheckedLength = src.length - found.end
      if (found.isTooLazy || reads + found.reads > mostReads) fallback.makePlain()
    }
    const queued = lexer.inlineQueue.length
    const { top, lastToken } = lexer.state
    try {
      return fallback.isPlain() ? undefined : readNested(src, read)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      fallback.makePlain()
      depth = 0
      lexer.inlineQueue.length = queued
      Object.assign(lexer.state, { top, lastToken })
      return undefined
    }
  }

  /** Reads a list or quote one level deeper, and counts its units. Undefined below `mostDepth`. */
  function readNested<T extends MarkedOrOther>(src: string, read: (src: string) => T | undefined): T | undefined {
    if (depth >= mostDepth) return undefined
    depth++
    const token = read(src)
    depth--
    chargeReads(token?.raw.length ?? 0)
    return token
  }

  /** Counts units that were read. Throws a RangeError beyond the limit, which `readOutermost` catches. */
  function chargeReads(units: number): void {
    reads += units
    if (reads > mostReads) throw new RangeError(`Reading a text's lists and quotes took more than ${mostReads} units.`)
  }
}

/** Replaces the tokenizer's rule so that tables that are too wide, or searched for too often, become paragraphs. */
function limitTables(tokenizer: Tokenizer, lexer: Lexer, sourceLength: number): void {
  const readTable = tokenizer.table.bind(tokenizer)
  const limit = createTableLimit(sourceLength)
  tokenizer.table = (src) => {
    if (!limit.isLikely(src)) return undefined
    const table = readFlatTable(src, lexer) ?? readTable(src)
    if (table === undefined) limit.missed(src)
    return table
  }
}

/** Replaces the tokenizer's rules so that the first heading beyond the limit, and all text below it, is plain paragraphs. */
function limitHeadings(tokenizer: Tokenizer, sourceLength: number, fallback: PlainFallback): void {
  const readHeading = tokenizer.heading.bind(tokenizer)
  const readUnderlined = tokenizer.lheading.bind(tokenizer)
  const countHeading = createHeadingLimit(sourceLength)
  tokenizer.heading = (src) => readWithinLimit(src, readHeading)
  tokenizer.lheading = (src) => readWithinLimit(src, readUnderlined)

  /** Reads a heading. Beyond the limit, falls back to plain text. */
  function readWithinLimit(src: string, read: typeof readHeading): Tokens.Heading | undefined {
    const heading = fallback.isPlain() ? undefined : read(src)
    if (heading === undefined || countHeading()) return heading
    fallback.makePlain()
    return undefined
  }
}

/**
 * Replaces the rules for spans so that those that are nested too deep, or whose ends are searched for too often, become
 * text.
 */
function limitSpans(tokenizer: Tokenizer, lexer: Lexer): void {
  const readSpans = lexer.inlineTokens.bind(lexer)
  const readEmphasis = tokenizer.emStrong.bind(tokenizer)
  const readDeleted = tokenizer.del.bind(tokenizer)
  const readReference = tokenizer.reflink.bind(tokenizer)
  let depth = 0
  let readsLeft = 0
  /** With fewer reads left than this, the rest of the line is text. */
  let plainBelow = 0
  let stepsLeft = 0
  let costPerUnit = 1
  let isBracketClosed = true
  // All blocks are read before the first line.
  let definitions: Lexer['tokens']['links'] | undefined
  const { rules } = tokenizer
  const addresses = boundedAddresses(rules.inline)
  // marked tries the escape rule first at every position.
  const readEscape = tokenizer.escape.bind(tokenizer)
  tokenizer.escape = (src) => {
    // A name with underscores is one text in many steps.
    if (!src.startsWith('_')) stepsLeft--
    return readsLeft < plainBelow || stepsLeft < 0 ? plainRest(src) : readEscape(src)
  }
  tokenizer.reflink = (src, links) =>
    isBracketClosed ? (undefinedLabel(src, links) ?? readReference(src, links)) : openBrackets(src)
  tokenizer.emStrong = (src, masked, before) =>
    mayBeginEmphasis(src, before) ? readMetered(src, () => readEmphasis(src, masked, before)) : undefined
  tokenizer.del = (src, masked, before) =>
    src.startsWith('~') ? readMetered(src, () => readDeleted(src, masked, before)) : undefined
  lexer.inlineTokens = (src, tokens = []) => {
    if (depth === 0) readsLeft = readsPerLine + readsPerUnit * src.length
    readsLeft -= src.length
    if (depth >= mostNestedSpans || readsLeft < 0) {
      tokens.push(textSpan(src))
      return tokens
    }
    definitions ??= Object.keys(lexer.tokens.links).length > 0 ? lexer.tokens.links : noDefinitions
    const simple = readSimpleSpans(src, definitions, lexer.state.inLink)
    if (simple !== undefined) {
      for (const token of simple) tokens.push(token)
      return tokens
    }
    if (depth === 0) {
      costPerUnit = 1 + (unitsPerRun * (src.match(/[*_~]+/g)?.length ?? 0)) / Math.max(1, src.length)
      plainBelow = -500 - src.length
      stepsLeft = mostSteps + src.length / unitsPerStep
      isBracketClosed = src.includes(']')
      tokenizer.rules = { ...rules, inline: src.includes('@') ? addresses.any : addresses.none }
    }
    depth++
    const read = readSpans(src, tokens)
    depth--
    return read
  }

  /**
   * Reads a span. A failed search for its end takes its cost off the line's budget, and beyond the budget nothing is read and
   * each mark takes more.
   */
  function readMetered<T extends { readonly raw: string }>(src: string, read: () => T | undefined): T | undefined {
    if (readsLeft < 0) {
      readsLeft -= unitsPerMark
      return undefined
    }
    const token = read()
    if (token === undefined && /^[*_~]+\S/.test(src)) readsLeft = Math.max(-1, readsLeft - src.length * costPerUnit)
    return token
  }
}

/** Returns the rest of a line beyond its limit as one text. marked adds an escape token as it is, whatever its type. */
function plainRest(src: string): Tokens.Escape {
  return { type: 'escape', raw: src, text: src }
}

/** Reads everything up to the next blank line as one paragraph, whatever its lines begin with. */
function plainBlock(src: string, lexer: Lexer): Tokens.Paragraph {
  const raw = /^[\s\S]*?(?:\n(?=[ \t]*(?:\n|$))|$)/.exec(src)?.[0] ?? src
  const text = raw.replace(/\n$/, '')
  return { type: 'paragraph', raw, text, tokens: lexer.inline(text) }
}
