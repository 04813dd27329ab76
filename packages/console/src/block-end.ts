/** The rows that the end of a block shows at least, each as wide as the terminal: as many as a tail takes of 90. */
const rowsOfEnd = 60

/** What a fence begins with, or a table's head and its rule. */
const CONTEXT = /^(?: {0,3}(?:`{3,}|~{3,})[^\n]*\n| {0,3}\|[^\n]*\n {0,3}\|?[\s:-]*-[-|: \t]*\n)/

/**
 * The end of a long block that still grows: only its last rows fit on a screen, and to lay out all of it takes longer
 * with each word. A fence or a table keeps its beginning, so that its end looks as it does in the whole.
 */
export function endOfBlock(source: string, width: number): string {
  const units = rowsOfEnd * width
  if (source.length <= units) return source
  const from = source.length - units
  const lineStart = source.indexOf('\n', from) + 1
  const context = CONTEXT.exec(source)?.[0] ?? ''
  if (lineStart > 0 && lineStart < source.length) return context + source.slice(Math.max(lineStart, context.length))
  const isHalf = /[\udc00-\udfff]/.test(source.charAt(from))
  return source.slice(from + (isHalf ? 1 : 0))
}
