import { createTextCache } from '../port/text-cache.ts'
import { lineFeedBeforeClosing, openFence } from './fence.ts'
import { readMarkdown } from './lexer/bounded-lexer.ts'
import type { Token } from './lexer/token.ts'
import { longBlock, readLongBlock } from './long-block.ts'

/** UTF-16 units of cached chunks. */
const mostCached = 400_000

/** The longest text, in UTF-16 units, whose link definitions are recognised. In longer texts they are plain text. */
const mostDefined = 16_384

/** A blank line followed by a line that cannot continue a list, quote or indented code. */
const chunkEnd = /\n[ \t\r]*\n(?=[^\s*+>\d-])/g

/** A definition that another chunk may refer to. */
const definitionPattern = /^ {0,3}\[(?:\\[\s\S]|[^[\]\\])+\]:/m

/**
 * Reads Markdown (GFM). Never throws: a text with thousands of nested quotes, which would exhaust the stack, becomes
 * one text token.
 *
 * Growing texts and their slices are read repeatedly, so recent chunks are cached. Their tokens are shared, so never
 * mutate them.
 */
export function lex(source: string): readonly Token[] {
  if (source.length <= mostDefined && source.includes(']:') && definitionPattern.test(source))
    return chunkCache.get(source, readMarkdown)
  const tokens: Token[] = []
  let start = 0
  while (start < source.length) {
    const chunk = chunkAt(source, start)
    for (const token of chunk.tokens) tokens.push(token)
    start = chunk.end
  }
  return tokens
}

const chunkCache = createTextCache<readonly Token[]>(mostCached)
const pieceCache = createTextCache<readonly Token[]>(mostCached)

/** Returns the tokens of a chunk from the cache, or else reads it: in pieces if it is longer than `longBlock`. */
function cachedTokens(chunk: string): readonly Token[] {
  return chunkCache.get(chunk, chunk.length > longBlock ? readInPieces : readMarkdown)
}

/** Reads a long chunk in pieces. Takes pieces that were read before from the cache. */
function readInPieces(chunk: string): readonly Token[] {
  return readLongBlock(chunk, (piece) => pieceCache.get(piece, readMarkdown))
}

/** Reads the chunk that begins at `start`. It is long enough to be read the same way whatever follows. */
function chunkAt(source: string, start: number): { readonly end: number; readonly tokens: readonly Token[] } {
  let end = nextChunkEnd(source, start)
  for (;;) {
    const tokens = cachedTokens(source.slice(start, end))
    const last = end < source.length ? tokens.findLast(({ type }) => type !== 'space') : undefined
    const fence = last && openFence(last)
    if (fence === undefined) return { end, tokens }
    const from = lineFeedBeforeClosing(source, end, fence.marker)
    end = from < 0 ? source.length : nextChunkEnd(source, from + 1)
  }
}

/** Returns the end of the next blank line after which a chunk can begin, or the end of the source. */
function nextChunkEnd(source: string, start: number): number {
  chunkEnd.lastIndex = start
  const found = chunkEnd.exec(source)
  return found === null ? source.length : found.index + found[0].length
}
