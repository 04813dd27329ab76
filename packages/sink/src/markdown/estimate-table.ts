import { isMarked } from './line-mark.ts'
import { widestColumn } from './table.ts'

/** The start of the line below a table's head. */
const RULE = /^[ \t>]*(?:[|:][ \t:]*-|-+[ \t]*[|:])/

/** The lines of a table so far, from its head on. */
export interface Cells {
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

export const noTable: Cells = { raw: 0, rows: 0, widths: [], padded: { all: 0, last: 0 }, isAligned: false }

/** Adds a line. Without a table, one begins if the line is a rule below a head: `above` is the line before it. */
export function withLine(table: Cells, line: string, above: string): Cells {
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
  let [all, last] = [0, 0]
  for (const width of widths) {
    if (width === 0) continue
    last = width + 3
    all += last
  }
  return { all, last }
}

/** The UTF-16 units that padding the cells of a table adds. */
export function excess({ raw, rows, padded: { all, last }, isAligned }: Cells): number {
  if (rows === 0) return 0
  const padding = Math.max(0, rows * all - raw)
  // Only the rule below the head fills the last column.
  return isAligned ? padding : Math.min(padding, rows * (all - last) + last)
}
