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
  if (executions.length === 0) return texts.noExecutions
  const lines = executions.map((execution) => {
    const { id, startedAt, finishedAt = startedAt } = execution
    return texts.executionListed(id, stateLabel(execution), utcSeconds(finishedAt).slice(11))
  })
  return [texts.executions, ...lines].join('\n')
}

/** Returns the label of an execution's status, for example `⏳ Running`. That of an undelivered answer comes first. */
function stateLabel({ phase, status }: Pick<Execution, 'phase' | 'status'>): string {
  return texts.executionStates[phase === 'undelivered' ? phase : status]
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
 * Returns the execution that `/status` or `/logs` is about: the newest recent one of a place if the id is empty, otherwise the
 * recent one whose id begins with it. Undefined if there is none, or if several begin with it.
 */
export async function newestOrNamed(registry: Registry, place: ChatPlace, id: string): Promise<Execution | undefined> {
  return id === '' ? (await registry.listRecent(place))[0] : await registry.findRecent(place, id)
}

/** Returns the text for an id that `newestOrNamed` did not find. It says that nothing runs if the id is empty. */
export function notFoundText(id: string): string {
  return id === '' ? texts.nothingRuns : texts.unknownExecution(oneLine(id, 40))
}

/**
 * Formats a status, for example `⏳ Running (42s) · abc123` and a second line. That line is the newest output of a running
 * execution (`last`, or `none yet`), the end of a complete one, and the reason of any other. For an undelivered answer, it
 * is a hint at `/resend`. The time is 0 if the run started on a machine whose clock is ahead.
 */
export function statusText(execution: Execution, now: number, last: LogLine | undefined): string {
  const { id, startedAt, finishedAt = now } = execution
  const head = texts.executionStatus(stateLabel(execution), elapsed(Math.max(0, finishedAt - startedAt)), id)
  return `${head}\n${statusDetail(execution, finishedAt, last)}`
}

/** Returns the second line of a status. `last` is the newest line of output, and only used while the execution runs. */
function statusDetail(
  { phase, status, reason = '' }: Execution,
  finishedAt: number,
  last: LogLine | undefined,
): string {
  if (phase === 'undelivered') return texts.undeliveredHelp
  switch (status) {
    case 'running':
      return last ? texts.lastOutput(oneLine(last.text, lineLength)) : texts.noLastOutput
    case 'complete':
      return texts.finishedAt(utcSeconds(finishedAt))
    case 'stopped':
    case 'error':
      return texts.endedBecause(oneLine(reason, lineLength))
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
  if (lines.length === 0) return texts.noLog(id)
  const shown: string[] = []
  let unitsLeft = mostOfLog
  for (const { from, text } of lines.toReversed()) {
    const line = texts.logLine(from, escapeInvisible(text))
    unitsLeft -= line.length + 1
    if (unitsLeft < 0) break
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
