import { closingLine, openFence } from './fence.ts'
import { readMarkdown } from './lexer/bounded-lexer.ts'
import type { Token } from './lexer/token.ts'
import { longBlock, readLongBlock } from './long-block.ts'
import { createTextCache } from './text-cache.ts'

export { type Fence, openFence } from './fence.ts'
export { known, type Token } from './lexer/token.ts'

/** UTF-16 units of the chunks that are remembered. */
const REMEMBERED = 400_000

/** The longest text, in UTF-16 units, that is read as a whole because of its definitions. In longer texts they are text. */
const DEFINED = 16_384

/** A blank line, and a line below that no list, quote or indented code can go on with. */
const CHUNK_END = /\n[ \t\r]*\n(?=[^\s*+>\d-])/g

/** Something another chunk may refer to. */
const DEFINITION = /^ {0,3}\[(?:\\[\s\S]|[^[\]\\])+\]:/m

/**
 * Reads Markdown (GFM), and never throws: thousands of nested quotes exhaust the stack, and such a text is one text.
 *
 * A text that grows is read again and again, and so are its slices: chunks that were read lately are remembered. Their
 * tokens are shared; nobody may change them.
 */
export function lex(source: string): readonly Token[] {
  if (source.length <= DEFINED && DEFINITION.test(source)) return chunks.get(source, readMarkdown)
  const tokens: Token[] = []
  let start = 0
  while (start < source.length) {
    const chunk = chunkAt(source, start)
    for (const token of chunk.tokens) tokens.push(token)
    start = chunk.end
  }
  return tokens
}

const chunks = createTextCache<readonly Token[]>(REMEMBERED)
const pieces = createTextCache<readonly Token[]>(REMEMBERED)

function lexed(chunk: string): readonly Token[] {
  return chunks.get(chunk, chunk.length > longBlock ? readPieces : readMarkdown)
}

function readPieces(chunk: string): readonly Token[] {
  return readLongBlock(chunk, (piece) => pieces.get(piece, readMarkdown))
}

/** The chunk that begins there, as long as it must be to read the same without what follows. */
function chunkAt(source: string, start: number): { readonly end: number; readonly tokens: readonly Token[] } {
  let end = nextBlank(source, start)
  for (;;) {
    const tokens = lexed(source.slice(start, end))
    const last = end < source.length ? tokens.findLast(({ type }) => type !== 'space') : undefined
    const fence = last && openFence(last)
    if (fence === undefined) return { end, tokens }
    const from = closingLine(source, end, fence.marker)
    end = from < 0 ? source.length : nextBlank(source, from + 1)
  }
}

function nextBlank(source: string, start: number): number {
  CHUNK_END.lastIndex = start
  const found = CHUNK_END.exec(source)
  return found === null ? source.length : found.index + found[0].length
}
