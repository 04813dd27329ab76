import { lex } from './lex.ts'
import { knownTokens, type Token } from './lexer/token.ts'
import { closingFence, openBlocksOf } from './reopen-blocks.ts'

/** A last line that may still become a heading, an item, a box, a quote, a rule or a fence. */
const halfLine =
  /(?:^|\n)[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?:#{1,6}|[-*+]|--|={1,2}|>|`{1,2}|~{1,2}|[-*+][ \t]+\[[ xX]?\]?)[ \t]*$/

/** An image, or a link, with an incomplete address. */
const halfImage = /^!(?:$|\[[^\]]*(?:\](?:\([^)]*)?)?$)/
const halfLink = /^\[((?:[^[\]]|\[[^[\]]*\])*)\]\([^)]*$/

/** The longest link or image, in UTF-16 units. */
const longestLink = 2000

/** The most open marks that are closed. A text with more is shown as it is. */
const mostOpen = 16

/** In a longer block, in UTF-16 units, only the end is examined, so the time does not depend on the block's length. */
const mostExamined = 2 * longestLink

/** Closing a construct may expose another open one, so it is repeated, at most this often. */
const mostRounds = 8
const mostRoundsOfLong = 3

/**
 * Makes the end of a growing text look as it will when complete: closes what is open, leaves out incomplete addresses,
 * and hides marks whose meaning is not yet known.
 *
 * Changes only the last construct, and is idempotent. A construct opened more than 4,000 UTF-16 units before the end of
 * its block, or inside more than 16 others, stays open. Returns a text unchanged that is not closed after several rounds.
 * Never throws.
 */
export function closeMarkdown(source: string): string {
  let closed = source
  const isLong = (lastTextToken(source)?.raw.length ?? 0) > mostExamined
  const rounds = isLong ? mostRoundsOfLong : mostRounds
  for (let round = 0; round < rounds; round++) {
    const next = closedOnce(closed)
    if (next === closed) return closed
    closed = next
  }
  return source
}

/**
 * Closes the last open construct, or removes a last line whose meaning is not known yet. Returns the same text if there
 * is neither.
 */
function closedOnce(source: string): string {
  const open = openBlocksOf(source)
  if (open?.fence !== undefined) return withClosedFence(source, closingFence(open), open.fence.marker)
  const leaf = lastTextToken(source)
  if (leaf === undefined) return source
  const half = halfLine.exec(source)
  if (half !== null) return source.slice(0, half.index)
  return withClosedSpans(source, leaf)
}

/** Adds the closing fence, in place of one that has only begun. */
function withClosedFence(source: string, close: string, marker: string): string {
  const lines = source.split('\n')
  const last = lines.at(-1)?.replace(/^[ \t>]*/, '') ?? ''
  const isHalfClosed = lines.length > 1 && last !== '' && last.length < marker.length && marker.startsWith(last)
  return (isHalfClosed ? lines.slice(0, -1).join('\n') : source.replace(/\n$/, '')) + close
}

/** Returns the text token at the very end. Undefined if the source doesn't end in text. */
function lastTextToken(source: string): Token | undefined {
  let tokens: readonly Token[] = lex(source)
  for (;;) {
    const last = tokens.at(-1)
    if (last?.type === 'blockquote') tokens = knownTokens(last.tokens)
    else if (last?.type === 'list') tokens = knownTokens(last.items.at(-1)?.tokens ?? [])
    else if (last?.type === 'paragraph' || last?.type === 'heading' || last?.type === 'text') return last
    // A quote or an item that consists of its mark only.
    else return last === undefined && source.trim() !== '' ? { type: 'text', raw: '', text: '' } : undefined
  }
}

/**
 * Returns the source with the marks closed that its last text, `leaf`, leaves open. The same source if there are none, or more
 * than `mostOpen`. Complete constructs have tokens of their
 * own, so marks left in the text are open or have no meaning.
 */
function withClosedSpans(source: string, leaf: Token): string {
  const spans = lastSpans('tokens' in leaf && leaf.tokens !== undefined ? knownTokens(leaf.tokens) : [])
  const line = spans.map(({ raw }) => raw).join('')
  const inked = source.trimEnd()
  const inkedLine = line.trimEnd()
  const open: string[] = []
  let start = 0
  for (const span of spans) {
    const texts = span.type === 'text' ? span.raw.matchAll(/`+|!?\[|!$|\*+|_+|~+/g) : []
    for (const { 0: run, index } of texts) {
      const at = start + index
      if (open.length >= mostOpen) return source
      if (run.startsWith('`') && at + run.length < inkedLine.length)
        return withClosedMarks(withClosedCode(inked, run), open)
      const isNearEnd = inkedLine.length - at <= longestLink
      const closed = isNearEnd ? withClosedTail(inked, inkedLine.slice(at), run, open) : undefined
      if (closed !== undefined) return closed
      if (/^[*_~]/.test(run)) updateOpenMarks(open, run, line.charAt(at - 1), line.charAt(at + run.length))
    }
    start += span.raw.length
  }
  return open.length === 0 ? source : withClosedMarks(inked, open) + source.slice(inked.length)
}

/** Returns the spans at the end, up to `mostExamined` units. */
function lastSpans(spans: readonly Token[]): readonly Token[] {
  let first = spans.length
  let units = 0
  while (first > 0 && units < mostExamined) {
    first--
    units += spans[first]?.raw.length ?? 0
  }
  return first === 0 ? spans : spans.slice(first)
}

/** Closes or hides a link, image or mark that begins with `run` and is incomplete at the end. Undefined if it isn't. */
function withClosedTail(source: string, tail: string, run: string, open: readonly string[]): string | undefined {
  const text = run === '[' ? halfLink.exec(tail)?.[1] : undefined
  const isHidden = run.startsWith('!') ? halfImage.test(tail) : /^[`*_~]+$/.test(tail)
  if ((text === undefined && !isHidden) || !source.endsWith(tail)) return undefined
  return withClosedMarks(source.slice(0, source.length - tail.length) + (text ?? ''), open)
}

/** Closes the open marks, innermost first. A mark without text is removed instead. */
function withClosedMarks(text: string, open: readonly string[]): string {
  const inked = text.trimEnd()
  let end = inked
  for (const run of open.toReversed()) {
    // Only the mark is there, so there is nothing to close.
    end = end.endsWith(run) && end.length <= inked.length ? end.slice(0, -run.length).trimEnd() : end + run
  }
  return end
}

/** Replaces the backticks at the end by a complete closing run. */
function withClosedCode(source: string, run: string): string {
  let end = source.length
  while (source.charAt(end - 1) === '`') end--
  return source.slice(0, end) + run
}

/**
 * Closes the mark if it is open, with all marks inside it, or else opens it if it can begin emphasis. Mutates `open`. Of
 * tildes, only a pair is a mark.
 */
function updateOpenMarks(open: string[], run: string, before: string, after: string): void {
  if (run.startsWith('~') && run.length !== 2) return
  const follows = before !== '' && !/\s/.test(before)
  const opened = follows ? open.lastIndexOf(run) : -1
  if (opened >= 0) open.splice(opened)
  else if (/\S/.test(after) && !(follows && /[\p{L}\p{N}]/u.test(before))) open.push(run)
}
