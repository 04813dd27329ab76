// A block of another kind: what begins with a bar inside it is no table.
const OTHER = /^(?: {0,3}(?:```|~~~|<|>|[-*+] |\d+[.)] )| {4}|\t)/
const ROW = /^ {0,3}\|/
const DELIMITER = /^[\s|:-]*$/

/**
 * The last block of a text that still grows, so that a table in it looks like one from its first row on: cells that are
 * not closed yet wait, and a rule is put under the header before the model has written it.
 */
export function healed(source: string): string {
  const lines = source.split('\n')
  if (OTHER.test(lines.find((row) => row.trim() !== '') ?? '')) return source
  const before = lines.findLastIndex((row) => !ROW.test(row) && row.trim() !== '')
  const start = lines.findIndex((row, index) => index > before && ROW.test(row))
  if (start < 0) return source
  const [header = '', delimiter, ...rows] = lines.slice(start)
  // A line below that is no rule: it was no table after all.
  if (delimiter !== undefined && !DELIMITER.test(delimiter)) return source
  const head = delimiter === undefined ? closedCells(header) : header
  const columns = cellCount(head)
  const isRuled = delimiter !== undefined && cellCount(delimiter) >= columns && delimiter.trimEnd().endsWith('|')
  const rule = isRuled ? delimiter : `|${' --- |'.repeat(columns)}`
  const body = rows.map((row, index) => (index === rows.length - 1 ? closedCells(row) : row))
  return [...lines.slice(0, start), ...(columns === 0 ? [] : [head, rule, ...body])].join('\n')
}

/** The row up to its last bar. Nothing while it is its only one. */
function closedCells(row: string): string {
  const bars = barsOf(row)
  return bars.length < 2 ? '' : row.slice(0, (bars.at(-1) ?? 0) + 1)
}

function cellCount(row: string): number {
  return Math.max(0, barsOf(row).length - 1)
}

/** Where its cells end. A bar after a backslash belongs to the text. */
function barsOf(row: string): readonly number[] {
  return [...row.matchAll(/\\.|\|/g)].filter(([found]) => found === '|').map(({ index }) => index)
}
