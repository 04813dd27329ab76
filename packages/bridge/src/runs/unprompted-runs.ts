import { type Client, type Observation, observerOf, pendingAsks, type Reply, type ReplyObserver } from '@reply/core'
import { backOffMs, createRecent, pause, withResolvers } from '@reply/sink/internal'
import { BridgeError, messageOf } from '../error.ts'
import { type ChatPlace, placeKey } from '../place.ts'
import { type Execution, endOf, isOver } from '../state/execution.ts'
import type { Write } from '../store/store.ts'
import { texts } from '../texts.ts'
import { createTimers, type Timers } from '../timers.ts'
import type { ActiveRun, ActiveRuns } from './active-runs.ts'
import type { BridgeContext } from './context.ts'
import type { EndedRuns, RunObservers } from './ended-runs.ts'
import { endUnfollowed } from './lost-runs.ts'
import { createRunEvents } from './run-events.ts'
import { isCutShort, passOn, shownBy, shownInMirrors, sinksFor } from './show-run.ts'

/**
 * Shows what sessions do by themselves after a run, in the chat of that run: a background sub-agent asks, or the agent
 * goes on when it is done.
 */
export interface UnpromptedRuns {
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

export interface UnpromptedRunsOptions {
  readonly context: BridgeContext
  readonly endedRuns: EndedRuns
  readonly isFollowed: ActiveRuns['isFollowed']
  readonly add: (run: ActiveRun) => void
}

/** How many sessions' newest runs are remembered, and how many are looked at after a restart. */
const mostSessions = 10_000
const mostRestored = 50
/** How often a store that fails is asked again, with longer and longer pauses: nine minutes in all. */
const mostFailures = 14
/** How soon a session that goes on is looked at after a restart, in ms. */
const againMs = 1000

export function createUnpromptedRuns({ context, endedRuns, isFollowed, add }: UnpromptedRunsOptions): UnpromptedRuns {
  const { config, servers, channels, mirrors, clock, onError } = context
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
    return namesOfUnprompted(reply).some((name) => shown.get(name) === key)
  }

  function lookAgain(): void {
    for (const look of undecided) look()
  }

  function ran(execution: Execution): void {
    const { sessionID, isSteer } = execution
    if (sessionID !== undefined && !isSteer) newest.set(sessionID, execution)
  }

  function watch(server: string, opencode: Client): void {
    const directory = config.servers[server]?.directory
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
    const isAwake = isUnprompted(reply)
    if (!isAwake) return isAwake
    const isOfRun = isFollowed(reply)
    return isOfRun === undefined && reply.phase !== 'settled' ? undefined : isOfRun !== true
  }

  async function begin(reply: Reply, opencode: Client): Promise<ReplyObserver> {
    const last = newest.get(reply.sessionID)
    const names = namesOfUnprompted(reply)
    // The watch and `restore` may both see it.
    if (!last || !channels.has(last.prompt.channel) || names.some((name) => shown.has(name))) return {}
    for (const name of names) shown.set(name, mirrors.keyOf(last.prompt))
    const stored = unfinished.get(reply.sessionID)
    unfinished.delete(reply.sessionID)
    const held = endedRuns.begin()
    const options = { context, held, opencode, last, add, timers, isStopping: () => isStopped }
    const isSame = stored?.startedBy !== undefined && names.includes(stored.startedBy)
    if (stored && !isSame) lose(stored)
    // A prompt may have joined it already, and then shows nothing itself: a store that failed is asked again.
    for (let failures = 0; !isStopped; failures++) {
      try {
        return await beginUnpromptedRun(reply, { ...options, ...(isSame && { stored }) })
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
    const what = `An unprompted run of session ${sessionID} is not shown: the state could not be written`
    return new BridgeError('state', `${what} ${mostFailures + 1} times. ${messageOf(cause)}`, { cause })
  }

  async function restore(executions: readonly Execution[]): Promise<void> {
    for (const execution of executions) {
      ran(execution)
      const { startedBy, sessionID } = execution
      if (startedBy !== undefined && !isOver(execution) && sessionID !== undefined) unfinished.set(sessionID, execution)
    }
    for (const [server, opencode] of servers) watch(server, opencode)
    const done = new Set(executions.flatMap((one) => (one.startedBy && isOver(one) ? [one.startedBy] : [])))
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
      if (
        !reply ||
        isUnprompted(reply) === false ||
        isFollowed(reply) ||
        namesOfUnprompted(reply).some((name) => done.has(name))
      )
        return
      if (reply.phase === 'settled') return void (await begin(reply, opencode))
      await pause(clock, againMs)
    }
  }

  /** Another reply came after it, so that its end is not known any more. */
  function lose(execution: Execution): void {
    const over = { ...execution, status: 'error', reason: texts.lostWake, finishedAt: clock.now() } as const
    // Not awaited: a platform may be away.
    void endUnfollowed(context, over, () => isStopped).catch(onError)
  }

  function stop(): void {
    isStopped = true
    timers.stop()
    for (const stopWatch of stops) stopWatch()
  }
}

export interface UnpromptedRunOptions {
  readonly context: BridgeContext
  readonly held: RunObservers
  readonly opencode: Client
  /** The newest run of the session, in whose chat it is shown. */
  readonly last: Execution
  /** What an earlier process wrote down of it. */
  readonly stored?: Execution | undefined
  /** Adds it to what runs in its place. */
  readonly add: (run: ActiveRun) => void
  /** Cleared when the bridge stops. */
  readonly timers: Timers
  /** The bridge is stopping: what is not written down yet is left to the next process. */
  readonly isStopping: () => boolean
}

/**
 * Whether the reply answers nothing that a person wrote, and there is something to show. Undefined as long as that can't
 * be told.
 */
export function isUnprompted({ prompt, asks, messages, phase }: Reply): boolean | undefined {
  if (prompt !== undefined && (prompt.text !== '' || prompt.files.length > 0)) return false
  if (asks.length > 0) return true
  const isOfAgent = messages.some(
    ({ parts, finish, error }) =>
      finish !== undefined || error !== undefined || parts.some(({ type }) => type !== 'tool'),
  )
  // A command that a person runs in the session elsewhere is a lone call, without a step of the agent around it.
  return isOfAgent || (phase === 'settled' ? false : undefined)
}

/**
 * What names the reply, also for another process, best first; not empty once `isUnprompted` is true. It may begin with an ask,
 * and get a prompt later.
 */
function namesOfUnprompted({ promptIDs, messages, asks }: Reply): readonly string[] {
  return [promptIDs[0], asks[0]?.requestID, messages[0]?.id].filter((name) => name !== undefined)
}

/** Shows what a session does by itself. The observer gets its reply from now on. */
export async function beginUnpromptedRun(reply: Reply, options: UnpromptedRunOptions): Promise<ReplyObserver> {
  const { context, held, opencode, last, stored, add, timers, isStopping } = options
  const { state, registry, routes, clock, asks, failed, onError } = context
  const { router } = context.config
  const { prompt, server, sessionID, agent } = last
  let newest = reply
  let execution: Execution = stored ?? {
    id: await registry.newID(prompt),
    prompt,
    server,
    sessionID,
    agent,
    startedBy: namesOfUnprompted(reply)[0],
    isByApprovers: last.isByApprovers,
    phase: 'delivering',
    status: 'running',
    startedAt: clock.now(),
  }
  const [promptID] = reply.promptIDs
  const authors = promptID === undefined ? [] : [routes.writeAuthor(promptID, prompt)]
  const route = (await routes.of(prompt)) ?? { server }
  // The last step that may fail: the caller tries again, and must find nothing half begun.
  await state.commit([registry.write(execution), ...authors])
  const shows = sinksFor(context, execution, route)
  const events = createRunEvents({ ...context, execution })
  const shown = shownBy(shows, { asks: !router.progress.enabled, isLeftOut: () => false, onError })
  const observers = [...shown, asks.observerFor({ place: prompt, opencode, server }), events.observer]
  const unfollow = registry.follow(execution, () => newest)
  /** It made no progress for too long. */
  let isLate = false
  const settled = withResolvers<void>()
  const delivered = withResolvers<void>()
  add({
    execution: () => execution,
    shows,
    stream: () => ({ reply: newest, abort }),
    shown: events.shown,
    cancel,
    found: Promise.resolve(),
    delivered: delivered.promise,
    ended: follow()
      .catch(onError)
      .finally(() => {
        delivered.resolve()
        unfollow()
        held.end()
      }),
  })
  pass({ type: 'replyStarted', reply })
  if (reply.outcome) pass({ type: 'replySettled', outcome: reply.outcome, reply })
  const [observer = {}] = held.hold([observerOf(pass)])
  return observer

  function pass(observation: Observation): void {
    newest = observation.reply
    const [startedBy] = namesOfUnprompted(newest)
    // An ask can't be read again once it is answered.
    if (startedBy !== undefined && startedBy !== execution.startedBy && !isStopping())
      void update({ startedBy }).catch(onError)
    // The time that people take to answer does not count.
    if (newest.phase === 'settled' || pendingAsks(newest).length > 0) timers.clear(execution.id)
    else timers.set(execution.id, router.timeoutMs, endLate)
    for (const observer of observers) {
      try {
        passOn(observer, observation)
      } catch (error) {
        onError(error instanceof Error ? error : new Error(String(error)))
      }
    }
    if (newest.phase === 'settled') settled.resolve()
  }

  async function follow(): Promise<void> {
    await settled.promise
    if (isStopping()) return
    const end = isLate ? ({ status: 'error', reason: 'Timed out' } as const) : endOf(newest)
    await update({ ...end, finishedAt: clock.now() }, [registry.writeLog(execution)])
    const own = await shows[0].sink.settled()
    if (isStopping() || isCutShort(own)) return
    events.delivered(execution, own)
    delivered.resolve()
    const shown = [{ place: shows[0], delivery: own }, ...(await shownInMirrors(shows, clock))]
    if (isStopping()) return
    const missing = failed.of(execution, newest, shown)
    const isMissing = missing.some((one) => placeKey(one) === placeKey(prompt))
    await update({ phase: isMissing ? 'undelivered' : 'done' }, failed.keep(missing))
    failed.kept(missing)
  }

  function endLate(): void {
    isLate = true
    void abort().catch(onError)
  }

  async function cancel(): Promise<void> {
    // Only its showing goes on. To abort would end whatever the session runs now, also another person's prompt.
    if (newest.phase === 'settled') return
    await update({ isCanceled: true })
    await abort()
  }

  async function abort(): Promise<Reply> {
    await opencode.abort(newest)
    return newest
  }

  async function update(change: Partial<Execution>, more: readonly Write[] = []): Promise<void> {
    const before = execution
    execution = { ...execution, ...change }
    const writes = [registry.write(execution), ...more]
    await state.persist(() => state.commit(writes))
    events.changed(before, execution)
  }
}
