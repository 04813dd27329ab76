/** A line of a text: `[start, end)`, including its line feed. */
export interface Line {
  readonly start: number
  readonly end: number
  /** The marker of the fence around it, prefixed with `>` in a quote. */
  readonly fence: string | undefined
  /** Whether the line above is blank. */
  readonly afterBlank: boolean
  /** Whether its paragraph began as a list. */
  readonly inList: boolean
}

/** Matches the marks at the beginning of a line and the marker of a fence after them. */
export const fencePattern = /^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*(`{3,}|~{3,})/
/** Matches the beginning of a list item. */
export const listPattern = /^ {0,3}(?:[-*+]|\d{1,9}[.)]) {1,4}\S/
export const lineFeed = 0x0a
const markerPattern = /`{3}|~{3}/g
/** UTF-16 units of a fence's marker. */
const shortestFence = 3

/** Returns the first line of a text. */
export function firstLine(text: string): Line {
  return { start: 0, end: lineEnd(text, 0), fence: undefined, afterBlank: false, inList: listPattern.test(text) }
}

/** Returns the line at a position, without `afterBlank` and `inList`. Only reads earlier lines that can change the fence. */
export function lineAt(text: string, at: number): Line {
  const start = lineStart(text, at)
  let line = firstLine(text)
  while (line.start < start) {
    // The end of a quote also ends its fence, so each line of such a fence is read.
    const marked = line.fence?.startsWith('>') ? line.start : lineStart(text, nextMarker(text, line.start))
    const next = Math.min(marked, start)
    const below = next > line.start ? { ...line, start: next, end: lineEnd(text, next) } : nextLine(text, line)
    if (below === undefined) break
    line = below
  }
  return line
}

/** Returns the start of the line around a position. */
function lineStart(text: string, at: number): number {
  return at <= 0 ? 0 : text.lastIndexOf('\n', at - 1) + 1
}

/** Returns the position of the next marker of a fence, or the end of the text. */
function nextMarker(text: string, start: number): number {
  markerPattern.lastIndex = start
  return markerPattern.exec(text)?.index ?? text.length
}

/**
 * Returns the line after this one. Undefined after the last line. For speed, lines are only sliced if necessary,
 * because texts can have very many.
 */
export function nextLine(text: string, { start, end, fence, inList }: Line): Line | undefined {
  if (end >= text.length) return undefined
  const nextEnd = lineEnd(text, end)
  const afterBlank = isBlank(text, start, end)
  const isText = end - start < shortestFence || !mayBeNumberOrFence(text, start)
  const open = isText ? fence : fenceBelow(text.slice(start, end), fence)
  return {
    start: end,
    end: nextEnd,
    // The end of the quote also ends its fence.
    fence: open?.startsWith('>') && !/^ {0,3}>/.test(text.slice(end, nextEnd)) ? undefined : open,
    afterBlank,
    inList: afterBlank ? mayInterrupt(text, end) && listPattern.test(text.slice(end, nextEnd)) : inList,
  }
}

/** Whether the line has only white space. */
function isBlank(text: string, start: number, end: number): boolean {
  const first = text.charCodeAt(start)
  if (first === lineFeed) return true
  const isPrinted = first > 0x20 && first < 0x7f
  return !isPrinted && text.slice(start, end).trim() === ''
}

/** Returns the position after the line's line feed. */
function lineEnd(text: string, start: number): number {
  const found = text.indexOf('\n', start)
  return found < 0 ? text.length : found + 1
}

/** Returns the fence around the next line, if `fence` is the one around this line. */
function fenceBelow(line: string, fence: string | undefined): string | undefined {
  if (!mayBeFence(line)) return fence
  if (fence !== undefined) {
    const marker = /^[ \t>]*(`{3,}|~{3,})\s*$/.exec(line)?.[1]
    return marker?.startsWith(fence.replace('>', '')) ? undefined : fence
  }
  const [lead = '', marker] = fencePattern.exec(line) ?? []
  if (marker === undefined || (marker.startsWith('`') && line.includes('`', lead.length))) return undefined
  return lead.includes('>') ? `>${marker}` : marker
}

/** Whether a marked line may begin or end a fence. */
export function mayBeFence(line: string): boolean {
  return line.length >= shortestFence && (line.includes('```') || line.includes('~~~'))
}

const space = 0x20
const dash = 0x2d
const colon = 0x3a
const bar = 0x7c

const marks = codeTable(' \t>|:-*+#`~0123456789')
const bullets = codeTable('-*+')
const blanks = codeTable(' \t')
const indents = codeTable(' \t>')
/** Behind the lead, these may begin a number or a fence. */
const numberOrFence = codeTable('`~0123456789')
/** Before a block that begins without a blank line. */
const interrupting = codeTable(' -*+#0123456789')

/** Returns a table of the ASCII codes: true for these characters. */
function codeTable(characters: string): readonly boolean[] {
  const wanted = new Set([...characters].map((one) => one.charCodeAt(0)))
  return Array.from({ length: 128 }, (_, code) => wanted.has(code))
}

/** Whether a line begins like a list, heading, quote, fence, table rule or indented line. All other lines are text. */
export function isMarked(line: string): boolean {
  return marks[line.charCodeAt(0)] === true
}

/** Whether the line at a position may be a numbered item, or begin or end a fence. */
export function mayBeNumberOrFence(text: string, start: number): boolean {
  return numberOrFence[text.charCodeAt(afterLead(text, start))] === true
}

/** Whether rendering may lengthen the line at `start`, which has no tab: a numbered item, a fence or the rule of a table. */
export function mayLengthen(text: string, start: number): boolean {
  let at = afterLead(text, start)
  const code = text.charCodeAt(at)
  if (code === dash) {
    // The underline of a heading has nothing but dashes.
    while (text.charCodeAt(at) === dash) at++
    return text.charCodeAt(at) !== lineFeed
  }
  if (code === bar || code === colon) {
    // The bullet before it may be the rule's dash.
    if (text.charCodeAt(at - 1) === space && at > start) return true
    do at++
    while (text.charCodeAt(at) === space || text.charCodeAt(at) === colon)
    return text.charCodeAt(at) === dash
  }
  return numberOrFence[code] === true
}

/** Whether the line at a position may begin an item or a heading. */
export function mayInterrupt(text: string, start: number): boolean {
  return interrupting[text.charCodeAt(start)] === true
}

/** Returns the position of the line's text, after the marks of quotes and bullets. */
function afterLead(text: string, start: number): number {
  let at = start
  for (;;) {
    const code = text.charCodeAt(at)
    if (indents[code] === true) at++
    else if (bullets[code] === true && blanks[text.charCodeAt(at + 1)] === true) at += 2
    else return at
  }
}
