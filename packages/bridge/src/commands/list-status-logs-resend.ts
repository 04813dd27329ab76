import { escapeInvisible } from '@reply/core'
import { elapsed } from '@reply/core/show'
import { oneLine } from '@reply/sink/internal'
import { toError } from '../error.ts'
import type { ChatPlace } from '../place.ts'
import type { Execution, LogLine } from '../state/execution.ts'
import type { Registry } from '../state/registry.ts'
import { chatMessageOf, plain, texts } from '../texts.ts'
import type { Command, CommandServices } from './command.ts'

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

/** How much of a line is shown, in UTF-16 units. */
const lineLength = 200

/** Shows how the newest run of the chat is going, or the run with the given id. */
export function statusCommand({ registry, clock }: CommandServices): Command {
  return {
    name: 'status',
    usage: '[id]',
    description: 'how a run is going',
    run: async ({ place, rest }) => {
      const execution = await newestOrNamed(registry, place, rest)
      if (!execution) return { text: notFoundText(rest), isPlain: true }
      const last = (await registry.logOf(execution)).findLast(({ from }) => from === 'stdout')
      return { text: statusText(execution, clock.now(), last), isPlain: true }
    },
  }
}

/**
 * Returns the newest recent execution of a place if the id is empty, otherwise the recent one whose id begins with it.
 * Undefined if there is none, or if several begin with it.
 */
export async function newestOrNamed(registry: Registry, place: ChatPlace, id: string): Promise<Execution | undefined> {
  return id === '' ? (await registry.listRecent(place))[0] : await registry.findRecent(place, id)
}

/** Returns the text for an id that `newestOrNamed` did not find. It says that nothing runs if the id is empty. */
export function notFoundText(id: string): string {
  return id === '' ? texts.nothingRuns : `Unknown execution ID: ${oneLine(id, 40)}`
}

/**
 * Formats a status, for example `⏳ Running (42s) · abc123` and a second line. That line is the newest output of a running
 * execution (`last`, or `none yet`), the end of a complete one, and the reason of any other.
 */
export function statusText(execution: Execution, now: number, last: LogLine | undefined): string {
  const { id, phase, status, startedAt, finishedAt = now, reason = '' } = execution
  const time = elapsed(finishedAt - startedAt)
  if (phase === 'undelivered')
    return `⚠️ Not delivered (${time}) · ${id}\nIts answer may be missing here. /resend posts it again.`
  switch (status) {
    case 'running':
      return `⏳ Running (${time}) · ${id}\nLast output: ${last ? oneLine(last.text, lineLength) : 'none yet'}`
    case 'complete':
      return `✅ Complete (${time}) · ${id}\nFinished: ${utcSeconds(finishedAt)}`
    case 'stopped':
      return `⏹️ Stopped (${time}) · ${id}\nReason: ${oneLine(reason, lineLength)}`
    case 'error':
      return `❌ Error (${time}) · ${id}\nReason: ${oneLine(reason, lineLength)}`
  }
  return status satisfies never
}

/** Formats a time in UTC to the second, for example `2026-02-24T08:00:01Z`. */
export function utcSeconds(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`
}

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

/** Posts the answers that may be missing in the chat. No reply if one was posted. */
export function resendCommand({ failed, onError }: CommandServices): Command {
  return {
    name: 'resend',
    description: 'post answers again that may not have arrived',
    isOnce: true,
    isPrompting: true,
    run: async ({ place }) => {
      try {
        return (await failed.resend(place)) > 0 ? undefined : { text: texts.nothingMissing }
      } catch (error) {
        onError(toError(error))
        return { text: texts.notResent(plain(chatMessageOf(error))) }
      }
    },
  }
}
