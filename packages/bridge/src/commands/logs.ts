import { escapeInvisible } from '@reply/core'
import type { LogLine } from '../state/execution.ts'
import type { Command, CommandServices } from './command.ts'
import { newestOrNamed, notFoundText } from './status.ts'

/** How much is shown, in UTF-16 units: a few messages on each platform. */
const mostOfLog = 12_000

/** Shows the last lines of the newest run of the chat, or of the run with the given id. */
export function logsCommand({ registry }: CommandServices): Command {
  return {
    name: 'logs',
    usage: '[id]',
    description: 'the last lines of a run',
    run: async ({ place, rest }) => {
      const execution = await newestOrNamed(registry, place, rest)
      if (!execution) return { text: notFoundText(rest), isPlain: true }
      return { text: logText(execution.id, await registry.logOf(execution)), isPlain: true }
    },
  }
}

/**
 * Formats log lines as `[stdout] …` and `[stderr] …`: the last ones that fit into `mostOfLog`. Without lines, says that there
 * is no output yet.
 */
export function logText(id: string, lines: readonly LogLine[]): string {
  if (lines.length === 0) return `No output yet · ${id}`
  const shown: string[] = []
  let left = mostOfLog
  for (const { from, text } of lines.toReversed()) {
    const line = `[${from}] ${escapeInvisible(text)}`
    left -= line.length + 1
    if (left < 0) break
    shown.unshift(line)
  }
  return shown.join('\n')
}
