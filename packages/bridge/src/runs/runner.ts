import type { Reply, ReplyObserver } from '@reply/core'
import { pause } from '@reply/core/internal'
import type { MessageRef } from '@reply/sink'
import { createRecent, ledgerKeyOf, messageRefsOf, withResolvers } from '@reply/sink/internal'
import { BridgeError, toError } from '../error.ts'
import { rowName } from '../failed/failure-rows.ts'
import { toldMs } from '../failed/tries.ts'
import { type ChatPlace, placeKey } from '../place.ts'
import { toExecution, toLog, toQueuedPrompt } from '../state/decode.ts'
import { type Execution, isOver } from '../state/execution.ts'
import { albumWaitMs, isSurelyOlder, type QueuedPrompt } from '../state/queued-prompt.ts'
import type { NewestRun, Registry } from '../state/registry.ts'
import { readWithExpiry, type State } from '../state/state.ts'
import { withoutLastTry } from '../state/tried.ts'
import type { EnqueueWrite } from '../store/apply-writes.ts'
import type { QueuedValue, Write } from '../store/store.ts'
import { texts } from '../texts.ts'
import { waitAtMost } from '../timers.ts'
import { type ActiveRun, isAsking } from './active-runs.ts'
import { createAgentStops } from './agent-stops.ts'
import { createEndedRuns } from './ended-runs.ts'
import { endUnfollowed } from './lost-runs.ts'
import { beginRun, type PlannedRun } from './run.ts'
import type { BridgeServices } from './services.ts'
import { type MirrorPosts, postToMirrors, sinksFor } from './show-run.ts'
import { createSpokenPrompts, isUnprepared, type SpokenPrompts } from './spoken-prompts.ts'
import { createUnpromptedRuns, type UnpromptedRuns } from './unprompted-runs.ts'

/** Runs the prompts of each place one after the other, and resumes the runs of an earlier process. */
export interface Runner {
  /** Returns the write that appends a prompt to the queue of its place. */
  enqueue(prompt: QueuedPrompt): EnqueueWrite
  /** Returns the write that replaces a queued prompt. It conflicts if the prompt has left the queue. */
  replace(prompt: QueuedPrompt): Write
  /** Returns the id of a prompt in the queue of its place. */
  queueIDOf(prompt: QueuedPrompt): string
  /**
   * Starts to work on the queue of a place in the background, and to transcribe its voice notes. Does nothing while that is in
   * progress.
   */
  startQueue(place: ChatPlace): void
  /**
   * Commits `removal`, which removes a prompt, without running it. Its author gets `text`, if need be from the next process.
   * Does nothing if the prompt was removed meanwhile.
   */
  refusePrompt(prompt: QueuedPrompt, removal: readonly Write[], text: string): Promise<void>
  /**
   * Starts a prompt immediately, beside the running one. Commits `removal`, which removes it from its queue. Refuses the prompt
   * if its place has no server, and does nothing if it was removed meanwhile.
   */
  beginNow(prompt: QueuedPrompt, removal: readonly Write[]): Promise<void>
  /** Whether a run of the prompt's session was in progress when the prompt was sent and still is, and no prompt waits before it. */
  canSteer(prompt: QueuedPrompt): Promise<boolean>
  /** Returns the queued prompts of a place, oldest first. */
  queuedPrompts(place: ChatPlace): Promise<readonly QueuedPrompt[]>
  /** Returns the name of the queue of a place. */
  queueNameOf(place: ChatPlace): string
  /**
   * Runs a task that reads the queue of a place and changes what it read, when no other such task and no start of a prompt is in
   * progress there. Otherwise a change that succeeds could be overtaken by a start that has read the old text. Resolves and
   * rejects like the task.
   */
  changeQueue<Result>(place: ChatPlace, task: () => Promise<Result>): Promise<Result>
  /** As in `SpokenPrompts`. A prompt with voice notes must be prepared before it runs. */
  readonly prepare: SpokenPrompts['prepare']
  /** Ends the transcription of a queued prompt that was removed or whose text was replaced. */
  readonly cancelTranscription: SpokenPrompts['cancel']
  /** Returns the server of a session that had a run here. Undefined if none is known. */
  serverOfSession(sessionID: string): string | undefined
  /** As in `UnpromptedRuns`. */
  observe(server: string, reply: Reply): readonly ReplyObserver[]
  /** As in `UnpromptedRuns`. */
  follow: UnpromptedRuns['follow']
  /** Shows the last run of a session if it is an unprompted one that ended and is not shown. For a session that was handed over. */
  showMissed(server: string, sessionID: string): Promise<void>
  /**
   * Follows the run of a prompt again that ended within an hour, in another process, so that its messages are compared with what
   * they should show. If the server tells no ids of prompts, it is the last run of the session. Does nothing without such a run.
   */
  showAgain(sessionID: string, promptID: string): Promise<void>
  /**
   * Does so for the run of a message that a platform reports as undelivered, so that its answer counts as one that may be missing. Does
   * nothing while the run is shown: its sink gets the report.
   */
  showUndelivered(place: ChatPlace, message: MessageRef): Promise<void>
  /** Resumes the runs of an earlier process. Does not wait until their asks can be answered again, see `whenRestored`. */
  restoreRuns(): Promise<void>
  /** Resolves when the runs of a place are resumed, at the latest 10 s after `restoreRuns`. */
  whenRestored(place: ChatPlace): Promise<void>
  /** Stops following runs, which continue on the servers. Resolves when their sinks have stopped. */
  stop(): Promise<void>
  /** Returns groups of writes that undo the tries of the runs that this process leaves to the next one, see `Tries.giveBack`. */
  undoTries(): readonly (readonly Write[])[]
}

/** How many sessions' servers are remembered. */
const mostRemembered = 10_000
/** For how many ended runs later changes of the reply are still shown: about 35 kB each. */
const mostEnded = 100
/** How long a queue waits at most for an album before it is looked at again, in ms. */
const mostPauseMs = 1000
/** How long to wait after an error before a queue is processed again, in ms. */
const retryMs = 1000
/** How long a chat waits after a restart until its runs are found on their servers, in ms. */
const restoreMs = 10_000

/** Creates the runner. It starts no prompt before `startQueue`, `beginNow` or `restoreRuns`. */
export function createRunner(services: BridgeServices): Runner {
  const { state, registry, routes, mirrors, channels, people, servers, runs, clock, failed, tries, onError } = services
  const { router } = services.config
  const endedRuns = createEndedRuns(mostEnded)
  const unprompted = createUnpromptedRuns(services, endedRuns)
  const agentStops = createAgentStops(services, () => isStopped)
  const queues = { queueNameOf, queueIDOf, queuedPrompts, replace, refusePrompt, changeQueue, tryQueued }
  const spoken = createSpokenPrompts(services, queues)
  /** By the keys of places whose queue is being processed: whether it was started again since it was read. */
  const working = new Map<string, boolean>()
  /** By the key of a place: resolves when its runs are restored. */
  const restoring = new Map<string, Promise<void>>()
  /** By an album in a queue, with its last message: when this process first knew of it, by the monotonic clock. */
  const albumTimes = createRecent<number>(mostRemembered)
  /** By the name of a queue: resolves when its last task of `changeQueue` is over. */
  const lastChanges = new Map<string, Promise<void>>()
  /** Names of queues whose first prompt waits until requests are answered. */
  const afterAsks = new Set<string>()
  /** Names of queued prompts that an earlier process may have begun to run. */
  const earlier = new Set<string>()
  /** By the keys of executions: how old the newest runs of sessions were at the start, in ms. */
  const agesMs = new Map<string, number>()
  /** Runs of an earlier process whose try was stored at the start, until they have ended. */
  const triedRuns = new Set<Execution>()
  /** Runs of an earlier process that can't be followed, while they are being ended. */
  const ending = new Set<Execution>()
  const serverBySession = createRecent<string>(mostRemembered)
  /** The runs that were followed when the bridge stopped. */
  let leftRuns: readonly ActiveRun[] = []
  let isStopped = false
  /** Resolves when the last report of an undelivered message is handled. */
  let lastUndelivered: Promise<void> = Promise.resolve()
  return {
    enqueue,
    replace,
    queueIDOf,
    startQueue,
    refusePrompt,
    beginNow,
    canSteer,
    queuedPrompts,
    queueNameOf,
    changeQueue,
    prepare: spoken.prepare,
    cancelTranscription: spoken.cancel,
    serverOfSession: (sessionID) => serverBySession.get(sessionID),
    observe: unprompted.observe,
    follow,
    showMissed,
    showAgain,
    showUndelivered,
    restoreRuns,
    whenRestored: async (place) => await restoring.get(mirrors.keyOf(place)),
    stop,
    undoTries,
  }

  /** Returns the write that appends the prompt to the queue of its place. */
  function enqueue(prompt: QueuedPrompt): EnqueueWrite {
    albumKnownForMs(prompt)
    return { type: 'enqueue', queue: queueNameOf(prompt), id: queueIDOf(prompt), value: storedPrompt(prompt) }
  }

  /** Returns the write that replaces the prompt, which keeps its position in the queue. */
  function replace(prompt: QueuedPrompt): Write {
    albumKnownForMs(prompt)
    return { type: 'replace', queue: queueNameOf(prompt), id: queueIDOf(prompt), value: storedPrompt(prompt) }
  }

  /**
   * Returns for how long this process has known the last message of a prompt's album, in ms. 0 the first time. The time when it
   * was received does not tell: another machine may have received it, whose clock is another one.
   */
  function albumKnownForMs(prompt: QueuedPrompt): number {
    if (prompt.albumID === undefined) return 0
    const key = `${queueNameOf(prompt)} ${queueIDOf(prompt)} ${prompt.receivedAt} ${prompt.files.length}`
    const knownSince = albumTimes.get(key) ?? clock.monotonic()
    albumTimes.set(key, knownSince)
    return clock.monotonic() - knownSince
  }

  /** Returns a prompt as its queue stores it. The tries of the message in the inbox don't count there. */
  function storedPrompt(prompt: QueuedPrompt): string {
    return JSON.stringify({ ...prompt, tries: undefined })
  }

  /**
   * Returns the prompt's id in its queue: the message's id, below its place if several chats share the queue, because ids
   * are unique in a chat only.
   */
  function queueIDOf(prompt: QueuedPrompt): string {
    return !mirrors.isShared(prompt) ? prompt.id : `${placeKey(prompt)}/${prompt.id}`
  }

  /** Returns the name of the queue, which mirrored places share. */
  function queueNameOf(place: ChatPlace): string {
    return `prompts/${mirrors.keyOf(place)}`
  }

  /** Returns the queued prompts of a place, oldest first. */
  async function queuedPrompts(place: ChatPlace): Promise<readonly QueuedPrompt[]> {
    return (await state.queue(queueNameOf(place))).map(({ value }) => toQueuedPrompt(value))
  }

  /** Runs a task once those before it are over, also if they failed. */
  async function changeQueue<Result>(place: ChatPlace, task: () => Promise<Result>): Promise<Result> {
    const name = queueNameOf(place)
    const over = withResolvers<void>()
    const before = lastChanges.get(name)
    lastChanges.set(name, over.promise)
    try {
      await before
      return await task()
    } finally {
      over.resolve()
      if (lastChanges.get(name) === over.promise) lastChanges.delete(name)
      // The prompt may be another one now.
      if (afterAsks.delete(name)) startQueue(place)
    }
  }

  /** Processes the queue in the background. After an error, reports it and retries, unless the bridge has stopped. */
  function startQueue(place: ChatPlace): void {
    spoken.prepareAll(place)
    processQueue(place).catch((error) => {
      if (isStopped) return
      onError(toError(error))
      clock.after(retryMs, () => startQueue(place))
    })
  }

  /**
   * Whether a prompt can steer a run of its session now. False if it was surely sent before the run started, and if other
   * prompts are queued before it, because it would overtake them.
   */
  async function canSteer(prompt: QueuedPrompt): Promise<boolean> {
    const placeRoute = await routes.routeOf(prompt)
    const sessionID = placeRoute && (await routes.routeOfPrompt(prompt, placeRoute)).sessionID
    const isRunning = runs.active(prompt).some(({ stream, ageMs }) => {
      const reply = stream()?.reply
      const isOpen = reply !== undefined && reply.phase !== 'settled' && reply.sessionID === sessionID
      return isOpen && !isSurelyOlder(prompt, ageMs(), clock.wall())
    })
    if (!isRunning) return false
    const [head] = await state.queue(queueNameOf(prompt))
    return head === undefined || head.id === queueIDOf(prompt)
  }

  /**
   * Runs the queued prompts of a place, one after the other, once its runs are restored and its active runs are delivered.
   * Waits for the rest of an album, and until voice notes are transcribed. Ends early when the bridge stops. While that is going on,
   * another call only makes it read the queue again: each prompt that is queued is followed by one, so none is left behind.
   */
  async function processQueue(place: ChatPlace): Promise<void> {
    const key = mirrors.keyOf(place)
    if (isStopped) return
    if (working.has(key)) return void working.set(key, true)
    working.set(key, false)
    try {
      await restoring.get(key)
      for (let hasMore = true; hasMore && !isStopped; ) {
        await Promise.all(runs.active(place).map(({ delivered }) => delivered))
        const next = await changeQueue(place, async () => {
          working.set(key, false)
          return await beginNext(place)
        })
        if (next?.answered) return startOnceAnswered(place, next.answered)
        // The last message of an album may come long before that.
        if (next?.gatheringMs) await pause(clock, Math.min(next.gatheringMs, mostPauseMs))
        if (next?.unprepared) await spoken.prepare(next.unprepared)
        await next?.run?.delivered
        hasMore = working.get(key) === true || (next !== undefined && !next.isLast)
      }
    } finally {
      working.delete(key)
    }
  }

  /** Starts the queue again when a request was answered, or when the queue has changed. */
  function startOnceAnswered(place: ChatPlace, answered: Promise<void>): void {
    const name = queueNameOf(place)
    afterAsks.add(name)
    void answered.then(() => {
      if (afterAsks.delete(name)) startQueue(place)
    })
  }

  /**
   * Begins the first prompt of a queue, unless the rest of its album is still awaited for `gatheringMs`, it is `unprepared`, or a
   * request must be `answered` first. Resolves with the run if one began, and whether that was the last prompt of the queue, and with
   * undefined for an empty queue or while the bridge stops.
   */
  async function beginNext(place: ChatPlace): Promise<
    | {
        gatheringMs: number
        unprepared?: QueuedPrompt
        answered?: Promise<void>
        run?: ActiveRun | undefined
        isLast?: boolean
      }
    | undefined
  > {
    const [head, ...others] = await state.queue(queueNameOf(place))
    if (!head || isStopped) return undefined
    const prompt = toQueuedPrompt(head.value)
    const gatheringMs = albumWaitMs(prompt, albumKnownForMs(prompt))
    if (gatheringMs === 0 && isUnprepared(prompt)) return { gatheringMs, unprepared: prompt }
    const asking = prompt.isAfterAsks ? runs.followed(place).filter(isAsking) : []
    if (asking.length > 0)
      return { gatheringMs, answered: Promise.race(asking.map(async (run) => await run.answered?.())) }
    if (gatheringMs > 0) return { gatheringMs }
    const run = await beginQueued(head)
    return { gatheringMs, run, isLast: run !== undefined && others.length === 0 }
  }

  /** Like `beginPrompt`, by `tryQueued`. Undefined if the prompt was put aside. */
  async function beginQueued(head: QueuedValue): Promise<ActiveRun | undefined> {
    let run: ActiveRun | undefined
    await tryQueued(toQueuedPrompt(head.value), async () => {
      run = await beginPrompt(head)
    })
    return run
  }

  /**
   * Handles a queued prompt. If an earlier process may have begun that, stores first that this one tries it, too. Puts the prompt
   * aside if that ended the process each time, and does not handle it then.
   */
  async function tryQueued(prompt: QueuedPrompt, handle: () => Promise<void>): Promise<void> {
    const queue = queueNameOf(prompt)
    const id = queueIDOf(prompt)
    const row = { key: queue, id }
    if (!earlier.has(rowName(row))) return await handle()
    const counted = tries.next(rowName(row), prompt)
    if (!counted) {
      const execution = { id: await registry.newID(prompt), prompt, server: '' }
      const removal: readonly Write[] = [{ type: 'dequeue', queue, id }]
      const rows = [{ ...row, value: JSON.stringify(prompt), tries: prompt.tries ?? 1 }]
      await tries.putAside(rowName(row), rows, { execution, text: texts.poisonMessage, removal })
      earlier.delete(rowName(row))
      return
    }
    const write: Write = { type: 'replace', queue, id, value: JSON.stringify(counted) }
    await tries.make(rowName(row), [write], async () => {
      // The try is stored, so it is not counted again if this fails.
      earlier.delete(rowName(row))
      await handle()
    })
  }

  /**
   * Removes the head of a queue and starts it. Undefined if it was refused because an author lacks `prompt`, or dropped and
   * reported because its channel no longer exists, or removed meanwhile.
   */
  async function beginPrompt({ id, value }: QueuedValue): Promise<ActiveRun | undefined> {
    const prompt = toQueuedPrompt(value)
    const removal: Write = { type: 'dequeue', queue: queueNameOf(prompt), id }
    // Since it was queued, the channel may have been removed from the config, and its author may have lost the right.
    if (!channels.has(prompt.channel)) {
      await state.commit([removal])
      onError(
        new BridgeError(
          'channel',
          `A queued prompt of ${prompt.chat.id} was dropped: ${texts.channelLeft(prompt.channel)}`,
        ),
      )
      return undefined
    }
    if (people.allMay(prompt, 'prompt')) return await storeAndStart(prompt, [removal])
    await refusePrompt(prompt, [removal], texts.rightGone)
    return undefined
  }

  /** Removes a prompt and posts why it does not run. Does nothing if the prompt was removed meanwhile. */
  async function refusePrompt(prompt: QueuedPrompt, removal: readonly Write[], text: string): Promise<void> {
    const pending = failed.pendingFor({ id: await registry.newID(prompt), prompt, server: '' }, text)
    // Conflicts if someone dropped it meanwhile.
    if (await state.commit([...removal, ...failed.write([pending])]))
      void failed.replyPending(pending, prompt.messageRef)
  }

  /**
   * Starts the prompt at once, as one that steers. Waits until one with files is posted, so that later messages don't overtake
   * it.
   */
  async function beginNow(prompt: QueuedPrompt, removal: readonly Write[]): Promise<void> {
    const run = await storeAndStart({ ...prompt, isSteer: true }, removal)
    // Its files are downloaded first, and later messages must not overtake it.
    if (prompt.files.length > 0) await run?.found
  }

  /**
   * Stores the execution in the same commit that removes its prompt from the queue, and starts it. Also posts a receipt if the
   * config has `receipts` and the prompt does not steer, and posts the prompt in mirrors. Undefined if it was refused because
   * its place has no server, or removed meanwhile.
   */
  async function storeAndStart(prompt: QueuedPrompt, removal: readonly Write[]): Promise<ActiveRun | undefined> {
    const [placeRoute, id] = await Promise.all([routes.findRoute(prompt), registry.newID(prompt)])
    const client = placeRoute.route && servers.get(placeRoute.route.server)
    if (!placeRoute.route || !client) {
      await refusePrompt(prompt, removal, texts.noRoute(`${prompt.channel}:${prompt.chat.id}`))
      return undefined
    }
    const route = await routes.routeOfPrompt(prompt, placeRoute.route)
    const execution: Execution = {
      id,
      // The run counts its own tries.
      prompt: { ...prompt, tries: undefined },
      server: route.server,
      sessionID: route.sessionID,
      agent: route.agent,
      phase: 'planned',
      status: 'running',
      startedAt: clock.now(),
      ...(prompt.isSteer && { isSteer: true }),
      ...(people.allMay(prompt, 'approve') && { isByApprovers: true }),
    }
    // If a crash of the machine undoes this, the prompt is still queued. Conflicts if someone dropped it meanwhile.
    const writes = [...removal, registry.writeExecution(execution)]
    if (!(await state.withRetries(() => state.commit(writes, { survives: 'process' })))) return undefined
    if (router.receipts && !prompt.isSteer)
      await channels.tryPost(prompt, { text: texts.started(execution.id), silent: true })
    const mirrorPosts = postToMirrors(services, prompt, route)
    return startRun({ execution, route, client, placeRoute }, mirrorPosts)
  }

  /**
   * Starts a stored execution, and adds it to the active runs. Without `mirrorPosts`, its mirrors don't wait for the prompt.
   */
  function startRun(planned: PlannedRun, mirrorPosts?: MirrorPosts): ActiveRun {
    const { execution, route } = planned
    const runObservers = endedRuns.createRunObservers()
    let newest = (): Execution => execution
    const run = beginRun(services, planned, {
      runObservers,
      sinks: sinksFor(services, execution, route, mirrorPosts, () => newest()),
      isShown: (reply) => unprompted.isShown(reply, execution.prompt),
      isStopping: () => isStopped,
      onReply: unprompted.decideAgain,
      onSession: (sessionID) => {
        unprompted.rememberRun({ ...execution, sessionID })
        serverBySession.set(sessionID, execution.server)
      },
    })
    newest = run.execution
    runs.addUntilEnded(run)
    void run.found.then(unprompted.decideAgain)
    void run.ended.then(unprompted.decideAgain).then(runObservers.releaseLater)
    void run.ended.then(() => isStopped || triedRuns.delete(execution))
    return run
  }

  /**
   * Resumes unfinished runs, ends those whose server or channel is gone, and starts the queues. Puts runs aside that ended the
   * process each time. Does not wait until runs are found: that may take long if a server does not respond, and chats without
   * such runs go on meanwhile. `whenRestored` waits for it.
   */
  async function restoreRuns(): Promise<void> {
    const waiting = await moveToCurrentKeys(state, registry, enqueue)
    for (const prompt of waiting) earlier.add(rowName({ key: queueNameOf(prompt), id: queueIDOf(prompt) }))
    // The stops are read before `countTries`, because those that it stores are made by this process already. Reads that wait at the
    // same time are sent together.
    const [left, stored] = await Promise.all([agentStops.stored(), registry.all()])
    const listed = await countTries(stored)
    for (const stop of left) addRestoring(stop, agentStops.makeAgain(stop, listed))
    const newestRuns = await registry.newestOfSessions()
    for (const { execution, ageMs } of newestRuns) agesMs.set(keyOf(execution), ageMs)
    const all = withNewestLast(listed, newestRuns)
    for (const { sessionID, server } of all) if (sessionID !== undefined) serverBySession.set(sessionID, server)
    const unfinished = all.filter((one) => !isOver(one))
    const held = unfinished.filter((one) => tries.isHeld(keyOf(one)))
    const prompted = unfinished.filter(({ startedBy }) => startedBy === undefined)
    const beginning = prompted
      .filter((one) => !held.includes(one))
      .map(async (execution) => {
        const { begun, found, ended } = restoreRun(execution)
        tries.watch(keyOf(execution), ended)
        addRestoring(execution, waitAtMost(found, restoreMs, clock))
        await begun
      })
    for (const execution of prompted) if (held.includes(execution)) addRestoring(execution, restoreInTurn(execution))
    // Otherwise the watch could show the end of a run before that is known to be the run of a prompt.
    await Promise.all(beginning)
    // The sessions of unprompted runs that are held are watched from their turns on.
    const heldUnprompted = held.filter(({ startedBy }) => startedBy !== undefined)
    const later = new Set(heldUnprompted.map(({ sessionID }) => sessionID))
    const restored = unprompted.restoreRuns(all.filter(({ sessionID }) => !later.has(sessionID))).catch(onError)
    for (const execution of unfinished.filter(({ startedBy }) => startedBy !== undefined)) {
      if (held.includes(execution)) continue
      tries.watch(keyOf(execution), restored)
      addRestoring(execution, waitAtMost(restored, restoreMs, clock))
    }
    for (const execution of heldUnprompted) {
      const ofSession = all.filter(({ sessionID }) => sessionID === execution.sessionID)
      const writes = [registry.writeExecution(execution)]
      const shown = tries.make(keyOf(execution), writes, () => unprompted.restoreSessions(ofSession))
      addRestoring(execution, waitAtMost(shown.catch(onError), restoreMs, clock))
    }
    for (const place of waiting) startQueue(place)
  }

  /**
   * Returns executions of all places with the newest run of each session last. It is over if it is not listed any more: only
   * runs that are over expire.
   */
  function withNewestLast(listed: readonly Execution[], newestRuns: readonly NewestRun[]): readonly Execution[] {
    const byKey = new Map(listed.map((one) => [keyOf(one), one]))
    const newest = newestRuns.map(({ execution }): Execution => {
      return byKey.get(keyOf(execution)) ?? { ...execution, phase: 'done' }
    })
    return [...listed.filter((one) => !newest.includes(one)), ...newest]
  }

  /** Also remembers the server of the session, to which answers are sent. */
  async function follow(...[server, reply, target]: Parameters<Runner['follow']>): ReturnType<Runner['follow']> {
    serverBySession.set(reply.sessionID, server)
    return await unprompted.follow(server, reply, target)
  }

  /** Looks at the runs of the session that are over: of one that is shown now, the observers know. */
  async function showMissed(server: string, sessionID: string): Promise<void> {
    const isOfSession = (one: Execution): boolean => one.server === server && one.sessionID === sessionID
    const over = (await registry.all()).filter((one) => isOver(one) && isOfSession(one))
    const newest = (await registry.newestOfSessions()).filter(({ execution }) => isOfSession(execution))
    await unprompted.restoreSessions(withNewestLast(over, newest))
  }

  /** Follows the run like one whose answer is being delivered. It stays stored as delivered, also if this process ends. */
  async function showAgain(sessionID: string, promptID: string): Promise<void> {
    const ofSession = (await registry.all()).filter((one) => one.posted?.sessionID === sessionID && !one.isSteer)
    const named = ofSession.find(({ posted }) => posted?.messageID === promptID)
    const last = ofSession.at(-1)
    const run = named ?? (last?.posted?.messageID === undefined ? last : undefined)
    if (run?.phase === 'done') await restoreRun({ ...run, phase: 'delivering' }).begun
  }

  /** Looks for the message in the ledgers of its chat. One report after the other, because one run may have several messages. */
  async function showUndelivered(...[place, message]: Parameters<Runner['showUndelivered']>): Promise<void> {
    const before = lastUndelivered
    const isShownAgain = before.then(() => showRunOf(place, message))
    lastUndelivered = isShownAgain.catch(() => {})
    await isShownAgain
  }

  /** Shows the run again whose ledger has the message, unless it is shown. */
  async function showRunOf({ channel, chat }: ChatPlace, { id }: MessageRef): Promise<void> {
    const prefix = `ledger/${channel}/`
    const rows = await state.list(`${prefix}${encodeURIComponent(chat.id)}/`)
    const row = rows.find(({ value }) => messageRefsOf(value).some((ref) => ref.id === id))
    const found = row && ledgerKeyOf(row.key.slice(prefix.length))
    if (!found) return
    const { sessionID, promptID } = found
    const isShown = runs.all().some((run) => {
      const { posted, ...execution } = run.execution()
      return posted?.messageID === undefined ? execution.sessionID === sessionID : posted.messageID === promptID
    })
    if (!isShown) await showAgain(sessionID, promptID)
  }

  /** Makes `whenRestored` of the place of an execution wait for a promise, too. */
  function addRestoring({ prompt }: Execution, restored: Promise<unknown>): void {
    const key = mirrors.keyOf(prompt)
    restoring.set(
      key,
      Promise.allSettled([restoring.get(key), restored]).then(() => {}),
    )
  }

  /** Returns the key of an execution in the store. */
  function keyOf(execution: Execution): string {
    return registry.writeExecution(execution).key
  }

  /**
   * Returns the executions with one more try for each that is unfinished, and stores that in one commit, except for those that
   * are held: their turn comes later. Those that must not be tried again are put aside, and are over then. Stops their agents at
   * once: no process would answer what they ask.
   */
  async function countTries(executions: readonly Execution[]): Promise<readonly Execution[]> {
    const stops: { readonly stop: Execution; readonly told: Promise<void> }[] = []
    const counted = await Promise.all(
      executions.map(async (execution) => {
        if (isOver(execution)) return execution
        const next = tries.next(keyOf(execution), execution)
        if (next) return next
        const { over, stop, told } = await putAside(execution)
        addRestoring(execution, waitAtMost(told, toldMs, clock))
        if (stop) stops.push({ stop, told })
        return over
      }),
    )
    // Only now it is known which of the others go on. The next prompt of a chat must not be stopped with them.
    for (const { stop, told } of stops) addRestoring(stop, agentStops.make(stop, counted, told))
    const begun = counted.filter((execution) => !isOver(execution) && !tries.isHeld(keyOf(execution)))
    await tries.begin(begun.map(registry.writeExecution))
    for (const execution of begun) triedRuns.add(execution)
    return counted
  }

  /**
   * Puts an execution aside that ended the process each time it was handled, and tells its chat what is known about it. Resolves
   * with the execution, which is over, and what is left to do for it, if anything.
   */
  async function putAside(
    execution: Execution,
  ): Promise<{ readonly over: Execution; readonly stop: Execution | undefined; readonly told: Promise<void> }> {
    const { notices } = services
    const { phase, startedBy, finishedAt = clock.now() } = execution
    // A planned prompt was surely not posted. Any other may have run.
    const isAnswered = phase === 'delivering' && execution.finishedAt !== undefined
    const text = phase === 'planned' ? texts.poisonMessage : isAnswered ? texts.poisonAnswer : texts.poisonRun
    const reason = texts.poisonReason
    const over: Execution = { ...execution, phase: 'undelivered', status: 'error', reason, finishedAt }
    const done: Execution = { ...over, phase: 'done' }
    const told = withResolvers<void>()
    const row = { key: keyOf(execution), value: JSON.stringify(execution), tries: execution.tries ?? 1 }
    const notified = await notices.writesAtEnd(execution, over, undefined)
    const stop = await agentStops.planFor(execution, phase !== 'planned' && !isAnswered)
    await tries.putAside(row.key, [row], {
      execution,
      text,
      removal: [registry.writeExecution(over), ...(stop ? [agentStops.write(stop)] : []), ...notified],
      done: [registry.writeExecution(done), ...(await registry.writesAtEnd(done))],
      onTold: told.resolve,
    })
    void notices.endAsks(execution)
    if (notified.length > 0) void notices.send()
    if (startedBy !== undefined) unprompted.ignoreRun(execution)
    return { over, stop, told: told.promise }
  }

  /** Restores a held run once it is its turn. Resolves when it is found or ended, at most `restoreMs` after its turn. */
  async function restoreInTurn(execution: Execution): Promise<void> {
    const restored = withResolvers<void>()
    const made = tries.make(keyOf(execution), [registry.writeExecution(execution)], async () => {
      const { found, ended } = restoreRun(execution)
      void waitAtMost(found, restoreMs, clock).then(restored.resolve)
      await ended
    })
    void made.catch(onError).then(restored.resolve)
    await restored.promise
  }

  /**
   * Follows a run of an earlier process again, or ends it if its server or channel is gone. `begun` resolves when the run is an
   * active one, `found` when its asks can be answered, `ended` when it has ended and its chat shows that. Errors go to `onError`.
   */
  function restoreRun(execution: Execution): {
    readonly begun: Promise<unknown>
    readonly found: Promise<unknown>
    readonly ended: Promise<void>
  } {
    const { prompt, server, sessionID, phase } = execution
    // A planned one is posted by this process. Of any other, the age is known while it is the newest of its session.
    const ageMs = phase === 'planned' ? 0 : (agesMs.get(keyOf(execution)) ?? Number.POSITIVE_INFINITY)
    const client = servers.get(server)
    if (!client || !channels.has(prompt.channel)) {
      const reason = client ? texts.channelLeft(prompt.channel) : texts.serverLeft(server)
      ending.add(execution)
      const ended = endUnfollowed(services, execution, reason, () => isStopped)
        .then((isEnded) => void (isEnded && ending.delete(execution)))
        .catch(onError)
      // Not waited for: the platform may be unreachable.
      return { begun: Promise.resolve(), found: Promise.resolve(), ended }
    }
    const begun = state
      .withRetries(() => routes.findRoute(prompt))
      .then((placeRoute) => {
        const route = { ...placeRoute.route, server, ...(sessionID !== undefined && { sessionID }) }
        return startRun({ execution, route, client, placeRoute, ageMs })
      })
    const found = begun.then(async (run) => await Promise.race([run.found, run.ended])).catch(onError)
    return {
      begun: begun.catch(() => {}),
      found,
      ended: begun.then(async (run) => await run.ended).catch(onError),
    }
  }

  /** Returns the writes that undo the tries of the runs that were followed, being ended, or about to be followed or shown. */
  function undoTries(): readonly (readonly Write[])[] {
    const followed = leftRuns.map((run) => run.execution()).filter((execution) => !isOver(execution))
    // Only replaced if unchanged: it may have been posted meanwhile, which the next owner must know, or have ended.
    return [...new Set([...followed, ...triedRuns, ...ending, ...unprompted.unshown()])].map((execution) => {
      const { value: expected } = registry.writeExecution(execution)
      const { key, value, expiresInMs } = registry.writeExecution(withoutLastTry(execution))
      return [{ type: 'compare-and-set', key, expected, value, expiresInMs }]
    })
  }

  /** Stops all sinks and waits for that, and starts no more prompts. Runs continue on the servers. */
  async function stop(): Promise<void> {
    isStopped = true
    leftRuns = runs.all()
    unprompted.stop()
    spoken.stop()
    await Promise.all(runs.all().flatMap(({ sinks }) => sinks.map(async ({ sink }) => await sink.stop())))
  }
}

/**
 * Moves executions with their logs, and queued prompts, to the keys that this config's mirrors give them, because an earlier
 * config may have had other mirrors. Resolves with the place of each queued prompt, whose queues the caller then starts.
 */
export async function moveToCurrentKeys(
  state: State,
  registry: Pick<Registry, 'writeExecution' | 'writeLog'>,
  enqueue: Runner['enqueue'],
): Promise<readonly QueuedPrompt[]> {
  const [executions, queues] = await Promise.all([state.list('execution/'), state.queues('prompts/')])
  for (const { key, value, expiresInMs } of executions) {
    const execution = toExecution(value)
    const write = { ...registry.writeExecution(execution), expiresInMs }
    if (write.key === key) continue
    const logKey = key.replace(/^execution/, 'log')
    const log = await readWithExpiry(state, logKey)
    const moved = log ? [{ ...registry.writeLog(execution, toLog(log.value)), expiresInMs: log.expiresInMs }] : []
    await state.commit([{ type: 'remove', key }, { type: 'remove', key: logKey }, write, ...moved])
  }
  const waiting: QueuedPrompt[] = []
  // Reads that wait at the same time are sent together.
  const entries = await Promise.all(
    queues.map(async (queue) => (await state.queue(queue)).map((entry) => ({ ...entry, queue }))),
  )
  for (const { queue, id, value } of entries.flat()) {
    const prompt = toQueuedPrompt(value)
    const requeue = enqueue(prompt)
    const removal: Write = { type: 'dequeue', queue, id }
    if (requeue.queue !== queue) await state.commit([removal, requeue])
    waiting.push(prompt)
  }
  return waiting
}
