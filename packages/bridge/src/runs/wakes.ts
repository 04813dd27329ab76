import { type Client, observerOf, type Reply, type ReplyObserver } from '@reply/core'
import { backOffMs, createRecent, pause } from '@reply/sink/internal'
import { BridgeError, wordsOf } from '../error.ts'
import type { ChatPlace } from '../place.ts'
import { type Execution, isOver } from '../registry/execution.ts'
import type { ActiveRun } from './active-run.ts'
import type { RunContext } from './context.ts'
import { endUnfollowed } from './end-unfollowed.ts'
import type { EndedRuns } from './ended-runs.ts'
import type { Running } from './running.ts'
import { passOn } from './shown-by.ts'
import { createTimers } from './timers.ts'
import { beginWake, isWake, wakeNamesOf } from './wake.ts'

/**
 * Shows what sessions do by themselves after a run, in the chat of that run: a background sub-agent asks, or the agent
 * goes on when it is done.
 */
export interface Wakes {
  /** Remembers the newest run of a session. */
  ran(execution: Execution): void
  /** Whether the place shows the reply as what its session does by itself. */
  isShown(reply: Reply, place: ChatPlace): boolean
  /** Decides again whose the open replies are. Call it when a run got its reply, or ended without one. */
  lookAgain(): void
  /** Begins to watch the servers. Finds what an earlier process followed, and what ended while there was none. */
  restore(executions: readonly Execution[]): Promise<void>
  stop(): void
}

export interface WakesOptions {
  readonly context: RunContext
  readonly endedRuns: EndedRuns
  readonly isFollowed: Running['isFollowed']
  readonly add: (run: ActiveRun) => void
}

/** How many sessions' newest runs are remembered, and how many are looked at after a restart. */
const mostSessions = 10_000
const mostRestored = 50
/** How often a store that fails is asked again, with longer and longer pauses: nine minutes in all. */
const mostFailures = 14
/** How soon a session that goes on is looked at after a restart, in ms. */
const againMs = 1000

export function createWakes({ context, endedRuns, isFollowed, add }: WakesOptions): Wakes {
  const { servers, channels, mirrors, directoryOf, clock, words, onError } = context
  const newest = createRecent<Execution>(mostSessions)
  /** By session: what an earlier process was showing. */
  const unfinished = new Map<string, Execution>()
  /** The keys of the places of the replies that are shown, by the replies' names; '' for one that could not be. */
  const shown = createRecent<string>(mostSessions)
  /** Looks again at the replies that a prompt may still join. */
  const undecided = new Set<() => void>()
  const timers = createTimers(clock)
  const stops: (() => void)[] = []
  let isStopped = false
  return { ran, isShown, lookAgain, restore, stop }

  function isShown(reply: Reply, place: ChatPlace): boolean {
    const key = mirrors.keyOf(place)
    return wakeNamesOf(reply).some((name) => shown.get(name) === key)
  }

  function lookAgain(): void {
    for (const look of undecided) look()
  }

  function ran(execution: Execution): void {
    const { sessionID, isSteer } = execution
    if (sessionID !== undefined && !isSteer) newest.set(sessionID, execution)
  }

  function watch(server: string, opencode: Client): void {
    const directory = directoryOf(server)
    const observe = ({ sessionID }: Reply): readonly ReplyObserver[] =>
      newest.get(sessionID)?.server === server ? [lookingAt(opencode)] : []
    stops.push(opencode.watch({ directory }, { observe }))
  }

  /** Decides when it can be told whose reply it is, at the latest at its end. */
  function lookingAt(opencode: Client): ReplyObserver {
    let newestReply: Reply
    let isDecided = false
    let begun: Promise<ReplyObserver> | undefined
    const look = (): void => {
      const isOurs = isUnasked(newestReply)
      isDecided = isOurs !== undefined
      if (isDecided) undecided.delete(look)
      else undecided.add(look)
      if (isOurs) begun = begin(newestReply, opencode)
    }
    return observerOf((observation) => {
      if (isDecided) return void begun?.then((observer) => passOn(observer, observation))
      newestReply = observation.reply
      look()
    })
  }

  /** Whether no run shows it. Undefined as long as a prompt may still join it. */
  function isUnasked(reply: Reply): boolean | undefined {
    const isAwake = isWake(reply)
    if (!isAwake) return isAwake
    const isOfRun = isFollowed(reply)
    return isOfRun === undefined && reply.phase !== 'settled' ? undefined : isOfRun !== true
  }

  async function begin(reply: Reply, opencode: Client): Promise<ReplyObserver> {
    const last = newest.get(reply.sessionID)
    const names = wakeNamesOf(reply)
    // The watch and `restore` may both see it.
    if (!last || !channels.has(last.prompt.channel) || names.some((name) => shown.has(name))) return {}
    for (const name of names) shown.set(name, mirrors.keyOf(last.prompt))
    const stored = unfinished.get(reply.sessionID)
    unfinished.delete(reply.sessionID)
    const held = endedRuns.begin()
    const options = { context, held, opencode, last, add, timers, isStopping: () => isStopped }
    const isSame = stored?.wokenBy !== undefined && names.includes(stored.wokenBy)
    if (stored && !isSame) lose(stored)
    // A prompt may have joined it already, and then shows nothing itself: a store that failed is asked again.
    for (let failures = 0; !isStopped; failures++) {
      try {
        return await beginWake(reply, { ...options, ...(isSame && { stored }) })
      } catch (error) {
        if (isStopped) return {}
        const isLast = failures === mostFailures
        onError(isLast ? unshown(reply, error) : error instanceof Error ? error : new Error(String(error)))
        if (isLast) break
        await pause(clock, backOffMs(failures))
      }
    }
    // A prompt that joins it now shows it itself.
    for (const name of names) shown.set(name, '')
    held.end()
    return {}
  }

  function unshown({ sessionID }: Reply, cause: unknown): BridgeError {
    const what = `What session ${sessionID} does by itself is not shown: the state could not be written`
    return new BridgeError('state', `${what} ${mostFailures + 1} times. ${wordsOf(cause)}`, { cause })
  }

  async function restore(executions: readonly Execution[]): Promise<void> {
    for (const execution of executions) {
      ran(execution)
      const { wokenBy, sessionID } = execution
      if (wokenBy !== undefined && !isOver(execution) && sessionID !== undefined) unfinished.set(sessionID, execution)
    }
    for (const [server, opencode] of servers) watch(server, opencode)
    const done = new Set(executions.flatMap((one) => (one.wokenBy && isOver(one) ? [one.wokenBy] : [])))
    const latest = executions.toReversed()
    const sessions = new Set(latest.flatMap(({ sessionID, isSteer }) => (sessionID && !isSteer ? [sessionID] : [])))
    await Promise.all([...sessions].slice(0, mostRestored).map(async (sessionID) => await find(sessionID, done)))
  }

  async function find(sessionID: string, done: ReadonlySet<string>): Promise<void> {
    const opencode = servers.get(newest.get(sessionID)?.server ?? '')
    // What begins from here on is seen by the watch.
    await opencode?.ready.catch(() => {})
    if (opencode) await findEnded(sessionID, opencode, done)
    const stored = unfinished.get(sessionID)
    if (!stored || isStopped) return
    unfinished.delete(sessionID)
    lose(stored)
  }

  /** Shows what ended while there was no bridge. What still goes on is seen by the watch, unless it ends before that. */
  async function findEnded(sessionID: string, opencode: Client, done: ReadonlySet<string>): Promise<void> {
    while (!isStopped) {
      const reply = await opencode.reply(sessionID).catch(() => undefined)
      if (!reply || isWake(reply) === false || isFollowed(reply) || wakeNamesOf(reply).some((name) => done.has(name)))
        return
      if (reply.phase === 'settled') return void (await begin(reply, opencode))
      await pause(clock, againMs)
    }
  }

  /** Another reply came after it, so that its end is not known any more. */
  function lose(execution: Execution): void {
    const over = { ...execution, status: 'error', reason: words.lostWake, finishedAt: clock.now() } as const
    // Not awaited: a platform may be away.
    void endUnfollowed(context, over, () => isStopped).catch(onError)
  }

  function stop(): void {
    isStopped = true
    timers.stop()
    for (const stopWatch of stops) stopWatch()
  }
}
