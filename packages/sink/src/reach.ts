/** A line of a text: `[start, end)`, its line feed included. */
export interface Row {
  readonly start: number
  readonly end: number
  /** The marker of the fence that it is in. */
  readonly fence: string | undefined
  /** The line above is blank. */
  readonly afterBlank: boolean
  /** Its paragraph began as a list. */
  readonly inList: boolean
}

export interface Reach {
  /** The text up to here surely takes no more room than there is. */
  readonly end: number
  /** The last line within that which begins a block, whatever follows. */
  readonly block: Row | undefined
}

const FENCE = /^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*(`{3,}|~{3,})/
const LIST = /^ {0,3}(?:[-*+]|\d{1,9}[.)]) {1,4}\S/
const INTERRUPTS = /^ {0,3}(?:[-*+] {1,4}|#{1,6} )\S/
const NUMBER = /^(?:[ \t>]|[-*+][ \t])*(\d{1,9})[.)]/

export function firstRow(text: string): Row {
  return { start: 0, end: endOf(text, 0), fence: undefined, afterBlank: false, inList: LIST.test(text) }
}

/** Undefined after the last. */
export function nextRow(text: string, { start, end, fence, inList }: Row): Row | undefined {
  if (end >= text.length) return undefined
  const above = text.slice(start, end)
  const afterBlank = above.trim() === ''
  const nextEnd = endOf(text, end)
  return {
    start: end,
    end: nextEnd,
    fence: fenceBelow(above, fence),
    afterBlank,
    inList: afterBlank ? LIST.test(text.slice(end, nextEnd)) : inList,
  }
}

/**
 * How far a text goes in a room of so many UTF-16 units: a bound from below, found without reading any Markdown, that
 * never gets nearer by what follows.
 *
 * It takes for granted that what is written of a text is no longer than the text, but for tables, which are as wide as
 * their widest cells, tabs, numbers that grow, and fences, which may have to be closed.
 */
export function reach(text: string, from: Row, room: number): Reach {
  let used = 0
  let table = NO_TABLE
  let block: Row | undefined
  for (let row: Row | undefined = from; row !== undefined; row = nextRow(text, row)) {
    const { start, end, fence, afterBlank, inList } = row
    const line = text.slice(start, end)
    const begins = INTERRUPTS.test(line) || (inList && LIST.test(line))
    if (fence !== undefined || afterBlank || begins) {
      used += excess(table)
      table = NO_TABLE
    }
    if (afterBlank && row !== from) block = row
    const [before, above] = [used, table]
    const costs = (part: string): number =>
      before + part.length + extra(part, fence) + excess(fence === undefined ? withLine(above, part) : above)
    if (costs(line) > room) return { end: start + fitting(line, (part) => costs(part) <= room), block }
    if (begins && row !== from) block = row
    used += line.length + extra(line, fence)
    if (fence === undefined) table = withLine(table, line)
  }
  return { end: text.length, block }
}

function endOf(text: string, start: number): number {
  const found = text.indexOf('\n', start)
  return found < 0 ? text.length : found + 1
}

function fenceBelow(line: string, fence: string | undefined): string | undefined {
  if (!line.includes('```') && !line.includes('~~~')) return fence
  if (fence !== undefined) {
    const marker = /^[ \t>]*(`{3,}|~{3,})\s*$/.exec(line)?.[1]
    return marker?.startsWith(fence) ? undefined : fence
  }
  const [lead = '', marker] = FENCE.exec(line) ?? []
  return marker?.startsWith('`') && line.includes('`', lead.length) ? undefined : marker
}

/** What a line may take beyond its letters. Never less for a longer part of it. */
function extra(line: string, fence: string | undefined): number {
  let tabs = 0
  for (let at = line.indexOf('\t'); at >= 0; at = line.indexOf('\t', at + 1)) tabs++
  if (fence !== undefined) return 3 * tabs
  const number = NUMBER.exec(line)?.[1]
  const marker = FENCE.exec(line)
  return 3 * tabs + (number === undefined ? 0 : Math.max(1, 5 - number.length)) + (marker ? marker[0].length + 1 : 0)
}

/** Lines that are a table if the second one turns out to say so. */
interface Cells {
  readonly raw: number
  readonly rows: number
  readonly widths: readonly number[]
}

const NO_TABLE: Cells = { raw: 0, rows: 0, widths: [] }

function withLine(table: Cells, line: string): Cells {
  if (table.rows === 0 && !line.includes('|')) return table
  const widths = [...table.widths]
  let column = 0
  for (const cell of line.split('|')) {
    widths[column] = Math.max(widths[column] ?? 0, cell.length)
    column++
  }
  return { raw: table.raw + line.length, rows: table.rows + 1, widths }
}

function excess({ raw, rows, widths }: Cells): number {
  if (rows === 0) return 0
  return Math.max(0, rows * widths.reduce((sum, width) => sum + width + 3, 0) - raw)
}

/** The length of the longest part that fits. */
function fitting(line: string, fits: (part: string) => boolean): number {
  let low = 0
  let high = line.length
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (fits(line.slice(0, middle))) low = middle
    else high = middle
  }
  return low
}
