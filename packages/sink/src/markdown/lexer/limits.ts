import type { Tokenizer, Tokens } from 'marked'

/** The most quotes and lists nested in each other. Deeper ones are text. */
export const mostDepth = 12

/**
 * Returns a function that tells whether the paragraph at the beginning of a text has an underline, which makes it a
 * heading. It is called for the same text repeatedly, each time without its first lines, so the result is cached.
 */
export function createUnderlineSearch(): (src: string) => boolean {
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

/** How many lazy lines, without its marks or indentation, may continue a paragraph in an outermost list or quote. */
const mostLazyLines = 40

/** Only a line that begins like this can start a list or a quote. */
export const markedLine = /^ {0,3}(?:>|(?:[-*+]|\d{1,9}[.)])(?:[ \t\n]|$))/

/** A line that ends a list or quote without a blank one. */
const endingLine = /^ {0,3}(?:`{3}|~{3}|#{1,6}[ \t])/

/** An item nested so deep that it is text. marked reads it again for each list around it. */
const deepItem = /^[ \t]{32,}(?:[-*+]|\d{1,9}[.)])[ \t]/

/** The marks at the beginning of a line, each of a quote or list in the one before. */
const leadPattern = /^(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t])))+/
const markPattern = />|[-*+]|\d+[.)]/g

/** Returns the least that marked reads of a line for the quotes and lists that its marks nest in each other. */
function leastReads(line: string): number {
  const marks = leadPattern.exec(line)?.[0]
  if (marks === undefined) return 0
  const depth = Math.min(mostDepth, marks.match(markPattern)?.length ?? 0)
  return Math.max(0, line.length - depth) * depth
}

/** The lists and quotes at the beginning of a text. */
interface Stretch {
  readonly end: number
  /** Too many lazy lines continue them: for each of those, marked reads the list or quote so far again. */
  readonly isTooLazy: boolean
  /** The least UTF-16 units that marked reads of them, each time that it reads a line. */
  readonly reads: number
}

/** Returns how far the lists and quotes at the beginning of a text go, and how costly they are for marked to read. */
export function containersAt(src: string): Stretch {
  let start = 0
  let lazyLines = 0
  let reads = 0
  let isBlank = false
  while (start < src.length && lazyLines <= mostLazyLines) {
    const end = src.indexOf('\n', start) + 1 || src.length
    const line = src.slice(start, end)
    if (line.trim() === '') isBlank = true
    else if (deepItem.test(line)) lazyLines++
    else if (/^[ \t]/.test(line) || markedLine.test(line)) isBlank = false
    else if (isBlank || endingLine.test(line)) break
    else lazyLines++
    reads += leastReads(line)
    start = end
  }
  return { end: start, isTooLazy: lazyLines > mostLazyLines, reads }
}

/** Table cells allowed per UTF-16 unit of the table: marked pads every row to the length of the head. */
const cellsPerUnit = 1

/** Whether padding every row to the columns of the head would make the table much longer than its text. */
function isTooWide(src: string): boolean {
  const headEnd = src.indexOf('\n')
  if (headEnd < 0) return false
  const columns = src.slice(0, headEnd).split('|').length
  if (columns < 50) return false
  const blank = /\n[ \t]*\n/.exec(src)
  const table = blank ? src.slice(0, blank.index) : src
  return columns * table.split('\n').length > cellsPerUnit * table.length
}

/** UTF-16 units that failed attempts may read: per unit of the text, and in addition to that. */
const tableReadsPerUnit = 4
const tableReads = 8000

/**
 * Returns a test whether a table at the beginning of a text is likely. Report each failed attempt with `missed`. Beyond
 * the limit, none is likely.
 */
export function createTableLimit(sourceLength: number): { isLikely(src: string): boolean; missed(src: string): void } {
  let readsLeft = tableReads + tableReadsPerUnit * sourceLength
  return {
    isLikely: (src) => readsLeft >= 0 && /^[^\n]*\n(?=[ \t-]*[|:])[ \t|:-]*(?:\n|$)/.test(src) && !isTooWide(src),
    missed(src) {
      readsLeft -= src.length
    },
  }
}

/** One heading is allowed per this many UTF-16 units, plus `headings`. Beyond that, headings are paragraphs. */
const unitsPerHeading = 30
const headings = 10

/**
 * Returns a function that counts a heading of a text with this many UTF-16 units, and returns whether it is within the
 * limit.
 */
export function createHeadingLimit(sourceLength: number): () => boolean {
  let headingsLeft = headings + sourceLength / unitsPerHeading
  return () => headingsLeft-- > 0
}

/** Returns a token of text without other spans in it. */
export function textSpan(text: string): Tokens.Text {
  return { type: 'text', raw: text, text, escaped: false }
}

/** Whether emphasis may begin at the start of `src`. An underscore between letters begins none. */
export function mayBeginEmphasis(src: string, before = ''): boolean {
  return (
    src.startsWith('*') || (src.startsWith('_') && !(/^_+[\p{L}\p{N}]/u.test(src) && /[\p{L}\p{N}]$/u.test(before)))
  )
}

/**
 * UTF-16 units before the @ of an address: RFC 5321 allows 64, and 254 in all. Unbounded, marked would read each word
 * to its end from every mark in it.
 */
const addressLength = 254

type SpanRules = Tokenizer['rules']['inline']

/** Returns the rules with a bounded search for the @ of an address, and those for a line without an @. Cached. */
export function boundedAddresses(rules: SpanRules): { readonly any: SpanRules; readonly none: SpanRules } {
  const known = boundedRules.get(rules)
  if (known) return known
  const both = { any: withRepetition(rules, `{1,${addressLength}}`), none: withRepetition(rules, '(?!)') }
  boundedRules.set(rules, both)
  return both
}

const boundedRules = new WeakMap<SpanRules, ReturnType<typeof boundedAddresses>>()

/** Returns the rules with `times` in place of each + before an @. */
function withRepetition(rules: SpanRules, times: string): SpanRules {
  const changed = ({ source, flags }: RegExp): RegExp => new RegExp(source.replace(/\]\+(?=\(?@)/g, `]${times}`), flags)
  return { ...rules, text: changed(rules.text), url: changed(rules.url) }
}

/**
 * Reads a label of plain words without a definition as one text, which marked would read in three parts. Undefined if
 * the text doesn't begin with one.
 */
export function undefinedLabel(src: string, links: Tokenizer['lexer']['tokens']['links']): Tokens.Text | undefined {
  const [raw, label] = /^\[([A-Za-z0-9]{1,99})\](?!\[)/.exec(src) ?? []
  if (raw === undefined || label === undefined || Object.hasOwn(links, label.toLowerCase())) return undefined
  return { type: 'text', raw, text: raw }
}

/**
 * Reads the opening brackets at the beginning as text. Used in a line without a closing bracket, where marked would
 * search for a link at each of them.
 */
export function openBrackets(src: string): Tokens.Text | undefined {
  const raw = /^(?:!?\[)+/.exec(src)?.[0]
  return raw === undefined ? undefined : { type: 'text', raw, text: raw }
}
