/**
 * A piece of a text that is rendered by itself: `markdown`, or `code` that continues a code block which is too long for one
 * piece.
 */
export interface Chunk {
  readonly type: 'markdown' | 'code'
  readonly text: string
  /** The code block that is open where the chunk begins. Undefined if none is. */
  readonly fence?: Fence | undefined
  /** Position of the chunk in the whole text, in UTF-16 units. */
  readonly start: number
}

/** A code block between two lines of marks. */
interface Fence {
  /** The marks that opened it: three or more of the same. */
  readonly marks: string
  readonly language: string
}

/** A text in chunks. Together they are the text, except for the last line of a code block that is in several of them. */
export interface CutText {
  readonly text: string
  readonly chunks: readonly Chunk[]
  /** The text's definitions of links, which any chunk may refer to, one a line. */
  readonly definitions: string
  /** Those that won't change: the last line may be a part of one. */
  readonly wholeDefinitions: string
}

/** A chunk does not end at a blank line before it has this many UTF-16 units. */
const fewest = 1500

/** From this many UTF-16 units on, a chunk ends at any line, so that each is read and laid out at once. */
const most = 8000

/** Definitions beyond this many UTF-16 units are plain text. */
const mostDefined = 8000

const definition = /^ {0,3}\[(?:[^[\]\\]|\\.){1,200}\]:[ \t]*\S.*$/gm

/**
 * Cuts a text into chunks, in linear time. A text that has grown since `before` keeps the chunks that did not change, as the
 * same objects: only the last one is read again.
 */
export function cutText(text: string, before?: CutText): CutText {
  if (before && before.text === text) return before
  const last = before?.chunks.at(-1)
  const hasGrown = before !== undefined && last !== undefined && text.startsWith(before.text)
  const kept = hasGrown ? before.chunks.slice(0, -1) : []
  const chunks = [...kept, ...cutFrom(text, hasGrown ? last.start : 0, hasGrown ? last.fence : undefined)]
  const wholeDefinitions = definitionsOf(text, hasGrown ? before : undefined)
  const definitions = withDefinitions(wholeDefinitions, text.slice(text.lastIndexOf('\n') + 1))
  return { text, chunks, definitions, wholeDefinitions }
}

function cutFrom(text: string, from: number, openFence: Fence | undefined): readonly Chunk[] {
  const chunks: Chunk[] = []
  let start = from
  let startFence = openFence
  let fence = openFence
  let at = from
  /** Ends the chunk at a position, and begins the next one after `skipped` units. */
  const endAt = (end: number, skipped = 0): void => {
    const type = startFence ? 'code' : 'markdown'
    if (end > start || type === 'code') chunks.push({ type, text: text.slice(start, end), fence: startFence, start })
    start = end + skipped
    startFence = fence
  }
  while (at < text.length) {
    const lineFeed = text.indexOf('\n', at)
    const isWhole = lineFeed >= 0
    const end = isWhole ? lineFeed + 1 : text.length
    if (end - at > most) {
      // A line as long as a chapter: it is cut between two words.
      const cut = text.lastIndexOf(' ', at + most)
      at = cut > at ? cut + 1 : at + most
      endAt(at)
      continue
    }
    const line = text.slice(at, isWhole ? lineFeed : end)
    if (fence) {
      if (isWhole && closes(line, fence)) {
        fence = undefined
        if (startFence) {
          endAt(at, end - at)
          at = end
          continue
        }
      }
    } else fence = fenceIn(line)
    at = end
    const isCut = at - start >= most || (at - start >= fewest && !fence && isEndAt(text, line, at))
    if (isWhole && isCut) endAt(at)
  }
  if (start < text.length) endAt(text.length)
  return chunks
}

/** Whether a block surely ends with this blank line: what follows cannot continue a list, a quote or indented code. */
function isEndAt(text: string, line: string, next: number): boolean {
  return line.trim() === '' && next < text.length && !/[\s*+>\d-]/.test(text.charAt(next))
}

function fenceIn(line: string): Fence | undefined {
  const [, marks, language = ''] = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})[ \t]*([^\s`]*)/.exec(line) ?? []
  return marks === undefined ? undefined : { marks, language }
}

function closes(line: string, { marks }: Fence): boolean {
  const closing = line.trim()
  return /^ {0,3}\S/.test(line) && closing.length >= marks.length && closing === marks.charAt(0).repeat(closing.length)
}

/** Returns the definitions in the whole lines of a text. What was read before is not read again. */
function definitionsOf(text: string, before: CutText | undefined): string {
  const from = before ? before.text.lastIndexOf('\n') + 1 : 0
  const lines = text.slice(from, text.lastIndexOf('\n') + 1)
  const known = before?.wholeDefinitions ?? ''
  return lines.includes(']:') ? withDefinitions(known, lines) : known
}

function withDefinitions(known: string, lines: string): string {
  let all = known
  for (const [line] of lines.matchAll(definition)) if (all.length + line.length < mostDefined) all += `${line}\n`
  return all
}
