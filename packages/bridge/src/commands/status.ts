import { elapsed } from '@reply/core/show'
import { oneLine } from '@reply/sink/internal'
import type { ChatPlace } from '../place.ts'
import type { Execution, LogLine } from '../state/execution.ts'
import type { Registry } from '../state/registry.ts'
import { texts } from '../texts.ts'
import type { Command, CommandServices } from './command.ts'

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
