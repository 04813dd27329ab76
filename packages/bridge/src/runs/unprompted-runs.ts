import { type Client, type Observation, observerOf, pendingAsks, type Reply, type ReplyObserver } from '@reply/core'
import { pause, stopwatch } from '@reply/core/internal'
import { backOffMs, createRecent, withResolvers } from '@reply/sink/internal'
import { quietAsks } from '../asks/quiet-asks.ts'
import { BridgeError, errorTypeOf, messageOf, toError } from '../error.ts'
import { type ChatPlace, placeKey } from '../place.ts'
import { type Execution, isOver, type JoiningPrompt, statusOf } from '../state/execution.ts'
import { followHint } from '../state/follow-hint.ts'
import { createOrderedCommits } from '../state/state.ts'
import type { Write } from '../store/store.ts'
import { texts } from '../texts.ts'
import { createTimers, type Timers } from '../timers.ts'
import { createDeskPrompts } from './desk-prompts.ts'
import type { EndedRuns, RunObservers } from './ended-runs.ts'
import type { FollowTarget, WhereAsksGo } from './follow-target.ts'
import { askedObservation, createFollowedAsks } from './followed-asks.ts'
import { areSameAsks, asksToStore, followedExecution, isUnseen, withEarlierAsks } from './followed-execution.ts'
import { closeFollowed, endUnfollowed } from './lost-runs.ts'
import { createRunEvents } from './run-events.ts'
import type { BridgeServices } from './services.ts'
import { isCutShort, observersOf, passOn, postQuote, type RefusedAsk, sinksFor, waitForMirrors } from './show-run.ts'

/**
 * Shows unprompted runs in the chat of the session's last run. For example, a background sub-agent asks something, or the
 * agent continues when the sub-agent is done.
 */
export interface UnpromptedRuns {
  /** Remembers the newest run of a session. */
  rememberRun(execution: Execution): void
  /**
   * Whether the prompt's place shows the reply as an unprompted run, or as one that it follows. Call it when the prompt joined the
   * reply: from then on, the place shows all of it, and the prompt's author is told of its end.
   */
  isShown(reply: Reply, prompt: JoiningPrompt): boolean
  /** Decides again which open replies are unprompted. Call it when a run got its reply, or ended without one. */
  decideAgain(): void
  /** Starts to show the replies that `observe` is called with. Then does what `restoreSessions` does. */
  restoreRuns(executions: readonly Execution[]): Promise<void>
  /** Returns the observers of a reply that began on a server: none unless the session's newest run was here. */
  observe(server: string, reply: Reply): readonly ReplyObserver[]
  /**
   * Shows what a chat follows of a reply that was started elsewhere. Resolves with an observer that must get all later
   * observations. Undefined if the run of a prompt shows it, or if it is shown already or can't be shown.
   */
  follow(server: string, reply: Reply, target: FollowTarget): Promise<ReplyObserver | undefined>
  /** Resumes unprompted and followed runs of an earlier process, and shows those that ended meanwhile, in the sessions of these executions. */
  restoreSessions(executions: readonly Execution[]): Promise<void>
  /** Never shows the reply of an unprompted run that was put aside. Call it before `restoreRuns`. */
  ignoreRun(execution: Execution): void
  /** Returns the runs of an earlier process that are not shown again yet, or can't be, and are not over. */
  unshown(): readonly Execution[]
  /** Shows no more replies. The next process continues. */
  stop(): void
}

/** For how many sessions the newest run is remembered, and how many sessions of a shard are checked after a restart. */
const mostRemembered = 10_000
const mostRestored = 50
/** How many times a failing store is retried, with increasing pauses: nine minutes in all. */
const mostFailures = 14
/** How long to wait between checks whether a reply belongs to the run of a prompt, in ms. */
const undecidedMs = 200
/** How long after a restart to wait between checks of a session that continues, or can't be read, in ms. */
const recheckMs = 1000
/** The errors of reads that fail again each time. */
const lastingErrors: ReadonlySet<unknown> = new Set(['gone', 'invalid', 'unsupported', 'closed', 'too-large'])
/** For how long a server that can be reached may refuse to read a session before that counts as gone, in ms: 10 minutes. */
const mostRefusedMs = 600_000

/** Creates the watch for unprompted runs. It does nothing before `restoreRuns`. */
export function createUnpromptedRuns(services: BridgeServices, endedRuns: EndedRuns): UnpromptedRuns {
  const { registry, servers, channels, mirrors, clock, runs, sessionReads, onError } = services
  const newest = createRecent<Execution>(mostRemembered)
  /** By session: the unprompted run that an earlier process was showing. */
  const unfinished = new Map<string, Execution>()
  /** By session: the runs that an earlier process was following. */
  const unfinishedFollows = new Map<string, readonly Execution[]>()
  /** Runs of an earlier process that can't be shown, while their chat is told. */
  const lost = new Set<Execution>()
  /** By the name of a reply: the keys of the places that show it. Empty if it could not be shown. */
  const shown = createRecent<readonly string[]>(mostRemembered)
  /** Callbacks that decide again about replies that a prompt may still join. */
  const undecided = new Set<() => void>()
  const timers = createTimers(clock)
  /** Stop to watch the sessions that were at work when this process began. */
  const watches: (() => void)[] = []
  let isWatching = false
  let isStopped = false
  return {
    rememberRun,
    isShown,
    decideAgain,
    restoreRuns,
    observe,
    follow,
    restoreSessions,
    ignoreRun,
    unshown: () => [...unfinished.values(), ...[...unfinishedFollows.values()].flat(), ...lost],
    stop,
  }

  /**
   * Whether the place of a prompt that joined a reply already shows it as an unprompted run, so that the prompt's run must not show it
   * too. False for a reply that could not be shown.
   */
  function isShown(reply: Reply, prompt: JoiningPrompt): boolean {
    const key = mirrors.keyOf(prompt)
    const names = namesOfUnprompted(reply)
    const isHere = names.some((name) => shown.get(name)?.includes(key))
    if (isHere)
      for (const run of runs.followed(prompt)) if (isReplyOfUnprompted(reply, run.execution())) run.join?.(prompt)
    return isHere
  }

  /** Decides again about each reply that a prompt may still have joined. */
  function decideAgain(): void {
    for (const decideOne of undecided) decideOne()
  }

  /**
   * Remembers the newest run of a session, whose chat then shows the session's unprompted runs. Ignores a run without a
   * session, one that steers another, and one that was started elsewhere.
   */
  function rememberRun(execution: Execution): void {
    const { sessionID, isSteer, followed } = execution
    if (sessionID !== undefined && !isSteer && !followed) newest.set(sessionID, execution)
  }

  /** Observes the replies of sessions whose newest run was on that server, from `restoreRuns` until `stop`. */
  function observe(server: string, { sessionID }: Reply): readonly ReplyObserver[] {
    const client = servers.get(server)
    if (!isWatching || isStopped || !client) return []
    return newest.get(sessionID)?.server === server ? [observerFor(client)] : []
  }

  /**
   * Returns an observer of one reply that decides whether it is unprompted as soon as that is known, at the latest at its end.
   * If it is, the run begins, and gets this and all later observations. Otherwise it ignores them.
   */
  function observerFor(client: Client): ReplyObserver {
    let newestReply: Reply
    let isDecided = false
    let begun: Promise<ReplyObserver> | undefined
    /** Begins the run if the reply is unprompted. Keeps itself for `decideAgain` while that is not known. */
    const decide = (): void => {
      const isOurs = mustBeShown(newestReply)
      isDecided = isOurs !== undefined
      if (isDecided) undecided.delete(decide)
      else undecided.add(decide)
      if (isOurs) begun = showUnprompted(newestReply, client)
    }
    return observerOf((observation) => {
      if (isDecided) return void begun?.then((observer) => passOn(observer, observation))
      newestReply = observation.reply
      decide()
    })
  }

  /**
   * Whether the reply is unprompted and no run shows it. Undefined while that is not known, or while a prompt may still join
   * it. No prompt joins one that has ended, but that may be of a run that is being looked for: its last events may arrive before
   * the read that finds it, and then without the prompt.
   */
  function mustBeShown(reply: Reply): boolean | undefined {
    const isOurs = isUnprompted(reply)
    if (!isOurs) return isOurs
    const isOfRun = runs.isOfPromptedRun(reply)
    if (isOfRun !== undefined) return !isOfRun
    return reply.phase === 'settled' && !runs.isFindingRun(reply.sessionID) ? true : undefined
  }

  /**
   * Starts to show the reply in the chat of the session's newest run. Retries while the store fails, at most `mostFailures`
   * times, and reports each failure. Ends another run that an earlier process was showing in the session. The observer needs
   * all later observations. It ignores them if the reply is shown already or can't be shown, or the bridge stops.
   */
  async function showUnprompted(reply: Reply, client: Client): Promise<ReplyObserver> {
    const last = newest.get(reply.sessionID)
    const names = namesOfUnprompted(reply)
    // The watch and `restoreRuns` may both find it.
    if (!last || !channels.has(last.prompt.channel) || names.some((name) => shown.has(name))) return {}
    for (const name of names) shown.set(name, [mirrors.keyOf(last.prompt)])
    const stored = unfinished.get(reply.sessionID)
    unfinished.delete(reply.sessionID)
    const isSame = stored !== undefined && isReplyOfUnprompted(reply, stored)
    if (stored && !isSame) endLost(stored)
    const unprompted = { reply, client, last, stored: isSame ? stored : undefined }
    // A chat of another shard may have used the session since.
    const isElsewhere = async (): Promise<boolean> =>
      !isSame && (await registry.isSessionElsewhere(last.server, reply.sessionID))
    return (await beginWithRetries(unprompted, isElsewhere)) ?? {}
  }

  /**
   * Waits until it is known whether a prompt of this shard began the reply. If none did, shows what the place follows, like
   * `showUnprompted`.
   */
  async function follow(
    server: string,
    reply: Reply,
    { place, follows, author }: FollowTarget,
  ): Promise<ReplyObserver | undefined> {
    const client = servers.get(server)
    const { sessionID } = reply
    const isUnknown = (): boolean =>
      runs.isOfPromptedRun(reply) === undefined || (reply.phase === 'settled' && runs.isFindingRun(sessionID))
    while (!isStopped && isUnknown()) await pause(clock, undecidedMs)
    const names = namesOfUnprompted(reply)
    // What the store forgets after a day, this process may still know. The watch shows it then.
    if (isUnprompted(reply) && newest.has(sessionID)) return undefined
    // A run of another chat may be one of this shard.
    const isOfPrompt =
      author === undefined ? runs.isOfPromptedRun(reply) : runs.showing({ id: '', prompt: place }, reply)
    if (!client || isStopped || isOfPrompt) return undefined
    const key = mirrors.keyOf(place)
    const keys = names.flatMap((name) => {
      const places = shown.get(name)
      return places ? [places] : []
    })
    // The chat may have left the run since it began to show it.
    if (keys.some((places) => places.includes(key)))
      for (const run of runs.followed(place)) if (isReplyOfUnprompted(reply, run.execution())) run.lookAgain?.()
    // Another chat may have taken the session over since a first one began to show it.
    if (keys.some((places) => places.length === 0 || places.includes(key))) return undefined
    const waiting = unfinishedFollows.get(sessionID) ?? []
    const stored = waiting.find((one) => isReplyOfUnprompted(reply, one) && mirrors.keyOf(one.prompt) === key)
    unfinishedFollows.set(
      sessionID,
      waiting.filter((one) => one !== stored),
    )
    for (const name of names) shown.set(name, [...(shown.get(name) ?? []), key])
    const last = stored ?? followedExecution(server, reply, { place, follows, author }, clock.now())
    return await beginWithRetries({ reply, client, last, stored }, async () => false)
  }

  /**
   * Begins to show a reply, unless `isElsewhere`. Retries while the store fails, at most `mostFailures` times, and reports each
   * failure. Undefined if that did not succeed.
   */
  async function beginWithRetries(
    unprompted: UnpromptedReply,
    isElsewhere: () => Promise<boolean>,
  ): Promise<ReplyObserver | undefined> {
    const { reply } = unprompted
    const runObservers = endedRuns.createRunObservers()
    // Retries while the store fails: a prompt that joined the reply already relies on this run to show it.
    for (let failures = 0; !isStopped; failures++) {
      try {
        if (await isElsewhere()) return undefined
        return await beginUnpromptedRun(services, unprompted, { runObservers, timers, isStopping: () => isStopped })
      } catch (error) {
        if (isStopped) return undefined
        const isLast = failures === mostFailures
        onError(isLast ? notShownError(reply, error) : toError(error))
        if (isLast) break
        await pause(clock, backOffMs(failures))
      }
    }
    // The run of a prompt that joins it now shows it.
    for (const name of namesOfUnprompted(reply)) shown.set(name, [])
    runObservers.releaseLater()
    return undefined
  }

  /** Returns the error for a reply that is not shown, with the message of the cause. */
  function notShownError({ sessionID }: Reply, cause: unknown): BridgeError {
    const what = `An unprompted run of session ${sessionID} is not shown: the state could not be written`
    return new BridgeError('state', `${what} ${mostFailures + 1} times. ${messageOf(cause)}`, { cause })
  }

  /** Observes the replies of sessions that are remembered by then, and restores the sessions. */
  async function restoreRuns(executions: readonly Execution[]): Promise<void> {
    const restored = restoreSessions(executions)
    isWatching = true
    await restored
  }

  /** Counts the reply of the run as one that could not be shown. Does nothing for the run of a prompt. */
  function ignoreRun(execution: Execution): void {
    for (const name of storedNamesOf(execution)) shown.set(name, [])
  }

  /**
   * Remembers the newest run of each session, and shows unprompted runs that happened while no bridge ran. Checks the sessions
   * with the newest runs, at most `mostRestored`, and waits while one of them is still running.
   */
  async function restoreSessions(all: readonly Execution[]): Promise<void> {
    const follows = all.filter((one) => one.followed && !isOver(one))
    for (const one of follows) {
      const { sessionID = '' } = one
      unfinishedFollows.set(sessionID, [...(unfinishedFollows.get(sessionID) ?? []), one])
    }
    const executions = all.filter(({ followed }) => !followed)
    for (const execution of executions) {
      rememberRun(execution)
      const { startedBy, sessionID } = execution
      if (startedBy !== undefined && !isOver(execution) && sessionID !== undefined) unfinished.set(sessionID, execution)
    }
    const endedNames = new Set(executions.flatMap((one) => (isOver(one) ? storedNamesOf(one) : [])))
    const latest = executions.toReversed()
    const sessions = new Set(latest.flatMap(({ sessionID, isSteer }) => (sessionID && !isSteer ? [sessionID] : [])))
    await Promise.all([
      ...[...sessions].slice(0, mostRestored).map(async (sessionID) => await showMissed(sessionID, endedNames)),
      ...follows.map(restoreFollow),
    ])
  }

  /**
   * Follows a run of an earlier process again. If it is not the last one of its session, or its session is gone, closes its
   * messages. Waits while the session can't be read. Does nothing if the bridge stops.
   */
  async function restoreFollow(stored: Execution): Promise<void> {
    const { server, sessionID = '', prompt, followed } = stored
    const isWaiting = (): boolean => unfinishedFollows.get(sessionID)?.includes(stored) === true
    const isSame = (reply: Reply): boolean => isReplyOfUnprompted(reply, stored)
    const target: FollowTarget = { place: prompt, follows: followed === 'asks' ? 'asks' : 'all', author: stored.author }
    const client = channels.has(prompt.channel) ? servers.get(server) : undefined
    const last = client && (await lastReplyOf(client, sessionID))
    if (isStopped || !isWaiting()) return
    if (client && last && isSame(last)) {
      if (last.phase === 'settled') return void (await follow(server, last, target))
      let follower: Promise<ReplyObserver | undefined> | undefined
      const observer = observerOf((observation) => {
        if (follower) return void follower.then((begun) => begun && passOn(begun, observation))
        follower = follow(server, observation.reply, target)
      })
      watches.push(client.watch({ sessionID }, { observe: (reply) => (isStopped || !isSame(reply) ? [] : [observer]) }))
      return
    }
    unfinishedFollows.set(
      sessionID,
      (unfinishedFollows.get(sessionID) ?? []).filter((one) => one !== stored),
    )
    lost.add(stored)
    const isClosed = await closeFollowed(services, { ...stored, finishedAt: clock.now() }, () => isStopped)
    if (isClosed) lost.delete(stored)
  }

  /**
   * Reads the last reply of a session, again and again while that fails: a server that starts refuses requests for a while.
   * Undefined if the session has none, or is gone, or if the bridge stops.
   */
  async function lastReplyOf(client: Client, sessionID: string): Promise<Reply | undefined> {
    const sinceMs = stopwatch(clock)
    for (;;) {
      const reply = await readReply(client, sessionID, sinceMs)
      if (reply !== 'unreadable') return reply
      await pause(clock, recheckMs)
    }
  }

  /**
   * Reads the last reply of a session. `sinceMs` tells when it was tried first. Undefined if it has none, or is gone, or if the bridge
   * stopped. Reports an error for which a session counts as gone.
   */
  async function readReply(
    client: Client,
    sessionID: string,
    sinceMs: () => number,
  ): Promise<Reply | 'unreadable' | undefined> {
    if (isStopped) return undefined
    try {
      return await client.reply(sessionID)
    } catch (error) {
      const type = errorTypeOf(error)
      const isLasting = lastingErrors.has(type) || (type !== 'unreachable' && sinceMs() > mostRefusedMs)
      if (isLasting && type !== 'gone' && type !== 'closed') onError(toError(error))
      return isLasting ? undefined : 'unreadable'
    }
  }

  /** Shows what happened in a session while no bridge ran. Ends a stored run that is not found, unless the bridge stops. */
  async function showMissed(sessionID: string, endedNames: ReadonlySet<string>): Promise<void> {
    const { server = '' } = newest.get(sessionID) ?? {}
    const client = servers.get(server)
    // The watch finds the runs that start from here on.
    await client?.ready.catch(() => {})
    if (client) await showLastReply(sessionID, server, client, endedNames)
    const stored = unfinished.get(sessionID)
    if (!stored || isStopped) return
    unfinished.delete(sessionID)
    endLost(stored)
  }

  /**
   * Shows the last reply of a session if it is an unprompted one without a name in `endedNames`: an earlier process showed
   * those. Watches the session if it is running, because the watch of the server may have reported it before this could be
   * asked, and it may wait for an answer. Waits until it is shown or has ended, and while the session can't be read. Does nothing
   * if the session is gone, or the bridge stops.
   */
  async function showLastReply(
    sessionID: string,
    server: string,
    client: Client,
    endedNames: ReadonlySet<string>,
  ): Promise<void> {
    let isFollowed = false
    const sinceMs = stopwatch(clock)
    while (!isStopped) {
      const reply = await sessionReads.read(server, async () => await readReply(client, sessionID, sinceMs))
      if (reply === 'unreadable') {
        await pause(clock, recheckMs)
        continue
      }
      if (
        !reply ||
        isUnprompted(reply) === false ||
        runs.isOfPromptedRun(reply) ||
        namesOfUnprompted(reply).some((name) => endedNames.has(name) || shown.has(name))
      )
        return
      if (reply.phase === 'settled' && mustBeShown(reply)) return void (await showUnprompted(reply, client))
      if (reply.phase !== 'settled' && !isFollowed && !isStopped) {
        isFollowed = true
        watches.push(client.watch({ sessionID }, { observe: () => (isStopped ? [] : [observerFor(client)]) }))
      }
      await pause(clock, recheckMs)
    }
  }

  /**
   * Ends an unprompted run whose end is unknown because another reply followed. Does not wait for it, and reports errors.
   */
  function endLost(execution: Execution): void {
    lost.add(execution)
    // Not awaited: the platform may be unreachable.
    void endUnfollowed(services, execution, texts.lostWake, () => isStopped)
      .then((isEnded) => isEnded && lost.delete(execution))
      .catch(onError)
  }

  /** Stops the timers, and observes no more replies. */
  function stop(): void {
    isStopped = true
    timers.stop()
    for (const stopWatch of watches) stopWatch()
  }
}

/** An unprompted reply, and what is known about its session. */
export interface UnpromptedReply {
  readonly reply: Reply
  /** The client of its server. */
  readonly client: Client
  /** The newest run of the session, whose chat shows the reply. Of a run that was started elsewhere, the execution itself. */
  readonly last: Execution
  /** The execution that an earlier process stored for it. */
  readonly stored: Execution | undefined
}

/** What an unprompted run shares with others. */
export interface UnpromptedRunHost {
  readonly runObservers: RunObservers
  /** Timers that are cleared when the bridge stops. */
  readonly timers: Timers
  /** Whether the bridge is stopping. The next process then continues from what is stored. */
  readonly isStopping: () => boolean
}

/**
 * Whether the reply has no text or file of a person as its prompt, and has something to show: an ask, or a part or end of the
 * agent's own. Undefined for an open reply that has nothing to show yet, false for a settled one.
 */
export function isUnprompted({ prompt, asks, messages, phase }: Reply): boolean | undefined {
  if (prompt !== undefined && (prompt.text !== '' || prompt.files.length > 0)) return false
  // That an ask has ended tells nothing of how its run began.
  if (asks.some((ask) => !isUnseen(ask))) return true
  const isOfAgent = messages.some(
    ({ parts, finish, error }) =>
      finish !== undefined || error !== undefined || parts.some(({ type }) => type !== 'tool'),
  )
  // A shell command that someone runs in the session elsewhere is a single call without a step of the agent.
  return isOfAgent || (phase === 'settled' ? false : undefined)
}

/**
 * Returns the ids by which this and other processes recognize the reply, best first: of its first prompt, ask and message, as
 * far as it has them. Not empty once `isUnprompted` is true.
 */
export function namesOfUnprompted({ promptIDs, messages, asks }: Reply): readonly string[] {
  return [promptIDs[0], asks[0]?.requestID, messages[0]?.id].filter((name) => name !== undefined)
}

/** Returns the ids by which the reply of a stored run is recognized. Empty for the run of a prompt. */
function storedNamesOf({ startedBy, names = [] }: Execution): readonly string[] {
  return startedBy === undefined ? [] : [startedBy, ...names]
}

/**
 * Whether the reply is that of a stored run: they have an id in common, or an ask that is pending. A process that came later may
 * know other ids than the one that stored it: it doesn't see asks that were answered before.
 */
export function isReplyOfUnprompted(reply: Reply, execution: Execution): boolean {
  const stored = storedNamesOf(execution)
  if (namesOfUnprompted(reply).some((name) => stored.includes(name))) return true
  const { asks = [] } = execution
  return pendingAsks(reply).some(({ requestID }) => asks.some((ask) => ask.requestID === requestID))
}

/** Returns the reply with the id first under which the chats store its messages, which must not change while it is shown. */
function storedUnder(startedBy: string | undefined, reply: Reply): Reply {
  const { promptIDs } = reply
  if (startedBy === undefined || promptIDs[0] === startedBy) return reply
  return { ...reply, promptIDs: [startedBy, ...promptIDs.filter((id) => id !== startedBy)] }
}

/**
 * Stores an unprompted run, adds it to the active runs, and starts to show it. Resolves with an observer that must get all
 * later observations of the reply. Rejects if the run can't be stored, and nothing has started then.
 */
export async function beginUnpromptedRun(
  services: BridgeServices,
  { reply, client, last, stored }: UnpromptedReply,
  { runObservers, timers, isStopping }: UnpromptedRunHost,
): Promise<ReplyObserver> {
  const {
    state,
    registry,
    routes,
    runs,
    clock,
    asks,
    answeredBy,
    failed,
    notices,
    followRules,
    mirrors,
    emit,
    onError,
  } = services
  const { router } = services.config
  const { prompt, server, sessionID, agent } = last
  const { origin } = last
  const isFollowed = last.followed !== undefined
  let newest = reply
  /** What the chat shows of it. */
  let shownReply = reply
  let execution: Execution = stored ?? {
    id: await registry.newID(prompt),
    prompt,
    server,
    sessionID,
    agent,
    startedBy: namesOfUnprompted(reply)[0],
    isByApprovers: last.isByApprovers,
    ...(isFollowed && { followed: last.followed, origin, quoted: last.quoted }),
    asks: asksToStore(reply),
    phase: 'delivering',
    status: 'running',
    startedAt: clock.now(),
  }
  const [promptID] = reply.promptIDs
  const authors = promptID === undefined || isFollowed ? [] : [routes.writeAuthor(promptID, prompt)]
  const route = (await routes.routeOf(prompt)) ?? { server }
  // The last step that may fail. The caller retries, so nothing must have been started before it.
  const newestWrites = isFollowed ? [] : registry.writeNewest(execution)
  await state.commit([registry.writeExecution(execution), ...newestWrites, ...authors])
  const sinceStartMs = stored ? () => Number.POSITIVE_INFINITY : stopwatch(clock)
  const quote = isFollowed && !stored && last.followed === 'all' ? postQuote(services, execution, reply) : undefined
  const sinks = sinksFor(
    services,
    execution,
    route,
    quote,
    () => execution,
    isFollowed
      ? {
          onRefused: (...refused) => void takeRefusal(...refused).catch(onError),
          isAskedElsewhere: (requestID) => followedAsks?.isAskedElsewhere(requestID) === true,
        }
      : undefined,
  )
  const deskPrompts = createDeskPrompts(services, { execution: () => execution, store: updateExecution })
  const events = createRunEvents(execution, clock, answeredBy, emit)
  const shown = deskPrompts.before(observersOf(sinks, onError, !router.progress.enabled))
  // The people where it was started may take their time.
  const timeouts = isFollowed
    ? quietAsks(services, { places: sinks, server, origin: origin ?? '', execution: () => execution }, timers)
    : asks.observerFor({ place: prompt, client, server })
  // Asks that no chat shows can't be answered there.
  const notify = isFollowed && !router.progress.enabled ? {} : notices.observerFor(() => execution)
  const observers = [...shown, timeouts, notify, events.observer]
  const commitInOrder = createOrderedCommits(state)
  const followedAsks = isFollowed
    ? createFollowedAsks({
        known: stored ? (stored.asks ?? []) : pendingAsks(reply),
        announced: stored?.asks ?? [],
        observer: observerOf(show),
        asksGo,
        onNotHere: handOver,
        now: () => clock.now(),
        after: (delayMs, run) => timers.restart(`asks/${execution.id}`, delayMs, run),
        onError,
      })
    : undefined
  // Of a run whose asks alone are shown, the chat must not see the output.
  let unfollow = last.followed === 'asks' ? () => {} : registry.followReply(execution, () => newest)
  /** Whether it made no progress for too long. */
  let isLate = false
  /** By request: the places that refused it. */
  const refusals = new Map<string, Set<string>>()
  /** The places whose chats take no messages. */
  const closed = new Set<string>()
  /** The requests that all places refused. */
  const told = new Set<string>()
  const settled = withResolvers<void>()
  const delivered = withResolvers<void>()
  let answered = withResolvers<void>()
  const ended = deliverReply()
    .catch(onError)
    .finally(() => {
      delivered.resolve()
      unfollow()
      runObservers.releaseLater()
    })
  runs.addUntilEnded({
    execution: () => execution,
    ageMs: sinceStartMs,
    sinks,
    stream: () => ({ reply: shownReply, abort }),
    onShown: events.onShown,
    cancel,
    join: isFollowed ? join : undefined,
    lookAgain: followedAsks?.lookAgain,
    hasLeft: followedAsks?.hasLeft,
    found: Promise.resolve(),
    accepted: Promise.resolve(),
    // Messages of the chat don't wait for a run that it does not show.
    delivered: last.followed === 'asks' ? Promise.resolve() : delivered.promise,
    answered: async () => {
      if (pendingAsks(shownReply).length > 0) await Promise.race([answered.promise, ended])
    },
    ended,
  })
  observe({ type: 'replyStarted', reply })
  for (const ask of pendingAsks(reply))
    if (!stored?.asks?.some(({ requestID }) => requestID === ask.requestID)) observe(askedObservation(ask, reply))
  if (reply.outcome) observe({ type: 'replySettled', outcome: reply.outcome, reply })
  const [observer = {}] = runObservers.wrap([observerOf(observe)])
  return observer

  /**
   * Passes an observation on to `show`. Restarts the timeout, or clears it if an ask is pending or the run settled. Stores more ids of the
   * reply.
   */
  function observe(observation: Observation): void {
    newest = observation.reply
    storeNames()
    // Waiting for people does not count as no progress.
    if (isFollowed || newest.phase === 'settled' || pendingAsks(newest).length > 0) timers.clear(execution.id)
    else timers.restart(execution.id, router.timeoutMs, abortLate)
    if (followedAsks) followedAsks.pass(observation)
    else show(observation)
  }

  /** Forwards to all observers what the chat shows, and reports the errors that they throw. */
  function show(observation: Observation): void {
    const haveAsksChanged = observation.reply.asks !== shownReply.asks
    shownReply = observation.reply
    if (haveAsksChanged) storeAsks()
    if (pendingAsks(shownReply).length === 0) {
      answered.resolve()
      answered = withResolvers()
    }
    const withAsks = withEarlierAsks(shownReply, stored?.asks ?? [], clock.now())
    const seen = { ...observation, reply: storedUnder(execution.startedBy, withAsks) }
    for (const observer of observers) {
      try {
        passOn(observer, seen)
      } catch (error) {
        onError(toError(error))
      }
    }
    if (shownReply.phase === 'settled') settled.resolve()
  }

  /**
   * Waits for the end of the reply, then until the chats show it, and stores both, the end with its notices. Stores and reports the
   * deliveries that are missing. Returns early if the bridge is stopping, and the next process then continues.
   */
  async function deliverReply(): Promise<void> {
    await settled.promise
    if (isStopping()) return
    const status = isLate ? ({ status: 'error', reason: texts.timedOut } as const) : statusOf(newest)
    const end = { ...status, finishedAt: clock.now() }
    const log = execution.followed === 'asks' ? [] : [registry.writeLog(execution)]
    const told = await notices.writesAtEnd(execution, { ...execution, ...end }, newest)
    await updateExecution(end, [...log, ...told])
    if (told.length > 0) void notices.send()
    await deskPrompts.decided()
    const delivery = await sinks[0].sink.settled()
    if (isStopping() || isCutShort(delivery)) return
    events.onDelivered(execution, delivery)
    delivered.resolve()
    const shown = [{ place: sinks[0], delivery }, ...(await waitForMirrors(sinks, clock))]
    if (isStopping()) return
    const missing = execution.followed === 'asks' ? [] : failed.findMissing(execution, newest, shown)
    const isMissing = missing.some((one) => placeKey(one) === placeKey(prompt))
    const phase = isMissing ? 'undelivered' : 'done'
    const atEnd = await registry.writesAtEnd({ ...execution, phase })
    await updateExecution({ phase }, [...failed.write(missing), ...atEnd])
    failed.reportAll(missing)
  }

  /** Shows all of a run that is followed, because a prompt of the chat joined it, and remembers whose it is. */
  function join({ channel, chat, actor, messageRef }: JoiningPrompt): void {
    const { followed, joinedBy = [] } = execution
    const isKnown = joinedBy.some((one) => one.channel === channel && one.actor.id === actor.id)
    if (followed === 'joined' && isKnown) return
    if (followed === 'asks') unfollow = registry.followReply(execution, () => newest)
    const joining = isKnown ? joinedBy : [...joinedBy, { channel, chat, actor, messageRef }]
    void updateExecution({ followed: 'joined', joinedBy: joining }).catch(onError)
    followedAsks?.lookAgain()
  }

  /** Returns where new requests of the run are shown. One that a prompt of the chat joined is like a run of the chat. */
  async function asksGo({ sessionID: id }: Reply): Promise<WhereAsksGo> {
    const { followed, author } = execution
    if (followed === 'joined') return 'here'
    return await state.withRetries(() => followRules.asksGo(prompt, { server, sessionID: id }, author))
  }

  /** Has the chat that follows the run by now show what waits, or tells that there is none. */
  function handOver({ sessionID: id }: Reply): void {
    void state.withRetries(() => state.commit([], { hint: followHint(server, id) })).catch(onError)
  }

  /**
   * Leaves the session that is followed if neither its chat nor a mirror takes messages. Another chat then shows what waits, if there is one. Emits `unshown`
   * once for a request that its chat and all mirrors refused, if no other chat is to show it.
   */
  async function takeRefusal({ requestID, isOfChat }: RefusedAsk, place: ChatPlace): Promise<void> {
    const refusing = (refusals.get(requestID) ?? new Set()).add(placeKey(place))
    refusals.set(requestID, refusing)
    if (isOfChat) closed.add(placeKey(place))
    if (closed.size === sinks.length) await leave()
    if (refusing.size < sinks.length || told.has(requestID)) return
    told.add(requestID)
    const target = await state.withRetries(() => followRules.findTarget(server, newest))
    const askType = pendingAsks(newest).find((ask) => ask.requestID === requestID)?.type
    if (target?.type !== 'chat' || mirrors.keyOf(target.place) !== mirrors.keyOf(prompt) || !askType) return
    emit({ type: 'unshown', at: clock.now(), server, sessionID: newest.sessionID, askType, requestID })
  }

  /** Leaves the session that is followed, and has another chat show what waits. Does nothing if the chat doesn't work with it. */
  async function leave(): Promise<void> {
    const session = { server, sessionID: newest.sessionID }
    await state.withRetries(async () => {
      const left = await routes.writesToLeave(prompt, session)
      if (left.length > 0) await state.commit(left, { hint: followHint(server, session.sessionID) })
    })
  }

  /** Stores the ids of the reply that are not stored yet. Its prompt is enough: the id of an ask is of no use once that is answered. */
  function storeNames(): void {
    const { startedBy, names = [] } = execution
    const [promptID] = newest.promptIDs
    const all = promptID === undefined ? namesOfUnprompted(newest) : [promptID]
    const added = all.filter((name) => name !== startedBy && !names.includes(name))
    if (added.length > 0 && !isStopping()) void updateExecution({ names: [...names, ...added] }).catch(onError)
  }

  /** Stores the pending asks when they have changed, so that the next process can close their messages. */
  function storeAsks(): void {
    const pending = asksToStore(shownReply)
    if (!areSameAsks(pending, execution.asks) && !isStopping()) void updateExecution({ asks: pending }).catch(onError)
  }

  /** Aborts a run that made no progress for too long. It then ends as timed out. Errors go to `onError`. */
  function abortLate(): void {
    isLate = true
    void abort().catch(onError)
  }

  /** Stores that the run is canceled, and aborts it. Does nothing once the run has ended. Rejects like `Client.abort`. */
  async function cancel(): Promise<void> {
    // It has ended and is only being shown. An abort would stop the session's next run, which may be another person's.
    if (newest.phase === 'settled') return
    await updateExecution({ isCanceled: true })
    await abort()
  }

  /** Aborts the reply, and resolves with the newest one. Rejects like `Client.abort`. */
  async function abort(): Promise<Reply> {
    await client.abort(newest)
    return newest
  }

  /**
   * Changes and stores the execution, together with other writes, and emits its events. Retries while the store fails, and
   * rejects when the bridge stops meanwhile.
   */
  async function updateExecution(change: Partial<Execution>, more: readonly Write[] = []): Promise<void> {
    const before = execution
    // Another change may replace it before this one is stored.
    const after = { ...execution, ...change }
    execution = after
    await commitInOrder([registry.writeExecution(after), ...more])
    events.onChanged(before, after)
  }
}
