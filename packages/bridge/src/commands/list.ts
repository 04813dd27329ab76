import type { Execution } from '../state/execution.ts'
import type { Command, CommandServices } from './command.ts'
import { utcSeconds } from './status.ts'

/** How many executions are shown. */
const mostExecutions = 10

/** Shows the recent runs of the chat, newest first. */
export function listCommand({ registry }: CommandServices): Command {
  return {
    name: 'list',
    description: 'the recent runs of this chat',
    run: async ({ place }) => ({
      text: listText((await registry.listRecent(place)).slice(0, mostExecutions)),
      isPlain: true,
    }),
  }
}

/** Formats a list of executions, one per line, with the time of the end, or of the start while it runs. */
export function listText(executions: readonly Execution[]): string {
  if (executions.length === 0) return 'No recent executions in this chat.'
  const lines = executions.map(({ id, phase, status, startedAt, finishedAt = startedAt }) => {
    const label = phase === 'undelivered' ? '⚠️ Not delivered' : labels[status]
    return `• ${id} ${label} ${utcSeconds(finishedAt).slice(11)}`
  })
  return ['Recent executions (this chat):', ...lines].join('\n')
}

const labels: Readonly<Record<Execution['status'], string>> = {
  running: '⏳ Running',
  complete: '✅ Complete',
  stopped: '⏹️ Stopped',
  error: '❌ Error',
}
