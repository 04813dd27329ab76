import { type Line, line } from './styled-line.ts'

/** Returns how many lines a diff adds and removes: `+3 −1`. Empty if it is not a diff. */
export function patchCount(diff: unknown): string {
  const lines = hunkLines(diff)
  const added = lines.filter((text) => text.startsWith('+')).length
  const removed = lines.filter((text) => text.startsWith('-')).length
  return added + removed === 0 ? '' : `+${added} −${removed}`
}

/** Returns the lines of the hunks, context included. Empty if it is not a diff. */
function hunkLines(diff: unknown): readonly string[] {
  if (typeof diff !== 'string') return []
  const lines = diff.split('\n')
  const start = lines.findIndex((text) => text.startsWith('@@'))
  if (start < 0) return []
  return lines.slice(start).filter((text) => text !== '' && !/^(?:Index:|=====|--- |\+\+\+ |\\ No newline)/.test(text))
}

/** Returns a line of a diff in its colour. */
export function diffLine(text: string): Line {
  if (text.startsWith('@@')) return line(text, 'dim')
  if (text.startsWith('+')) return line(text, 'green')
  return text.startsWith('-') ? line(text, 'red') : line(text)
}
