import {
  fencePattern,
  isMarked,
  type Line,
  lineFeed,
  listPattern,
  mayBeFence,
  mayBeNumberOrFence,
  mayInterrupt,
  mayLengthen,
  nextLine,
} from './line.ts'
import { widestColumn } from './table.ts'

export interface Estimate {
  /** The text up to here certainly fits. */
  readonly end: number
  /** The last line that begins a block within that, whatever follows. */
  readonly block: Line | undefined
  /** Whether it has as many lines as one message may have. */
  readonly isFull: boolean
}

const interruptPattern = /^ {0,3}(?:[-*+] {1,4}|#{1,6} )\S/
/** UTF-16 units in which a number or a fence is looked for. Quotes and lists nested deeper are read as text. */
const longestLead = 1000
/**
 * The most lines of a message. Consecutive blank lines count as one. A message with more is hard to read, and rendering very
 * short lines takes far more time.
 */
const mostLines = 700
const numberPattern = /^(?:[ \t>]|[-*+][ \t])*(\d{1,9})[.)]/

/**
 * Returns how much of a text fits in `room` UTF-16 units, so that the splitter renders less of it: a lower bound, found
 * without parsing Markdown, that later text never reduces.
 *
 * Assumes that rendering does not lengthen a text. Counts these exceptions: tables, which are as wide as their widest
 * cells; tabs; numbers that grow; fences, which may have to be closed; and characters matched by `escapable`, which may
 * double.
 */
export function estimateFit(text: string, from: Line, room: number, escapable?: RegExp): Estimate {
  const isPlain = createPlainLineTest(text, escapable)
  let usedUnits = 0
  let table = noTable
  /** The line above, which is the head of a table if this one is a rule. */
  let head: Line | undefined
  /** The last line that begins a block. */
  let block: Line | undefined
  let lines = 0
  for (let line: Line | undefined = from; line !== undefined; line = nextLine(text, line)) {
    if (line.afterBlank) {
      usedUnits += paddingUnits(table)
      table = noTable
      head = undefined
      if (line !== from) block = line
    }
    const isBlank = line.end === line.start + 1 && text.charCodeAt(line.start) === lineFeed
    if (!(isBlank && line.afterBlank) && ++lines > mostLines) return { end: line.start, block, isFull: true }
    if (table.rows === 0 && usedUnits + line.end - line.start <= room && isPlain(line)) {
      if (line !== from && interruptsParagraph(line, text)) block = line
      usedUnits += line.end - line.start
      head = line
      continue
    }
    const content = text.slice(line.start, line.end)
    // A table that has begun has no other head.
    const lineAbove = head === undefined || table.rows > 0 ? '' : text.slice(head.start, head.end)
    const usedAbove = usedUnits
    const tableAbove = table
    // No part can be longer than the room, so the rest of a long line is skipped.
    const maxUnits = Math.max(0, room - usedAbove) + 1
    const relevantPart = content.length <= maxUnits ? content : content.slice(0, maxUnits)
    const tableWithLine = relevantPart.length < content.length ? undefined : withLine(tableAbove, content, lineAbove)
    const ownUnits =
      tableWithLine === undefined
        ? content.length
        : content.length + extraUnits(content, escapableIn(content, escapable))
    if (tableWithLine === undefined || usedAbove + ownUnits + paddingUnits(tableWithLine) > room) {
      const costs = (part: string, escaped: number): number =>
        usedAbove + part.length + extraUnits(part, escaped) + paddingUnits(withLine(tableAbove, part, lineAbove))
      const fits = longestFittingPart(relevantPart, { room, escapable, costs })
      return {
        end: line.start + fits,
        block: line !== from && interruptsParagraph(line, text, line.start + fits) ? line : block,
        isFull: false,
      }
    }
    if (line !== from && interruptsParagraph(line, text)) block = line
    usedUnits += ownUnits
    table = tableWithLine
    head = line
  }
  return { end: text.length, block, isFull: false }
}

/**
 * Returns a test whether a rendered line outside of tables takes no more units than it has. That is true of most lines,
 * which are then not sliced.
 * Unsure cases count as no. Call it from the first line to the last.
 */
function createPlainLineTest(text: string, escapable: RegExp | undefined): (row: Line) => boolean {
  let nextTab = -1
  return ({ start, end }) => {
    if (escapable !== undefined) return false
    if (nextTab < start) nextTab = foundOrEnd(text, text.indexOf('\t', start))
    return nextTab >= end && !mayLengthen(text, start)
  }
}

/** Returns the position that was found, or the end of the text for -1. */
function foundOrEnd(text: string, found: number): number {
  return found < 0 ? text.length : found
}

/**
 * Whether the line certainly begins a list item or a heading without a blank line above it. Looks only at its text before
 * `to`, so that more text can't change the result.
 */
function interruptsParagraph({ start, end, inList }: Line, text: string, to = end): boolean {
  if (!mayInterrupt(text, start)) return false
  const part = text.slice(start, to)
  return interruptPattern.test(part) || (inList && listPattern.test(part))
}

/** Returns how many UTF-16 units rendering may double. */
function escapableIn(text: string, escapable: RegExp | undefined): number {
  if (escapable === undefined) return 0
  let units = 0
  for (const run of text.match(escapable) ?? []) units += run.length
  return units
}

/**
 * Returns the extra room that a line may need if `escaped` of its characters double. Never less for a longer part of
 * it.
 */
function extraUnits(line: string, escaped: number): number {
  let tabs = 0
  for (let at = line.indexOf('\t'); at >= 0; at = line.indexOf('\t', at + 1)) tabs++
  if (!isMarked(line)) return 3 * tabs + escaped
  const lead = line.slice(0, longestLead)
  if (!mayBeNumberOrFence(lead, 0)) return 3 * tabs + escaped
  const number = numberPattern.exec(lead)?.[1]
  const marker = mayBeFence(lead) ? fencePattern.exec(lead) : null
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

/** Returns how many units at the line's beginning fit the room. Halves the line at each step, and 0 if not even one fits. */
function longestFittingPart(line: string, { room, escapable, costs }: Fitting): number {
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
const rulePattern = /^[ \t>]*(?:[|:][ \t:]*-|-+[ \t]*[|:])/

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

/**
 * Adds a line to a table. Outside of a table, one begins if the line is a rule below a head, where `above` is the line
 * before it.
 */
function withLine(table: Cells, line: string, above: string): Cells {
  if (table.rows > 0) return withRow(table, line)
  if (!isMarked(line) || !(line.includes('|') || line.includes(':')) || !rulePattern.test(line)) return noTable
  return withRow(withRow({ ...noTable, isAligned: line.includes(':') }, above), line)
}

/** Adds a row to a table, and widens its columns up to `widestColumn`. Cell text beyond that does not count for `raw`. */
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
    padded: wider ? paddedLengths(wider) : padded,
    isAligned,
  }
}

/** Returns the length of a row whose cells have these widths, and of its last cell. */
function paddedLengths(widths: readonly number[]): Cells['padded'] {
  let all = 0
  let last = 0
  for (const width of widths) {
    if (width === 0) continue
    last = width + 3
    all += last
  }
  return { all, last }
}

/** Returns how many UTF-16 units padding the cells of a table adds. */
function paddingUnits({ raw, rows, padded: { all, last }, isAligned }: Cells): number {
  if (rows === 0) return 0
  const padding = Math.max(0, rows * all - raw)
  // Only the rule below the head fills the last column.
  return isAligned ? padding : Math.min(padding, rows * (all - last) + last)
}
