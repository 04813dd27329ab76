import { excess, noTable, withLine } from './estimate-table.ts'
import { isMarked } from './line-mark.ts'

/** A line of a text: `[start, end)`, including its line feed. */
export interface Row {
  readonly start: number
  readonly end: number
  /** The marker of the fence that it is in, prefixed with `>` in a quote. */
  readonly fence: string | undefined
  /** The line above is blank. */
  readonly afterBlank: boolean
  /** Its paragraph began as a list. */
  readonly inList: boolean
}

export interface Estimate {
  /** The text up to here certainly fits. */
  readonly end: number
  /** The last line that begins a block within that, whatever follows. */
  readonly block: Row | undefined
  /** It has as many lines as one message may have. */
  readonly isFull: boolean
}

const FENCE = /^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*(`{3,}|~{3,})/
const MARKER = /`{3}|~{3}/g
const LIST = /^ {0,3}(?:[-*+]|\d{1,9}[.)]) {1,4}\S/
const INTERRUPTS = /^ {0,3}(?:[-*+] {1,4}|#{1,6} )\S/
/** UTF-16 units in which a number or a fence is looked for. Quotes and lists nested deeper are read as text. */
const LONGEST_LEAD = 1000
/** UTF-16 units of a fence's marker. */
const shortestFence = 3
/**
 * The most lines of a message. Blank lines in a row count as one. A message with more is hard to read, and rendering very
 * short lines takes far more time.
 */
const mostRows = 700
const NUMBER = /^(?:[ \t>]|[-*+][ \t])*(\d{1,9})[.)]/

export function firstRow(text: string): Row {
  return { start: 0, end: endOf(text, 0), fence: undefined, afterBlank: false, inList: LIST.test(text) }
}

/**
 * The line at a position. Its `afterBlank` and `inList` are not set. Reads only the lines before it that can change the
 * fence.
 */
export function rowAt(text: string, at: number): Row {
  const start = lineStart(text, at)
  let row = firstRow(text)
  while (row.start < start) {
    // The end of a quote also ends its fence, so each line of that is read.
    const marked = row.fence?.startsWith('>') ? row.start : lineStart(text, markerFrom(text, row.start))
    const next = Math.min(marked, start)
    const below = next > row.start ? { ...row, start: next, end: endOf(text, next) } : nextRow(text, row)
    if (below === undefined) break
    row = below
  }
  return row
}

function lineStart(text: string, at: number): number {
  return at <= 0 ? 0 : text.lastIndexOf('\n', at - 1) + 1
}

function markerFrom(text: string, start: number): number {
  MARKER.lastIndex = start
  return MARKER.exec(text)?.index ?? text.length
}

/** Undefined after the last. */
export function nextRow(text: string, { start, end, fence, inList }: Row): Row | undefined {
  if (end >= text.length) return undefined
  const first = text.charCodeAt(start)
  const isPrinted = first > 0x20 && first < 0x7f
  const afterBlank = !isPrinted && text.slice(start, end).trim() === ''
  const nextEnd = endOf(text, end)
  const open = end - start < shortestFence ? fence : fenceBelow(text.slice(start, end), fence)
  const line = afterBlank || open !== undefined ? text.slice(end, nextEnd) : ''
  return {
    start: end,
    end: nextEnd,
    // The end of the quote also ends its fence.
    fence: open?.startsWith('>') && !/^ {0,3}>/.test(line) ? undefined : open,
    afterBlank,
    inList: afterBlank ? LIST.test(line) : inList,
  }
}

/**
 * How much of a text fits in `room` UTF-16 units: a lower bound, found without parsing Markdown, that later text never
 * reduces.
 *
 * Assumes that rendering does not lengthen a text. Exceptions that it counts: tables, which are as wide as
 * their widest cells; tabs; numbers that grow; fences, which may have to be closed; and characters matched by `escapable`,
 * which may double.
 */
export function estimate(text: string, from: Row, room: number, escapable?: RegExp): Estimate {
  let used = 0
  let table = noTable
  let head = ''
  let block: Row | undefined
  let rows = 0
  for (let row: Row | undefined = from; row !== undefined; row = nextRow(text, row)) {
    const line = text.slice(row.start, row.end)
    if (row.afterBlank) {
      used += excess(table)
      table = noTable
      head = ''
      if (row !== from) block = row
    }
    const isBlank = line === '\n'
    if (!(isBlank && row.afterBlank) && ++rows > mostRows) return { end: row.start, block, isFull: true }
    if (table.rows === 0 && isBlank && used < room) {
      used++
      continue
    }
    const [before, above, lineAbove] = [used, table, head]
    // No part can be longer than the room, so the rest of a long line is skipped.
    const most = Math.max(0, room - before) + 1
    const least = line.length <= most ? line : line.slice(0, most)
    const below = least.length < line.length ? undefined : withLine(above, line, lineAbove)
    const own = below === undefined ? line.length : line.length + extra(line, escapableIn(line, escapable))
    if (below === undefined || before + own + excess(below) > room) {
      const costs = (part: string, escaped: number): number =>
        before + part.length + extra(part, escaped) + excess(withLine(above, part, lineAbove))
      const fits = fitting(least, { room, escapable, costs })
      return {
        end: row.start + fits,
        block: row !== from && begins(row, line.slice(0, fits)) ? row : block,
        isFull: false,
      }
    }
    if (row !== from && begins(row, line)) block = row
    used += own
    table = below
    head = line
  }
  return { end: text.length, block, isFull: false }
}

/** Whether the line begins a block, whatever follows this part of it. */
function begins({ inList }: Row, part: string): boolean {
  return isMarked(part) && (INTERRUPTS.test(part) || (inList && LIST.test(part)))
}

function endOf(text: string, start: number): number {
  const found = text.indexOf('\n', start)
  return found < 0 ? text.length : found + 1
}

function fenceBelow(line: string, fence: string | undefined): string | undefined {
  if (!mayBeFence(line)) return fence
  if (fence !== undefined) {
    const marker = /^[ \t>]*(`{3,}|~{3,})\s*$/.exec(line)?.[1]
    return marker?.startsWith(fence.replace('>', '')) ? undefined : fence
  }
  const [lead = '', marker] = FENCE.exec(line) ?? []
  if (marker === undefined || (marker.startsWith('`') && line.includes('`', lead.length))) return undefined
  return lead.includes('>') ? `>${marker}` : marker
}

function mayBeFence(line: string): boolean {
  return line.length >= shortestFence && isMarked(line) && (line.includes('```') || line.includes('~~~'))
}

/** How many UTF-16 units rendering may double. */
function escapableIn(text: string, escapable: RegExp | undefined): number {
  if (escapable === undefined) return 0
  let units = 0
  for (const run of text.match(escapable) ?? []) units += run.length
  return units
}

/** Extra room that a line may need if `escaped` of its characters double. Never less for a longer part of it. */
function extra(line: string, escaped: number): number {
  let tabs = 0
  for (let at = line.indexOf('\t'); at >= 0; at = line.indexOf('\t', at + 1)) tabs++
  if (!isMarked(line)) return 3 * tabs + escaped
  const lead = line.slice(0, LONGEST_LEAD)
  const number = /[.)]/.test(lead) ? NUMBER.exec(lead)?.[1] : undefined
  const marker = mayBeFence(lead) ? FENCE.exec(lead) : null
  return (
    3 * tabs +
    escaped +
    (number === undefined ? 0 : Math.max(1, 5 - number.length)) +
    (marker ? marker[0].length + 1 : 0)
  )
}

interface Fitting {
  readonly room: number
  readonly escapable: RegExp | undefined
  costs(part: string, escaped: number): number
}

/** The length of the longest part that fits. Characters that may double are counted once. */
function fitting(line: string, { room, escapable, costs }: Fitting): number {
  let [low, high, escaped] = [0, line.length, 0]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    const more = escaped + escapableIn(line.slice(low, middle), escapable)
    if (costs(line.slice(0, middle), more) <= room) [low, escaped] = [middle, more]
    else high = middle
  }
  return low
}
