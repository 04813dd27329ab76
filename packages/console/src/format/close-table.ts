// The first line of a block of another kind, where a leading bar does not start a table.
const OTHER = /^(?: {0,3}(?:```|~~~|<|>|[-*+] |\d+[.)] )| {4}|\t)/
const ROW = /^ {0,3}\|/
const DELIMITER = /^[\s|:-]*$/

/**
 * Makes a table in the last block of a growing text look like one from its first row on: hides unclosed cells, and adds
 * a rule under the header until the model has written it.
 */
export function closeTable(source: string): string {
  const lines = source.split('\n')
  if (OTHER.test(lines.find((row) => row.trim() !== '') ?? '')) return source
  const before = lines.findLastIndex((row) => !ROW.test(row) && row.trim() !== '')
  const start = lines.findIndex((row, index) => index > before && ROW.test(row))
  if (start < 0) return source
  const [header = '', delimiter, ...rows] = lines.slice(start)
  // The line below is not a rule, so this is not a table.
  if (delimiter !== undefined && !DELIMITER.test(delimiter)) return source
  const head = delimiter === undefined ? closedCells(header) : header
  const columns = cellCount(head)
  const isRuled = delimiter !== undefined && cellCount(delimiter) >= columns && delimiter.trimEnd().endsWith('|')
  const rule = isRuled ? delimiter : `|${' --- |'.repeat(columns)}`
  const body = rows.map((row, index) => (index === rows.length - 1 ? closedCells(row) : row))
  return [...lines.slice(0, start), ...(columns === 0 ? [] : [head, rule, ...body])].join('\n')
}

/** The row up to its last bar. Empty while it has only one. */
function closedCells(row: string): string {
  const bars = barsOf(row)
  return bars.length < 2 ? '' : row.slice(0, (bars.at(-1) ?? 0) + 1)
}

function cellCount(row: string): number {
  return Math.max(0, barsOf(row).length - 1)
}

/** The bars between cells. A bar after a backslash belongs to the text. */
function barsOf(row: string): readonly number[] {
  return [...row.matchAll(/\\.|\|/g)].filter(([found]) => found === '|').map(({ index }) => index)
}
