const MARKS = new Set(' \t>|:-*+#`~0123456789')

/** Whether a line begins like a list, heading, quote, fence, table rule or indented line. All other lines are text. */
export function isMarked(line: string): boolean {
  return MARKS.has(line.charAt(0))
}
