import { pause } from '@reply/core/internal'
import { createRecent } from '@reply/sink/internal'
import { BridgeError, toError } from '../error.ts'
import { type ChatPlace, placeKey } from '../place.ts'
import { toExecution, toLog, toQueuedPrompt } from '../state/decode.ts'
import { type Execution, isOver } from '../state/execution.ts'
import { albumWaitMs, isSurelyOlder, type QueuedPrompt } from '../state/queued-prompt.ts'
import type { Registry } from '../state/registry.ts'
import type { State } from '../state/state.ts'
import type { EnqueueWrite } from '../store/apply-writes.ts'
import type { QueuedValue, Write } from '../store/store.ts'
import { texts } from '../texts.ts'
import { waitAtMost } from '../timers.ts'
import type { ActiveRun } from './active-runs.ts'
import { createEndedRuns } from './ended-runs.ts'
import { endUnfollowed } from './lost-runs.ts'
import { beginRun, type PlannedRun } from './run.ts'
import type { BridgeServices } from './services.ts'
import { type MirrorPosts, postToMirrors, sinksFor } from './show-run.ts'
import { createUnpromptedRuns } from './unprompted-runs.ts'

/** Runs the prompts of each place one after the other, and resumes the runs of an earlier process. */
export interface Runner {
  /** Returns the write that appends a prompt to the queue of its place. */
  enqueue(prompt: QueuedPrompt): EnqueueWrite
  /** Returns the id of a prompt in the queue of its place. */
  queueIDOf(prompt: QueuedPrompt): string
  /** Starts to work on the queue of a place in the background. Does nothing while that is in progress. */
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
  /** Whether a run of the prompt's session was in progress when the prompt was sent and still is, and no other prompt waits. */
  canSteer(prompt: QueuedPrompt): Promise<boolean>
  /** Returns the queued prompts of a place, oldest first. */
  queuedPrompts(place: ChatPlace): Promise<readonly QueuedPrompt[]>
  /** Returns the name of the queue of a place. */
  queueNameOf(place: ChatPlace): string
  /** Returns the server of a session that had a run here. Undefined if none is known. */
  serverOfSession(sessionID: string): string | undefined
  /** Resumes the runs of an earlier process. Resolves when their asks can be answered again, at the latest after 10 s. */
  restoreRuns(): Promise<void>
  /** Resolves when `restoreRuns` is done for that place: at once if it had nothing to resume there. */
  whenRestored(place: ChatPlace): Promise<void>
  /** Stops following runs, which continue on the servers. Resolves when their sinks have stopped. */
  stop(): Promise<void>
}

/** How many sessions' servers are remembered. */
const mostRemembered = 10_000
/** For how many ended runs later changes of the reply are still shown: about 35 kB each. */
const mostEnded = 100
/** How long to wait after an error before a queue is processed again, in ms. */
const retryMs = 1000
/** How long a restart waits for the servers before it receives messages, in ms. */
const restoreMs = 10_000

/** Creates the runner. It starts no prompt before `startQueue`, `beginNow` or `restoreRuns`. */
export function createRunner(services: BridgeServices): Runner {
  const { state, registry, routes, mirrors, channels, people, servers, runs, clock, failed, onError } = services
  const { router } = services.config
  const endedRuns = createEndedRuns(mostEnded)
  const unprompted = createUnpromptedRuns(services, endedRuns)
  /** Keys of places whose queue is being processed. */
  const working = new Set<string>()
  /** By the key of a place: resolves when its runs are restored. */
  const restoring = new Map<string, Promise<void>>()
  const serverBySession = createRecent<string>(mostRemembered)
  let isStopped = false
  return {
    enqueue,
    queueIDOf,
    startQueue,
    refusePrompt,
    beginNow,
    canSteer,
    queuedPrompts: async (place) => (await state.queue(queueNameOf(place))).map(({ value }) => toQueuedPrompt(value)),
    queueNameOf,
    serverOfSession: (sessionID) => serverBySession.get(sessionID),
    restoreRuns,
    whenRestored: async (place) => await restoring.get(mirrors.keyOf(place)),
    stop,
  }

  /** Returns the write that appends the prompt to the queue of its place. */
  function enqueue(prompt: QueuedPrompt): EnqueueWrite {
    return { type: 'enqueue', queue: queueNameOf(prompt), id: queueIDOf(prompt), value: JSON.stringify(prompt) }
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

  /** Processes the queue in the background. After an error, reports it and retries, unless the bridge has stopped. */
  function startQueue(place: ChatPlace): void {
    processQueue(place).catch((error) => {
      if (isStopped) return
      onError(toError(error))
      clock.after(retryMs, () => startQueue(place))
    })
  }

  /**
   * Whether a prompt can steer a run of its session now. False if it was surely sent before the run started, and if other
   * prompts are queued, because it would overtake them.
   */
  async function canSteer(prompt: QueuedPrompt): Promise<boolean> {
    const { sessionID } = (await routes.routeOfPrompt(prompt)) ?? {}
    const isRunning = runs.active(prompt).some(({ stream, execution }) => {
      const reply = stream()?.reply
      const isOpen = reply !== undefined && reply.phase !== 'settled' && reply.sessionID === sessionID
      return isOpen && !isSurelyOlder(prompt, clock.now() - execution().startedAt, clock.wall())
    })
    return isRunning && (await state.queue(queueNameOf(prompt))).every(({ id }) => id === queueIDOf(prompt))
  }

  /**
   * Runs the queued prompts of a place, one after the other, once its runs are restored and its active runs are delivered.
   * Waits for the rest of an album. Does nothing while that is going on, and ends early when the bridge stops. At the end it
   * checks the queue again, so that a prompt that came late is not left behind.
   */
  async function processQueue(place: ChatPlace): Promise<void> {
    const key = mirrors.keyOf(place)
    if (working.has(key) || isStopped) return
    working.add(key)
    try {
      await restoring.get(key)
      while (!isStopped) {
        await Promise.all(runs.active(place).map(({ delivered }) => delivered))
        const [head] = await state.queue(queueNameOf(place))
        if (!head || isStopped) break
        const gatheringMs = albumWaitMs(toQueuedPrompt(head.value), clock.now())
        if (gatheringMs > 0) {
          await pause(clock, gatheringMs)
          continue
        }
        const run = await beginQueued(head)
        await run?.delivered
      }
    } finally {
      working.delete(key)
    }
    const [late] = isStopped ? [] : await state.queue(queueNameOf(place))
    if (late) await processQueue(place)
  }

  /**
   * Removes the head of a queue and starts it. Undefined if it was refused because an author lacks `prompt`, or dropped and
   * reported because its channel no longer exists, or removed meanwhile.
   */
  async function beginQueued({ id, value }: QueuedValue): Promise<ActiveRun | undefined> {
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
    const route = await routes.routeOfPrompt(prompt)
    const client = route && servers.get(route.server)
    if (!route || !client) {
      await refusePrompt(prompt, removal, texts.noRoute(`${prompt.channel}:${prompt.chat.id}`))
      return undefined
    }
    const execution: Execution = {
      id: await registry.newID(prompt),
      prompt,
      server: route.server,
      sessionID: route.sessionID,
      agent: route.agent,
      phase: 'planned',
      status: 'running',
      startedAt: clock.now(),
      ...(prompt.isSteer && { isSteer: true }),
      ...(people.allMay(prompt, 'approve') && { isByApprovers: true }),
    }
    const { sessionID: chosen, title } = (await routes.routeOf(prompt)) ?? {}
    // If a crash of the machine undoes this, the prompt is still queued. Conflicts if someone dropped it meanwhile.
    const writes = [...removal, registry.writeExecution(execution)]
    if (!(await state.withRetries(() => state.commit(writes, { survives: 'process' })))) return undefined
    if (router.receipts && !prompt.isSteer)
      await channels.tryPost(prompt, { text: texts.started(execution.id), silent: true })
    const mirrorPosts = postToMirrors(services, prompt, route)
    return startRun({ execution, route, client, placeSessionID: chosen, placeTitle: title }, mirrorPosts)
  }

  /**
   * Starts a stored execution, and adds it to the active runs. Without `mirrorPosts`, its mirrors don't wait for the prompt.
   */
  function startRun(planned: PlannedRun, mirrorPosts?: MirrorPosts): ActiveRun {
    const { execution, route } = planned
    const runObservers = endedRuns.createRunObservers()
    const run = beginRun(services, planned, {
      runObservers,
      sinks: sinksFor(services, execution, route, mirrorPosts),
      isShown: (reply) => unprompted.isShown(reply, execution.prompt),
      isStopping: () => isStopped,
      onReply: unprompted.decideAgain,
      onSession: (sessionID) => {
        unprompted.rememberRun({ ...execution, sessionID })
        serverBySession.set(sessionID, execution.server)
      },
    })
    runs.addUntilEnded(run)
    void run.ended.then(unprompted.decideAgain).then(runObservers.releaseLater)
    return run
  }

  /**
   * Resumes unfinished runs, ends those whose server or channel is gone, and starts the queues. Waits until each place's runs
   * are found or ended, at most `restoreMs`.
   */
  async function restoreRuns(): Promise<void> {
    const waiting = await moveToCurrentKeys(state, registry, enqueue)
    const all = await registry.all()
    for (const { sessionID, server } of all) if (sessionID !== undefined) serverBySession.set(sessionID, server)
    const unfinished = all.filter((one) => !isOver(one) && one.startedBy === undefined)
    const begun = unfinished.map(async (execution) => {
      const { prompt, server, sessionID } = execution
      const client = servers.get(server)
      if (!client || !channels.has(prompt.channel)) {
        const reason = client ? texts.channelLeft(prompt.channel) : texts.serverLeft(server)
        // Not awaited: the platform may be unreachable.
        const over = { ...execution, status: 'error', reason, finishedAt: clock.now() } as const
        return void endUnfollowed(services, over, () => isStopped).catch(onError)
      }
      const route = (await routes.routeOf(prompt)) ?? { server }
      const again = { ...route, server, ...(sessionID !== undefined && { sessionID }) }
      const run = startRun({
        execution,
        route: again,
        client,
        placeSessionID: route.sessionID,
        placeTitle: route.title,
      })
      await Promise.race([run.found, run.ended])
    })
    for (const [index, execution] of unfinished.entries()) {
      const key = mirrors.keyOf(execution.prompt)
      const both = [restoring.get(key), begun[index]]
      restoring.set(key, waitAtMost(Promise.allSettled(both), restoreMs, clock))
    }
    const unpromptedRestored = unprompted.restoreRuns(all).catch(onError)
    for (const one of all) {
      const key = mirrors.keyOf(one.prompt)
      const isWaited = one.startedBy !== undefined && !isOver(one)
      if (isWaited)
        restoring.set(key, waitAtMost(Promise.allSettled([restoring.get(key), unpromptedRestored]), restoreMs, clock))
    }
    for (const place of waiting) startQueue(place)
    await Promise.all(restoring.values())
  }

  /** Stops all sinks and waits for that, and starts no more prompts. Runs continue on the servers. */
  async function stop(): Promise<void> {
    isStopped = true
    unprompted.stop()
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
): Promise<readonly ChatPlace[]> {
  for (const { key, value } of await state.list('execution/')) {
    const execution = toExecution(value)
    const write = registry.writeExecution(execution)
    if (write.key === key) continue
    const logKey = key.replace(/^execution/, 'log')
    const log = await state.read(logKey)
    const moved = log === undefined ? [] : [registry.writeLog(execution, toLog(log))]
    await state.commit([{ type: 'remove', key }, { type: 'remove', key: logKey }, write, ...moved])
  }
  const waiting: ChatPlace[] = []
  for (const queue of await state.queues('prompts/')) {
    for (const { id, value } of await state.queue(queue)) {
      const prompt = toQueuedPrompt(value)
      const requeue = enqueue(prompt)
      const removal: Write = { type: 'dequeue', queue, id }
      if (requeue.queue !== queue) await state.commit([removal, requeue])
      waiting.push(prompt)
    }
  }
  return waiting
}
