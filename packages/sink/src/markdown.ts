import { Marked, type Token as MarkedOrOther, type MarkedToken } from 'marked'

/** A piece of Markdown as it was read. What is inside it are such pieces too: `known` says which. */
export type Token = MarkedToken

/** Letters of the chunks that are remembered. */
const REMEMBERED = 400_000

/** A blank line, and a line below that no list, quote or indented code can go on with. */
const CHUNK_END = /\n[ \t\r]*\n(?=[^\s*+>\d-])/g

/** Something another chunk may refer to. */
const DEFINITION = /^ {0,3}\[[^\]]+\]:/m

/** Without blocks of HTML: what is inside them is shown as written anyhow, and it may as well be Markdown. */
const marked = new Marked({ tokenizer: { html: () => undefined } })

/**
 * Reads Markdown (GFM), and never throws: thousands of nested quotes exhaust the stack, and such a text is one text.
 *
 * A text that grows is read again and again, and so are its slices: chunks that were read lately are remembered. Their
 * tokens are shared; nobody may change them.
 */
export function lex(source: string): readonly Token[] {
  if (DEFINITION.test(source)) return lexChunk(source)
  const tokens: Token[] = []
  let start = 0
  while (start < source.length) {
    const chunk = chunkAt(source, start)
    tokens.push(...chunk.tokens)
    start = chunk.end
  }
  return tokens
}

/** What of the pieces inside a token is known here: extensions of the lexer, which we have none of, are left out. */
export function known(tokens: readonly MarkedOrOther[]): readonly Token[] {
  return tokens.every(isKnown) ? tokens : tokens.filter(isKnown)
}

export interface Fence {
  /** What closes it. */
  readonly marker: string
  /** Its first line without white space around it. */
  readonly opening: string
}

/** A code block that is not closed yet. */
export function openFence(token: Token): Fence | undefined {
  if (token.type !== 'code' || token.codeBlockStyle === 'indented') return undefined
  const [opening = '', ...lines] = token.raw.split('\n')
  const marker = /^ {0,3}(`{3,}|~{3,})/.exec(opening)?.[1]
  if (marker === undefined) return undefined
  const last = lines.findLast((line) => line.trim() !== '') ?? ''
  const closing = /^ {0,3}(`{3,}|~{3,}) *$/.exec(last)?.[1]
  if (closing?.startsWith(marker)) return undefined
  return { marker, opening: opening.trim() }
}

/** Two generations, the younger of which is what was asked for last: to forget takes no search then. */
let young = new Map<string, readonly Token[]>()
let old = young
let remembered = 0

function lexed(chunk: string): readonly Token[] {
  const before = young.get(chunk)
  if (before !== undefined) return before
  const tokens = old.get(chunk) ?? lexChunk(chunk)
  if (chunk.length > REMEMBERED / 10) return tokens
  young.set(chunk, tokens)
  remembered += chunk.length
  if (remembered > REMEMBERED / 2) [old, young, remembered] = [young, new Map(), 0]
  return tokens
}

function lexChunk(source: string): readonly Token[] {
  try {
    return known(marked.lexer(source))
  } catch {
    return [{ type: 'text', raw: source, text: source }]
  }
}

/** The chunk that begins there, as long as it must be to read the same without what follows. */
function chunkAt(source: string, start: number): { readonly end: number; readonly tokens: readonly Token[] } {
  let end = nextBlank(source, start)
  for (;;) {
    const tokens = lexed(source.slice(start, end))
    const last = end < source.length ? tokens.findLast(({ type }) => type !== 'space') : undefined
    const fence = last && openFence(last)
    if (fence === undefined) return { end, tokens }
    const closing = source.indexOf(`\n${fence.marker}`, end - 1)
    const indented = source.slice(end - 1, closing < 0 ? source.length : closing).search(/\n {1,3}(```|~~~)/)
    const from = indented < 0 ? closing : end - 1 + indented
    end = from < 0 ? source.length : nextBlank(source, from + 1)
  }
}

function nextBlank(source: string, start: number): number {
  CHUNK_END.lastIndex = start
  const found = CHUNK_END.exec(source)
  return found === null ? source.length : found.index + found[0].length
}

const KNOWN = new Set<string>([
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
  return KNOWN.has(token.type)
}
