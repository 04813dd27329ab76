import { createRecent, pause } from '@reply/sink/internal'
import { BridgeError } from '../error.ts'
import { type ChatPlace, placeKey } from '../place.ts'
import { toExecution, toLog, toQueuedPrompt } from '../state/decode.ts'
import { type Execution, isOver } from '../state/execution.ts'
import { isOlder, leftToGather, type QueuedPrompt } from '../state/queued-prompt.ts'
import type { Registry } from '../state/registry.ts'
import type { State } from '../state/state.ts'
import type { EnqueueWrite } from '../store/apply-writes.ts'
import type { QueuedValue, Write } from '../store/store.ts'
import { texts } from '../texts.ts'
import { atMost } from '../timers.ts'
import { type ActiveRun, type ActiveRuns, createActiveRuns } from './active-runs.ts'
import type { BridgeContext } from './context.ts'
import { createEndedRuns } from './ended-runs.ts'
import { endUnfollowed } from './lost-runs.ts'
import { beginRun, type PlannedRun } from './run.ts'
import { type MirrorPosts, postToMirrors, sinksFor } from './show-run.ts'
import { createUnpromptedRuns } from './unprompted-runs.ts'

/** Runs the prompts of each place one after the other, and finds the runs of an earlier process again. */
export interface Runner {
  /** The writes that put a prompt at the end of its place's queue. */
  enqueue(prompt: QueuedPrompt): EnqueueWrite
  /** The id of a prompt in its place's queue. */
  idOf(prompt: QueuedPrompt): string
  /** Looks at the queue of a place. */
  kick(place: ChatPlace): void
  /**
   * Takes what a person wrote from where it waits, by those writes, without running it. The person is told, by the next
   * process if need be.
   */
  refuse(prompt: QueuedPrompt, taken: readonly Write[], text: string): Promise<void>
  /** Begins a prompt at once, beside what runs. `taken` are the writes that take it from where it was. */
  beginNow(prompt: QueuedPrompt, taken: readonly Write[]): Promise<void>
  /** Whether a run of the place's own session was on its way when the prompt was sent and still is, and none waits. */
  canSteer(prompt: QueuedPrompt): Promise<boolean>
  /** Whether a run of a session is active, whichever chat shows it. */
  isAtWork: ActiveRuns['isAtWork']
  /** What runs in a place. */
  active: ActiveRuns['active']
  /** Also what ran and is yet to be shown by a mirror of the place. */
  followed: ActiveRuns['followed']
  /** The prompts that wait in a place, oldest first. */
  waiting(place: ChatPlace): Promise<readonly QueuedPrompt[]>
  /** The name of a place's queue. */
  queueOf(place: ChatPlace): string
  /** The server of a session that runs or ran here. */
  serverOf(sessionID: string): string | undefined
  /** Finds what an earlier process left. Resolves when its asks can be answered again, or after a limited time. */
  restore(): Promise<void>
  /** Resolves when `restore` is over for that place. */
  restored(place: ChatPlace): Promise<void>
  /** Follows nothing any more. What runs on the servers goes on. */
  stop(): Promise<void>
}

/** How many sessions' servers are remembered. */
const mostSessions = 10_000
/** How many ended runs still show what changes in their replies: about 35 kB each. */
const mostEnded = 100
/** When a queue is looked at again after an error, in ms. */
const againMs = 1000
/** How long a restart waits for the servers before it hears the chats, in ms. */
const restoreMs = 10_000

export function createRunner(context: BridgeContext): Runner {
  const { state, registry, routes, mirrors, channels, people, servers, clock, failed, onError } = context
  const { router } = context.config
  const running = createActiveRuns(mirrors)
  const endedRuns = createEndedRuns(mostEnded)
  const wakes = createUnpromptedRuns({ context, endedRuns, isFollowed: running.isFollowed, add: running.add })
  /** Places whose queue is being worked on. */
  const working = new Set<string>()
  const restoring = new Map<string, Promise<void>>()
  const serverBySession = createRecent<string>(mostSessions)
  let isStopped = false
  return {
    enqueue,
    idOf,
    kick,
    refuse,
    beginNow,
    canSteer,
    isAtWork: running.isAtWork,
    active: running.active,
    followed: running.followed,
    waiting: async (place) => (await state.queue(queueOf(place))).map(({ value }) => toQueuedPrompt(value)),
    queueOf,
    serverOf: (sessionID) => serverBySession.get(sessionID),
    restore,
    restored: async (place) => await restoring.get(mirrors.keyOf(place)),
    stop,
  }

  function enqueue(prompt: QueuedPrompt): EnqueueWrite {
    return { type: 'enqueue', queue: queueOf(prompt), id: idOf(prompt), value: JSON.stringify(prompt) }
  }

  /** Platforms count the messages of each chat, so the ids of mirrored and moved ones may be the same. */
  function idOf(prompt: QueuedPrompt): string {
    return !mirrors.isShared(prompt) ? prompt.id : `${placeKey(prompt)}/${prompt.id}`
  }

  function queueOf(place: ChatPlace): string {
    return `prompts/${mirrors.keyOf(place)}`
  }

  /** A store that was busy is asked again. */
  function kick(place: ChatPlace): void {
    work(place).catch((error) => {
      if (isStopped) return
      onError(error instanceof Error ? error : new Error(String(error)))
      clock.after(againMs, () => kick(place))
    })
  }

  async function canSteer(prompt: QueuedPrompt): Promise<boolean> {
    const { sessionID } = (await routes.meantBy(prompt)) ?? {}
    const isRunning = running.active(prompt).some(({ stream, execution }) => {
      const reply = stream()?.reply
      const isOpen = reply !== undefined && reply.phase !== 'settled' && reply.sessionID === sessionID
      return isOpen && !isOlder(prompt, { now: clock.wall(), ageMs: clock.now() - execution().startedAt })
    })
    return isRunning && (await state.queue(queueOf(prompt))).every(({ id }) => id === idOf(prompt))
  }

  /** One prompt after the other. After each end the queue is looked at again, so that none is stranded. */
  async function work(place: ChatPlace): Promise<void> {
    const key = mirrors.keyOf(place)
    if (working.has(key) || isStopped) return
    working.add(key)
    try {
      await restoring.get(key)
      while (!isStopped) {
        await Promise.all(running.active(place).map(({ delivered }) => delivered))
        const [head] = await state.queue(queueOf(place))
        if (!head || isStopped) break
        const gatheringMs = leftToGather(toQueuedPrompt(head.value), clock.now())
        if (gatheringMs > 0) {
          await pause(clock, gatheringMs)
          continue
        }
        const run = await plan(head)
        await run?.delivered
      }
    } finally {
      working.delete(key)
    }
    const [late] = isStopped ? [] : await state.queue(queueOf(place))
    if (late) await work(place)
  }

  async function plan({ id, value }: QueuedValue): Promise<ActiveRun | undefined> {
    const prompt = toQueuedPrompt(value)
    const taken: Write = { type: 'dequeue', queue: queueOf(prompt), id }
    // The channel may have left the config, and its people may have lost the right since they wrote.
    if (!channels.has(prompt.channel)) {
      await state.commit([taken])
      onError(
        new BridgeError(
          'channel',
          `A queued prompt of ${prompt.chat.id} was dropped: ${texts.channelLeft(prompt.channel)}`,
        ),
      )
      return undefined
    }
    if (people.mayAll(prompt, 'prompt')) return await begin(prompt, [taken])
    await refuse(prompt, [taken], texts.rightGone)
    return undefined
  }

  async function refuse(prompt: QueuedPrompt, taken: readonly Write[], text: string): Promise<void> {
    const owed = failed.owed({ id: await registry.newID(prompt), prompt, server: '' }, text)
    // Conflicts if a person dropped it meanwhile.
    if (await state.commit([...taken, ...failed.keep([owed])])) void failed.tell(owed, prompt.messageRef)
  }

  async function beginNow(prompt: QueuedPrompt, taken: readonly Write[]): Promise<void> {
    const run = await begin({ ...prompt, isSteer: true }, taken)
    // Its files are read first, and what comes after must not overtake it.
    if (prompt.files.length > 0) await run?.found
  }

  /** Writes the execution down in the same step that takes its prompt from the queue, and begins it. */
  async function begin(prompt: QueuedPrompt, taken: readonly Write[]): Promise<ActiveRun | undefined> {
    const route = await routes.meantBy(prompt)
    const opencode = route && servers.get(route.server)
    if (!route || !opencode) {
      await refuse(prompt, taken, texts.noRoute(`${prompt.channel}:${prompt.chat.id}`))
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
      ...(people.mayAll(prompt, 'approve') && { isByApprovers: true }),
    }
    const { sessionID: chosen, title } = (await routes.of(prompt)) ?? {}
    // If the machine forgets it, the prompt is still where it was taken from. Conflicts if a person dropped it meanwhile.
    const writes = [...taken, registry.write(execution)]
    if (!(await state.persist(() => state.commit(writes, { survives: 'process' })))) return undefined
    if (router.receipts && !prompt.isSteer)
      await channels.notify(prompt, { text: texts.started(execution.id), silent: true })
    const told = postToMirrors(context, prompt, route)
    return start({ execution, route, opencode, chosen, title }, told)
  }

  function start(planned: PlannedRun, told?: MirrorPosts): ActiveRun {
    const { execution, route } = planned
    const held = endedRuns.begin()
    const run = beginRun({
      ...planned,
      context,
      held,
      shows: sinksFor(context, execution, route, told),
      isShown: (reply) => wakes.isShown(reply, execution.prompt),
      isStopping: () => isStopped,
      onReply: wakes.lookAgain,
      onSession: (sessionID) => {
        wakes.ran({ ...execution, sessionID })
        serverBySession.set(sessionID, execution.server)
      },
    })
    running.add(run)
    void run.ended.then(wakes.lookAgain).then(held.end)
    return run
  }

  async function restore(): Promise<void> {
    const waiting = await moveToMirrors({ state, registry, enqueue })
    const all = await registry.all()
    for (const { sessionID, server } of all) if (sessionID !== undefined) serverBySession.set(sessionID, server)
    const unfinished = all.filter((one) => !isOver(one) && one.startedBy === undefined)
    const begun = unfinished.map(async (execution) => {
      const { prompt, server, sessionID } = execution
      const opencode = servers.get(server)
      if (!opencode || !channels.has(prompt.channel)) {
        const reason = opencode ? texts.channelLeft(prompt.channel) : texts.serverLeft(server)
        // Not awaited: a platform may be away.
        const over = { ...execution, status: 'error', reason, finishedAt: clock.now() } as const
        return void endUnfollowed(context, over, () => isStopped).catch(onError)
      }
      const route = (await routes.of(prompt)) ?? { server }
      const again = { ...route, server, ...(sessionID !== undefined && { sessionID }) }
      const run = start({ execution, route: again, opencode, chosen: route.sessionID, title: route.title })
      await Promise.race([run.found, run.ended])
    })
    for (const [index, execution] of unfinished.entries()) {
      const key = mirrors.keyOf(execution.prompt)
      const both = [restoring.get(key), begun[index]]
      restoring.set(key, atMost(Promise.allSettled(both), restoreMs, clock))
    }
    const woken = wakes.restore(all).catch(onError)
    for (const one of all) {
      const key = mirrors.keyOf(one.prompt)
      const isWaited = one.startedBy !== undefined && !isOver(one)
      if (isWaited) restoring.set(key, atMost(Promise.allSettled([restoring.get(key), woken]), restoreMs, clock))
    }
    for (const place of waiting) kick(place)
    await Promise.all(restoring.values())
  }

  async function stop(): Promise<void> {
    isStopped = true
    wakes.stop()
    await Promise.all(running.all().flatMap(({ shows }) => shows.map(async ({ sink }) => await sink.stop())))
  }
}

interface MoveOptions {
  readonly state: State
  readonly registry: Pick<Registry, 'write' | 'writeLog'>
  readonly enqueue: Runner['enqueue']
}

/**
 * Moves executions and waiting prompts to where the mirrors of this config have them: an earlier one may have had others.
 * Resolves with the places whose prompts wait.
 */
export async function moveToMirrors({ state, registry, enqueue }: MoveOptions): Promise<readonly ChatPlace[]> {
  for (const { key, value } of await state.list('execution/')) {
    const execution = toExecution(value)
    const write = registry.write(execution)
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
      const wanted = enqueue(prompt)
      const taken: Write = { type: 'dequeue', queue, id }
      if (wanted.queue !== queue) await state.commit([taken, wanted])
      waiting.push(prompt)
    }
  }
  return waiting
}
