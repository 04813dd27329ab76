import {
  FENCE,
  isMarked,
  LIST,
  mayBeFence,
  mayBeNumberOrFence,
  mayInterrupt,
  mayLengthen,
  nextRow,
  type Row,
} from './row.ts'
import { widestColumn } from './table.ts'

export interface Estimate {
  /** The text up to here certainly fits. */
  readonly end: number
  /** The last line that begins a block within that, whatever follows. */
  readonly block: Row | undefined
  /** It has as many lines as one message may have. */
  readonly isFull: boolean
}

const lineFeed = 0x0a
const INTERRUPTS = /^ {0,3}(?:[-*+] {1,4}|#{1,6} )\S/
/** UTF-16 units in which a number or a fence is looked for. Quotes and lists nested deeper are read as text. */
const LONGEST_LEAD = 1000
/**
 * The most lines of a message. Blank lines in a row count as one. A message with more is hard to read, and rendering very
 * short lines takes far more time.
 */
const mostRows = 700
const NUMBER = /^(?:[ \t>]|[-*+][ \t])*(\d{1,9})[.)]/

/**
 * How much of a text fits in `room` UTF-16 units: a lower bound, found without parsing Markdown, that later text never
 * reduces.
 *
 * Assumes that rendering does not lengthen a text. Exceptions that it counts: tables, which are as wide as
 * their widest cells; tabs; numbers that grow; fences, which may have to be closed; and characters matched by `escapable`,
 * which may double.
 */
export function estimate(text: string, from: Row, room: number, escapable?: RegExp): Estimate {
  const isPlain = createPlainLines(text, escapable)
  let used = 0
  let table = noTable
  let head: Row | undefined
  let block: Row | undefined
  let rows = 0
  for (let row: Row | undefined = from; row !== undefined; row = nextRow(text, row)) {
    if (row.afterBlank) {
      used += excess(table)
      table = noTable
      head = undefined
      if (row !== from) block = row
    }
    const isBlank = row.end === row.start + 1 && text.charCodeAt(row.start) === lineFeed
    if (!(isBlank && row.afterBlank) && ++rows > mostRows) return { end: row.start, block, isFull: true }
    if (table.rows === 0 && used + row.end - row.start <= room && isPlain(row)) {
      if (row !== from && begins(row, text)) block = row
      used += row.end - row.start
      head = row
      continue
    }
    const line = text.slice(row.start, row.end)
    // A table that has begun has no other head.
    const lineAbove = head === undefined || table.rows > 0 ? '' : text.slice(head.start, head.end)
    const before = used
    const above = table
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
        block: row !== from && begins(row, text, row.start + fits) ? row : block,
        isFull: false,
      }
    }
    if (row !== from && begins(row, text)) block = row
    used += own
    table = below
    head = row
  }
  return { end: text.length, block, isFull: false }
}

/**
 * Tells whether a line outside of tables takes its own units and no more. Most lines do, and are not sliced. Unsure cases
 * count as no. Called from the first line to the last.
 */
function createPlainLines(text: string, escapable: RegExp | undefined): (row: Row) => boolean {
  let nextTab = -1
  return ({ start, end }) => {
    if (escapable !== undefined) return false
    if (nextTab < start) nextTab = orEnd(text, text.indexOf('\t', start))
    return nextTab >= end && !mayLengthen(text, start)
  }
}

function orEnd(text: string, found: number): number {
  return found < 0 ? text.length : found
}

/** Whether the line begins a block, whatever follows `to` in it. */
function begins({ start, end, inList }: Row, text: string, to = end): boolean {
  if (!mayInterrupt(text, start)) return false
  const part = text.slice(start, to)
  return INTERRUPTS.test(part) || (inList && LIST.test(part))
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
  if (!mayBeNumberOrFence(lead, 0)) return 3 * tabs + escaped
  const number = NUMBER.exec(lead)?.[1]
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
  let low = 0
  let high = line.length
  let escaped = 0
  while (high - low > 1) {
    const middle = (low + high) >> 1
    const more = escaped + escapableIn(line.slice(low, middle), escapable)
    if (costs(line.slice(0, middle), more) <= room) {
      low = middle
      escaped = more
    } else high = middle
  }
  return low
}

/** The start of the line below a table's head. */
const RULE = /^[ \t>]*(?:[|:][ \t:]*-|-+[ \t]*[|:])/

/** The lines of a table so far, from its head on. */
interface Cells {
  /** UTF-16 units of the lines, without cell text that overflows its column. */
  readonly raw: number
  /** 0 outside of a table. */
  readonly rows: number
  readonly widths: readonly number[]
  /** UTF-16 units of a whole line, and of its last cell. */
  readonly padded: { readonly all: number; readonly last: number }
  /** A colon in the rule may align the last column, which puts space before its cells. */
  readonly isAligned: boolean
}

const noTable: Cells = { raw: 0, rows: 0, widths: [], padded: { all: 0, last: 0 }, isAligned: false }

/** Adds a line. Without a table, one begins if the line is a rule below a head: `above` is the line before it. */
function withLine(table: Cells, line: string, above: string): Cells {
  if (table.rows > 0) return withRow(table, line)
  if (!isMarked(line) || !(line.includes('|') || line.includes(':')) || !RULE.test(line)) return noTable
  return withRow(withRow({ ...noTable, isAligned: line.includes(':') }, above), line)
}

function withRow({ raw, rows, widths, padded, isAligned }: Cells, line: string): Cells {
  let wider: number[] | undefined
  let standingOut = 0
  let start = 0
  for (let column = 0; start <= line.length; column++) {
    const bar = line.indexOf('|', start)
    const end = bar < 0 ? line.length : bar
    const before = widths[column]
    if (before === undefined || end - start > before) {
      const width = line.slice(start, end).trim().length
      const shown = Math.min(width, widestColumn)
      if (before === undefined || shown > before) {
        wider ??= [...widths]
        wider[column] = shown
      }
      standingOut += width - shown
    }
    start = end + 1
  }
  return {
    raw: raw + line.length - standingOut,
    rows: rows + 1,
    widths: wider ?? widths,
    padded: wider ? paddedTo(wider) : padded,
    isAligned,
  }
}

function paddedTo(widths: readonly number[]): Cells['padded'] {
  let all = 0
  let last = 0
  for (const width of widths) {
    if (width === 0) continue
    last = width + 3
    all += last
  }
  return { all, last }
}

/** The UTF-16 units that padding the cells of a table adds. */
function excess({ raw, rows, padded: { all, last }, isAligned }: Cells): number {
  if (rows === 0) return 0
  const padding = Math.max(0, rows * all - raw)
  // Only the rule below the head fills the last column.
  return isAligned ? padding : Math.min(padding, rows * (all - last) + last)
}
