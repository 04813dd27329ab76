/** Rows laid out at the end of a growing block, each as wide as the terminal. */
const rowsOfEnd = 60

const FENCE = /^ {0,3}(?:`{3,}|~{3,})[^\n]*\n/
const TABLE_HEAD = /^ {0,3}\|[^\n]*\n {0,3}(?=[^\n-]*-)[|: \t-]+\r?\n/

/**
 * The end of a long growing block: only its last rows fit on a screen, and laying out all of it gets slower with each
 * word. A fence keeps its first line and a table its head, so that the end is still read as code or as rows. Column
 * widths and numbers of nested items may differ from those in the whole block, which is shown once it is complete.
 */
export function endOfBlock(source: string, width: number): string {
  const units = rowsOfEnd * width
  if (source.length <= units) return source
  const from = source.length - units
  const lineStart = source.indexOf('\n', from) + 1
  const fence = FENCE.exec(source)?.[0]
  const lead = fence ?? TABLE_HEAD.exec(source)?.[0] ?? ''
  if (lineStart > 0 && lineStart < source.length) return lead + source.slice(Math.max(lineStart, lead.length))
  const isHalf = /[\udc00-\udfff]/.test(source.charAt(from))
  return (fence ?? '') + source.slice(Math.max(from + (isHalf ? 1 : 0), fence?.length ?? 0))
}
