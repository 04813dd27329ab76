import { escapeInvisible } from '@reply/core'
import { elapsed, oneLine } from '@reply/sink/internal'
import type { Execution, LogLine } from './execution.ts'

/** How much of a line `/status` shows, in UTF-16 units. */
const lineLength = 200

/** How much `/logs` shows, in UTF-16 units: a few messages on every platform. */
const mostOfLog = 12_000

/** `⏳ Running (42s) · abc123` and its second line. `last` is the newest line of a running execution. */
export function statusText(execution: Execution, now: number, last: LogLine | undefined): string {
  const { id, phase, status, startedAt, finishedAt = now, reason = '' } = execution
  const time = elapsed(finishedAt - startedAt)
  if (phase === 'undelivered')
    return `⚠️ Not delivered (${time}) · ${id}\nIts answer may be missing here. /resend posts it again.`
  switch (status) {
    case 'running':
      return `⏳ Running (${time}) · ${id}\nLast output: ${last ? oneLine(last.text, lineLength) : 'none yet'}`
    case 'complete':
      return `✅ Complete (${time}) · ${id}\nFinished: ${stamp(finishedAt)}`
    case 'stopped':
      return `⏹️ Stopped (${time}) · ${id}\nReason: ${oneLine(reason, lineLength)}`
    case 'error':
      return `❌ Error (${time}) · ${id}\nReason: ${oneLine(reason, lineLength)}`
  }
  return status satisfies never
}

/** `Recent executions (this chat):` with a line each. */
export function listText(executions: readonly Execution[]): string {
  if (executions.length === 0) return 'No recent executions in this chat.'
  const lines = executions.map(({ id, phase, status, startedAt, finishedAt = startedAt }) => {
    const label = phase === 'undelivered' ? '⚠️ Not delivered' : labels[status]
    return `• ${id} ${label} ${stamp(finishedAt).slice(11)}`
  })
  return ['Recent executions (this chat):', ...lines].join('\n')
}

const labels: Readonly<Record<Execution['status'], string>> = {
  running: '⏳ Running',
  complete: '✅ Complete',
  stopped: '⏹️ Stopped',
  error: '❌ Error',
}

/** `[stdout] …` and `[stderr] …`. */
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

export const unknownText = (id: string): string => `Unknown execution ID: ${oneLine(id, 40)}`

/** To the second, in UTC. */
function stamp(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`
}
