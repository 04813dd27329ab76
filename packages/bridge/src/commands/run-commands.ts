import type { Actor } from '@reply/sink'
import { chatWordsOf } from '../error.ts'
import type { QueuedPrompt } from '../intake/queued-prompt.ts'
import { plain } from '../markdown.ts'
import type { Person } from '../people/people.ts'
import type { ChatPlace } from '../place.ts'
import { listText, logText, statusText, unknownText } from '../registry/format.ts'
import { cancelFor, mayActOn } from '../runs/active-run.ts'
import type { Command, CommandContext, Said } from './command.ts'

/** How many executions `/list` shows. */
const mostListed = 10

/** Commands about what runs and ran in the chat. */
export function runCommands(context: CommandContext): readonly Command[] {
  const { registry, runner, failed, words, clock, onError } = context
  return [
    {
      name: 'status',
      usage: '[id]',
      description: 'how a run is going',
      run: async ({ place, rest }) => {
        const execution = rest === '' ? (await registry.list(place))[0] : await registry.find(place, rest)
        if (!execution) return { text: rest === '' ? words.nothingRuns : unknownText(rest), isPlain: true }
        const last = (await registry.lines(execution)).findLast(({ from }) => from === 'stdout')
        return { text: statusText(execution, clock.now(), last), isPlain: true }
      },
    },
    {
      name: 'logs',
      usage: '[id]',
      description: 'the last lines of a run',
      run: async ({ place, rest }) => {
        const execution = rest === '' ? (await registry.list(place))[0] : await registry.find(place, rest)
        if (!execution) return { text: rest === '' ? words.nothingRuns : unknownText(rest), isPlain: true }
        return { text: logText(execution.id, await registry.lines(execution)), isPlain: true }
      },
    },
    {
      name: 'resend',
      description: 'post answers again that may not have arrived',
      isOnce: true,
      isPrompting: true,
      run: async ({ place }) => {
        try {
          return (await failed.resend(place)) > 0 ? undefined : { text: words.nothingMissing }
        } catch (error) {
          onError(error instanceof Error ? error : new Error(String(error)))
          return { text: words.notResent(plain(chatWordsOf(error, words))) }
        }
      },
    },
    {
      name: 'list',
      description: 'the recent runs of this chat',
      run: async ({ place }) => ({
        text: listText((await registry.list(place)).slice(0, mostListed)),
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
        const isCompacting = runner.active(place).some(({ stream }) => stream()?.reply?.compaction?.state === 'running')
        if (isCompacting) return { text: words.compacting }
        const said = await stopRuns(context, { place, person, ...entry, command: '/interrupt' })
        return said.text === words.canceled ? { ...said, text: words.interrupted } : said
      },
    },
  ]
}

export interface StopRequest extends Partial<Pick<QueuedPrompt, 'isTried' | 'heardAt'>> {
  /** What the person used. Default: `/stop`. */
  readonly command?: string | undefined
  readonly place: ChatPlace
  readonly person: Person
  readonly actor: Actor
}

/** Stops what runs in a place, as far as the person may. */
export async function stopRuns(context: CommandContext, request: StopRequest): Promise<Said> {
  const { place, person, actor, isTried, heardAt = Number.POSITIVE_INFINITY, command = '/stop' } = request
  const { runner, routes, people, servers, words, onError } = context
  await runner.restored(place)
  // Before a crash it may have stopped what ran then, and the next prompt is not meant.
  const running = runner
    .active(place)
    .map((run) => ({ run, ...run.execution() }))
    .filter(({ isCanceled, startedAt }) => !isTried || isCanceled || startedAt <= heardAt)
    .map(({ run }) => run)
  if (isTried && running.length === 0) return { text: words.restartedCommand(command) }
  const mine = running.filter((run) => mayActOn(run, { channel: place.channel, actor }, people))
  const [others] = running.filter((run) => !mine.includes(run))
  if (mine.length === 0 && others) return { text: words.othersRun(plain(others.execution().prompt.actor.name)) }
  try {
    const stops = await Promise.allSettled(mine.map(async (run) => await cancelFor(run, actor)))
    const failed = stops.find((stop) => stop.status === 'rejected')
    if (failed) throw failed.reason
    if (mine.length > 0) return { text: words.canceled }
    const route = await routes.of(place)
    const opencode = route && servers.get(route.server)
    // Someone may work in the session from elsewhere.
    if (!opencode || route.sessionID === undefined || !person.may.has('admin')) return { text: words.nothingRuns }
    const reply = await opencode.reply(route.sessionID)
    if (!reply || reply.phase === 'settled') return { text: words.nothingRuns }
    await opencode.abort(route.sessionID)
    return { text: words.canceled }
  } catch (error) {
    onError(error instanceof Error ? error : new Error(String(error)))
    return { text: words.notStopped(plain(chatWordsOf(error, words))) }
  }
}
