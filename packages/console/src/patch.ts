import { clip, type Line, line } from './line.ts'

/** What a unified diff changes: its lines without the file headers. Empty for what is none. */
export function patchLines(diff: unknown, options: { width: number; most: number }): readonly Line[] {
  const { width, most } = options
  const lines = changedLines(diff)
  const rows = lines.slice(0, lines.length > most ? most - 1 : most).map((text) => clip(toned(text), width))
  const left = lines.length - rows.length
  return left > 0 ? [...rows, clip(line(`… ${left} more lines`, 'dim'), width)] : rows
}

/** How many lines a diff adds and takes away: `+3 −1`. Empty for what is none. */
export function patchCount(diff: unknown): string {
  const lines = changedLines(diff)
  const added = lines.filter((text) => text.startsWith('+')).length
  const removed = lines.filter((text) => text.startsWith('-')).length
  return added + removed === 0 ? '' : `+${added} −${removed}`
}

function changedLines(diff: unknown): readonly string[] {
  if (typeof diff !== 'string') return []
  const lines = diff.split('\n')
  const start = lines.findIndex((text) => text.startsWith('@@'))
  if (start < 0) return []
  return lines.slice(start).filter((text) => text !== '' && !/^(?:Index:|=====|--- |\+\+\+ |\\ No newline)/.test(text))
}

function toned(text: string): Line {
  if (text.startsWith('@@')) return line(text, 'dim')
  if (text.startsWith('+')) return line(text, 'green')
  return text.startsWith('-') ? line(text, 'red') : line(text)
}
