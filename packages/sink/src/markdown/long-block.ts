import { afterClosingLine, openFence } from './fence.ts'
import type { Token } from './lexer/token.ts'

/** A block of more UTF-16 units is read in pieces, so that a growing block is not read again from its beginning. */
export const longBlock = 1200

/** The fewest UTF-16 units of a piece. Below a long head of a table it has more, as each piece reads the head again. */
const leastPiece = 400

/** UTF-16 units that show which list an item belongs to. */
const longestMark = 20

/** A block without a place to cut is cut after this many UTF-16 units: constructs across the cut become text. */
const mostPiece = 4096

/** The beginnings of top-level list items and of table rows, and the ends of headings. */
const placePattern =
  /\n(?:(?=(?:[-*+]|\d{1,9}[.)])[ \t]+\S(?<![-*+][ \t]+[-*_](?=[-*_ \t]*(?:\n|$)))| {0,3}\|)|(?<heading>(?<=\n(?:#{1,6}[ \t][^\n]*|=+[ \t]*|-+[ \t]*)\n)(?=\S)))/g

type Read = (text: string) => readonly Token[]
type ListToken = Extract<Token, { readonly type: 'list' }>
type TableToken = Extract<Token, { readonly type: 'table' }>

/**
 * Reads a list, a table, a paragraph or another block of more than `longBlock` units in pieces, and joins the pieces to the
 * tokens that the whole would have. `read` gets texts of bounded length, except for fences. When the block grows, all pieces
 * but the last ones stay the same, so `read` may cache them.
 */
export function readLongBlock(block: string, read: Read): readonly Token[] {
  const tokens: Token[] = []
  let startIndex = 0
  /** The list or table that the next piece continues. */
  let continued: ReadPiece['continued']
  while (startIndex < block.length) {
    const head = continued?.type === 'table' ? tableHead(continued) : ''
    const piece = pieceAt(block, { startIndex, head, read })
    const isMidLine = startIndex > 0 && block.charAt(startIndex - 1) !== '\n'
    appendPiece(tokens, piece.found, { head, isMidLine, mayJoin: continued !== undefined || isMidLine })
    continued = piece.continued
    startIndex = piece.endIndex
  }
  return tokens
}

interface ReadPiece {
  readonly endIndex: number
  readonly found: readonly Token[]
  /** The list or table that the next piece continues. */
  readonly continued: ListToken | TableToken | undefined
}

/**
 * Reads the piece that begins at `startIndex`. It ends where an item or row begins or a heading ended, or else after at most
 * `mostPiece` units. A fence is never cut. `head` is the head of the table that the piece continues, which is read before it.
 */
function pieceAt(
  block: string,
  { startIndex, head, read }: { readonly startIndex: number; readonly head: string; readonly read: Read },
): ReadPiece {
  const readTo = (end: number): readonly Token[] => read(head + block.slice(startIndex, end))
  placePattern.lastIndex = Math.max(leastPiece, Math.min(2 * head.length, mostPiece / 2))
  const next = placePattern.exec(block.slice(startIndex, startIndex + mostPiece + longestMark))
  const place = startIndex + (next?.index ?? mostPiece) + 1
  if (place <= startIndex + mostPiece && place < block.length - longestMark) {
    const found = readTo(place)
    const isHeading = next?.groups?.heading !== undefined
    const continued = isHeading ? undefined : continuedByNext(found, block.slice(place, place + longestMark))
    if (continued || found.at(-1)?.type === 'heading') return { endIndex: place, found, continued }
  }
  const end = endWithoutPlace(block, startIndex)
  const found = readTo(end)
  const last = found.findLast(({ type }) => type !== 'space')
  const fence = last && openFence(last)
  if (fence === undefined || end === block.length) return { endIndex: end, found, continued: undefined }
  const closing = afterClosingLine(block, end, fence)
  return { endIndex: closing, found: readTo(closing), continued: undefined }
}

/**
 * Returns the index where a piece ends that has no item or row to end before: after a blank line, or else after a line,
 * preferably before a line that is not indented. Within a line if there is none, and the end of the block if it is near.
 */
function endWithoutPlace(block: string, startIndex: number): number {
  if (block.length - startIndex <= mostPiece) return block.length
  const room = block.slice(startIndex, startIndex + mostPiece)
  const beginnings = /\n[ \t\r]*\n\S/.test(room)
    ? [isAfterBlankLine, isNotIndented, isAnyLine]
    : [isNotIndented, isAnyLine]
  for (const mayBegin of beginnings) {
    const end = lastLineStart(room, mayBegin)
    if (end !== undefined && end >= leastPiece) return startIndex + end
  }
  const isPair = /[\ud800-\udbff]/.test(block.charAt(startIndex + mostPiece - 1))
  return startIndex + mostPiece - (isPair ? 1 : 0)
}

/** Returns the start of the last line that `mayBegin` allows. Undefined if it allows none. */
function lastLineStart(text: string, mayBegin: (text: string, at: number) => boolean): number | undefined {
  for (let end = text.lastIndexOf('\n'); end >= 0; end = end === 0 ? -1 : text.lastIndexOf('\n', end - 1)) {
    if (mayBegin(text, end + 1)) return end + 1
  }
  return undefined
}

/** Whether a line that is not indented begins there, after a blank line. */
function isAfterBlankLine(text: string, at: number): boolean {
  const before = at < 2 ? -1 : text.lastIndexOf('\n', at - 2)
  return before >= 0 && /\S/.test(text.charAt(at)) && /^[ \t\r]*$/.test(text.slice(before + 1, at - 1))
}

/** Whether the line there is not indented. False for one that may be an underline. */
function isNotIndented(text: string, at: number): boolean {
  return /[^\s=-]/.test(text.charAt(at))
}

/** Allows every line, for `lastLineStart`. */
function isAnyLine(): boolean {
  return true
}

/** Returns the list or table at the end of `found` if the text after it continues it. Undefined otherwise. */
function continuedByNext(found: readonly Token[], next: string): ListToken | TableToken | undefined {
  const last = found.findLast(({ type }) => type !== 'space')
  if (last?.type === 'table') return found.at(-1) === last && /^ {0,3}\|/.test(next) ? last : undefined
  if (last?.type !== 'list') return undefined
  return itemMark(last.items.at(-1)?.raw ?? '') === itemMark(next) ? last : undefined
}

/** Returns the bullet, or the character after the number. Items with other marks belong to other lists. */
function itemMark(item: string): string | undefined {
  return /^ {0,3}(?:[-*+]|\d{1,9}[.)])/.exec(item)?.[0].at(-1)
}

/** Returns the table's first two lines. */
function tableHead({ raw }: TableToken): string {
  return `${raw.split('\n', 2).join('\n')}\n`
}

/**
 * Adds a piece's tokens to `tokens`. If `mayJoin`, joins its first one to the last of them, provided that both are parts of
 * one block. `head` is the head of the table that the piece continues.
 */
function appendPiece(
  tokens: Token[],
  found: readonly Token[],
  { mayJoin, ...joint }: { readonly head: string; readonly isMidLine: boolean; readonly mayJoin: boolean },
): void {
  const lastIndex = tokens.findLastIndex(({ type }) => type !== 'space')
  const last = tokens[lastIndex]
  const first = found[0]
  const joined =
    first && last && mayJoin ? joinedToken(last, first, { ...joint, between: tokens.slice(lastIndex + 1) }) : undefined
  if (joined) tokens.splice(lastIndex, tokens.length, joined)
  for (const token of joined ? found.slice(1) : found) tokens.push(token)
}

/**
 * Joins the parts of a list or table, or of a paragraph that was cut within a line. A list that was cut at blank lines is
 * loose, and `head` is left out of a table's second part. Undefined if they are different blocks.
 */
function joinedToken(
  last: Token,
  first: Token,
  {
    head,
    isMidLine,
    between,
  }: { readonly head: string; readonly isMidLine: boolean; readonly between: readonly Token[] },
): Token | undefined {
  const raw = last.raw + between.map((space) => space.raw).join('')
  if (isMidLine) {
    if (last.type !== 'paragraph' || first.type !== 'paragraph') return undefined
    return { ...last, raw: raw + first.raw, text: last.text + first.text, tokens: last.tokens.concat(first.tokens) }
  }
  if (last.type === 'list' && first.type === 'list') {
    const loose = last.loose || first.loose || between.length > 0
    return { ...last, raw: raw + first.raw, loose, items: last.items.concat(first.items) }
  }
  if (last.type === 'table' && first.type === 'table' && head !== '') {
    return { ...last, raw: raw + first.raw.slice(head.length), rows: last.rows.concat(first.rows) }
  }
  return undefined
}
