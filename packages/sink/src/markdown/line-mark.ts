const marks = new Set([...' \t>|:-*+#`~0123456789'].map((mark) => mark.charCodeAt(0)))

/** Whether a character code begins a line that is marked. */
const isMark = Array.from({ length: 128 }, (_, code) => marks.has(code))

/** Whether a line begins like a list, heading, quote, fence, table rule or indented line. All other lines are text. */
export function isMarked(line: string): boolean {
  return isMark[line.charCodeAt(0)] === true
}
