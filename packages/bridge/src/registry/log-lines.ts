import { stripVTControlCharacters } from 'node:util'
import { isShownText, type Part, partsOf, type Reply } from '@reply/core'
import { clip } from '@reply/sink/internal'
import type { LogLine } from './execution.ts'

/** How many lines of a log are kept. */
export const mostLines = 200

/** The most of a line, in UTF-16 units. */
const mostOfLine = 1000

/** The last lines of what the agent said and did: its text, and the errors of tools and of the run. */
export function logLines(reply: Reply): readonly LogLine[] {
  const lines = [...partsOf(reply).flatMap(linesOfPart), ...errorLines(reply)]
  return lines.slice(-mostLines)
}

function linesOfPart(part: Part): readonly LogLine[] {
  if (isShownText(part)) return split('stdout', part.text)
  if (part.type !== 'tool' || part.state.status !== 'error') return []
  return split('stderr', part.state.error ?? '')
}

function errorLines({ error }: Reply): readonly LogLine[] {
  return error ? split('stderr', error.message || error.name) : []
}

/** Control sequences go first: they may contain line breaks. */
function split(from: LogLine['from'], text: string): readonly LogLine[] {
  const lines = stripVTControlCharacters(text).split('\n')
  return lines.flatMap((line) =>
    line.trim() === '' ? [] : [{ from, text: clip(line.replace(/\r/g, ''), mostOfLine) }],
  )
}
