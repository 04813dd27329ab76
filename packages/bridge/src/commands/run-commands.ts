import { escapeInvisible } from '@reply/core'
import { elapsed } from '@reply/core/show'
import type { Actor } from '@reply/sink'
import { oneLine } from '@reply/sink/internal'
import { toError } from '../error.ts'
import type { Person } from '../people/people.ts'
import type { ChatPlace } from '../place.ts'
import { cancelFor, mayActOn } from '../runs/active-runs.ts'
import type { Execution, LogLine } from '../state/execution.ts'
import type { QueuedPrompt } from '../state/queued-prompt.ts'
import { chatMessageOf, plain, texts } from '../texts.ts'
import type { Command, CommandContext, CommandReply } from './command.ts'

/** How many executions `/list` shows. */
const mostExecutions = 10

/** Commands about the current and recent runs of the chat. */
export function runCommands(context: CommandContext): readonly Command[] {
  const { registry, runs, failed, clock, onError } = context
  return [
    {
      name: 'status',
      usage: '[id]',
      description: 'how a run is going',
      run: async ({ place, rest }) => {
        const execution = rest === '' ? (await registry.listRecent(place))[0] : await registry.findRecent(place, rest)
        if (!execution) return { text: rest === '' ? texts.nothingRuns : unknownText(rest), isPlain: true }
        const last = (await registry.logOf(execution)).findLast(({ from }) => from === 'stdout')
        return { text: statusText(execution, clock.now(), last), isPlain: true }
      },
    },
    {
      name: 'logs',
      usage: '[id]',
      description: 'the last lines of a run',
      run: async ({ place, rest }) => {
        const execution = rest === '' ? (await registry.listRecent(place))[0] : await registry.findRecent(place, rest)
        if (!execution) return { text: rest === '' ? texts.nothingRuns : unknownText(rest), isPlain: true }
        return { text: logText(execution.id, await registry.logOf(execution)), isPlain: true }
      },
    },
    {
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
    },
    {
      name: 'list',
      description: 'the recent runs of this chat',
      run: async ({ place }) => ({
        text: listText((await registry.listRecent(place)).slice(0, mostExecutions)),
        isPlain: true,
      }),
    },
    ...['cancel', 'stop'].map(
      (name): Command => ({
        name,
        description: 'stop what runs here',
        run: async ({ place, person, entry }) =>
          await stopRuns(context, { place, person, ...entry, command: `/${name}` }),
      }),
    ),
    {
      name: 'interrupt',
      description: 'stop what runs here, unless it compacts the context',
      run: async ({ place, person, entry }) => {
        const isCompacting = runs.active(place).some(({ stream }) => stream()?.reply?.compaction?.state === 'running')
        if (isCompacting) return { text: texts.compacting }
        const reply = await stopRuns(context, { place, person, ...entry, command: '/interrupt' })
        return reply.text === texts.canceled ? { ...reply, text: texts.interrupted } : reply
      },
    },
  ]
}

/** A person's request to stop the runs of a place. */
export interface StopRequest extends Partial<Pick<QueuedPrompt, 'isTried' | 'receivedAt'>> {
  /** The command that the person sent. Default: `/stop`. */
  readonly command?: string | undefined
  readonly place: ChatPlace
  readonly person: Person
  readonly actor: Actor
}

/**
 * Stops the runs of a place that the person may stop, and resolves with a reply about it. If the place has no run, an admin
 * stops one that was started elsewhere in its session.
 */
export async function stopRuns(context: CommandContext, request: StopRequest): Promise<CommandReply> {
  const { place, person, actor, isTried, receivedAt = Number.POSITIVE_INFINITY, command = '/stop' } = request
  const { runner, runs, routes, people, servers, onError } = context
  await runner.whenRestored(place)
  // Before a crash it may have stopped the run of that time. It must not stop the next one.
  const running = runs
    .active(place)
    .map((run) => ({ run, ...run.execution() }))
    .filter(({ isCanceled, startedAt }) => !isTried || isCanceled || startedAt <= receivedAt)
    .map(({ run }) => run)
  if (isTried && running.length === 0) return { text: texts.restartedCommand(command) }
  const mine = running.filter((run) => mayActOn(run, { channel: place.channel, actor }, people))
  const [others] = running.filter((run) => !mine.includes(run))
  if (mine.length === 0 && others) return { text: texts.othersRun(plain(others.execution().prompt.actor.name)) }
  try {
    const stops = await Promise.allSettled(mine.map(async (run) => await cancelFor(run, actor)))
    const failed = stops.find((stop) => stop.status === 'rejected')
    if (failed) throw failed.reason
    if (mine.length > 0) return { text: texts.canceled }
    const route = await routes.routeOf(place)
    const client = route && servers.get(route.server)
    // The session may have a run that was started elsewhere.
    if (!client || route.sessionID === undefined || !person.may.has('admin')) return { text: texts.nothingRuns }
    const reply = await client.reply(route.sessionID)
    if (!reply || reply.phase === 'settled') return { text: texts.nothingRuns }
    await client.abort(route.sessionID)
    return { text: texts.canceled }
  } catch (error) {
    onError(toError(error))
    return { text: texts.notStopped(plain(chatMessageOf(error))) }
  }
}

/** How much of a line `/status` shows, in UTF-16 units. */
const lineLength = 200

/** How much `/logs` shows, in UTF-16 units: a few messages on each platform. */
const mostOfLog = 12_000

/** Formats a status, for example `⏳ Running (42s) · abc123` and a second line. `last`: newest line of a running execution. */
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

/** Formats a list of executions, one per line. */
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

/** Formats log lines as `[stdout] …` and `[stderr] …`. */
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

/** Formats a time in UTC, to the second. */
function stamp(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`
}
