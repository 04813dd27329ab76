import { type Ask, type PostedPrompt, pendingAsks, type Reply } from '@reply/core'
import { withResolvers } from '@reply/sink/internal'
import { BridgeError, isTakenOver, toError } from '../error.ts'
import { placeKey } from '../place.ts'
import { toExecution } from '../state/decode.ts'
import { type Execution, isOver } from '../state/execution.ts'
import type { Write } from '../store/store.ts'
import { chatMessageOf, plain, texts } from '../texts.ts'
import { closeShown, isPromptOf, promptShownIn } from './lost-runs.ts'
import type { BridgeServices } from './services.ts'
import { isCutShort, sinksFor } from './show-run.ts'
import { isReplyOfUnprompted } from './unprompted-runs.ts'

/**
 * Stops the agents of runs that were put aside, and closes the messages of these runs. Each stop is stored with the run that it is
 * for, and removed once all of that is done, so that it is not lost if the process ends in between.
 */
export interface AgentStops {
  /**
   * Returns the stop of an execution that is put aside, which is that execution as it was. It is over if only its messages are to be
   * closed, because its agent is not at work, or not the chat's to stop. Undefined if it has none either.
   */
  planFor(execution: Execution, isAtWork: boolean): Promise<Execution | undefined>
  /** Returns the write that stores a stop. */
  write(stop: Execution): Write
  /**
   * Aborts the session of a stored stop, which also rejects what it asks. Does not if one of `others` needs the session, or if its
   * agent works on another run by now. If the server does not confirm it, reports the error and tells the chat, where `/stop` tries
   * again. Closes the messages once `told` resolves. Resolves before that, when the chat may use the session. Never rejects.
   */
  make(stop: Execution, others: readonly Execution[], told: Promise<unknown>): Promise<void>
  /** Returns the stops that earlier processes stored and did not remove. */
  stored(): Promise<readonly Execution[]>
  /** Like `make` for one of these, once it is its turn, see `Tries`. Gives it up if it ended the process each time. */
  makeAgain(stop: Execution, others: readonly Execution[]): Promise<void>
}

type StopServices = Pick<BridgeServices, 'state' | 'servers' | 'channels' | 'tries' | 'onError'> &
  Parameters<typeof closeShown>[0] &
  Parameters<typeof sinksFor>[0]

const stopPrefix = 'stopping/'
/** How long a stop is stored, in ms: ten minutes. After a longer time the session may be needed for something else. */
const storedMs = 600_000

/** Creates the stops of a shard. */
export function createAgentStops(services: StopServices, isStopped: () => boolean): AgentStops {
  const { state, servers, channels, mirrors, tries, onError } = services
  return {
    planFor,
    write,
    make,
    stored: async () => (await state.list(stopPrefix)).map(({ value }) => toExecution(value)),
    makeAgain,
  }

  /** Returns the stop without the text and files of the prompt, with the id under which a chat shows the run. */
  async function planFor(...[execution, isAtWork]: Parameters<AgentStops['planFor']>): Promise<Execution | undefined> {
    const { prompt, phase, posted, sessionID, isSteer, followed } = execution
    const places = [prompt, ...mirrors.others(prompt)]
    const shown = await Promise.all(places.map(async (place) => await promptShownIn(state, execution, place)))
    const shownAs = shown.find((promptID) => promptID !== undefined)
    const isToStop = isAtWork && sessionID !== undefined && !isSteer && !followed
    if (!isToStop && shownAs === undefined) return undefined
    return {
      ...execution,
      prompt: { ...prompt, text: '', files: [] },
      // Later runs of the session may be shown before the messages of this one are closed.
      posted: posted && { ...posted, messageID: posted.messageID ?? shownAs },
      asks: undefined,
      phase: isToStop ? phase : 'done',
    }
  }

  function write(stop: Execution): Write {
    return { type: 'put', key: keyOf(stop), value: JSON.stringify(stop), expiresInMs: storedMs }
  }

  async function make(...[stop, others, told]: Parameters<AgentStops['make']>): Promise<void> {
    const stopped = await stopAgent(stop, others)
    if (stopped) void told.then(async () => await close(stopped)).catch(onError)
  }

  /** Makes a stop of an earlier process once it is its turn. */
  async function makeAgain(stop: Execution, others: readonly Execution[]): Promise<void> {
    const key = keyOf(stop)
    if (!tries.next(key, stop)) return await giveUp(stop)
    const ready = withResolvers<void>()
    // The number of processes that tried is of no use: the row is not listed as a failure.
    const made = tries.make(key, [], async () => {
      const stopped = await stopAgent(stop, others)
      ready.resolve()
      if (stopped) await close(stopped)
    })
    void made.catch(onError).then(ready.resolve)
    // To close messages, nothing in the chat has to wait.
    if (!isOver(stop)) await ready.promise
  }

  /** Removes a stop that ended each process which made it. Reports that, and tells the chat if the agent may be at work. */
  async function giveUp(stop: Execution): Promise<void> {
    // Otherwise the next process gives it up, and tells the chat.
    if (!(await commit({ type: 'remove', key: keyOf(stop) }))) return
    const what = isOver(stop) ? 'closed the messages' : 'stopped the agent'
    const problem = `The process ended each time it ${what} of run ${stop.id}, which was put aside, so it no longer does.`
    onError(new BridgeError('inbound', problem))
    if (!isOver(stop)) tellNotStopped(stop, texts.stopEndsBridge)
  }

  /**
   * Stops the agent, and stores that before the chat can begin anything else in its session. Resolves with what is left to do.
   * Undefined if the next process makes the stop.
   */
  async function stopAgent(stop: Execution, others: readonly Execution[]): Promise<Execution | undefined> {
    if (isOver(stop)) return stop
    const result = await abort(stop, others).catch(toError)
    const isFailed = result instanceof Error
    if (isFailed && (isStopped() || isTakenOver(result))) return undefined
    const stopped: Execution = { ...stop, phase: 'done', asks: isFailed ? undefined : result }
    await commit(hasMessages(stopped) ? write(stopped) : { type: 'remove', key: keyOf(stop) })
    if (!isFailed) return stopped
    onError(result)
    tellNotStopped(stop, chatMessageOf(result))
    return stopped
  }

  /** Aborts the session, unless something else needs it. Resolves with the asks that were pending. */
  async function abort(execution: Execution, others: readonly Execution[]): Promise<readonly Ask[]> {
    const { id, server, sessionID } = execution
    // One that has finished is only being delivered.
    const unfinished = others.filter(
      (one) => one.id !== id && !isOver(one) && one.finishedAt === undefined && !one.isSteer,
    )
    const isUsed = unfinished.some((one) => one.sessionID === sessionID)
    const client = servers.get(server)
    if (!client || sessionID === undefined || isUsed) return []
    const reply = await client.reply(sessionID)
    const isSame = !reply || isReplyOf(reply, execution)
    if (isSame === undefined && reply?.phase !== 'settled') throw new BridgeError('inbound', texts.maybeOfOther)
    if (!isSame) return []
    await client.abort(sessionID)
    return reply ? pendingAsks(reply) : []
  }

  /** Tells the chat that its agent may still be at work. Not awaited: its next prompt must not wait for its platform. */
  function tellNotStopped({ prompt }: Execution, why: string): void {
    if (channels.has(prompt.channel))
      void channels.tryPost(prompt, { text: texts.notStopped(plain(why)), replyTo: prompt.messageRef })
  }

  /** Closes the messages of a run whose agent needs no stop any more, and removes the stop once its chat shows that. */
  async function close(stopped: Execution): Promise<void> {
    const { prompt, server, asks } = stopped
    if (!hasMessages(stopped) || isStopped()) return
    if (channels.has(prompt.channel)) {
      const over = { ...stopped, reason: texts.poisonReason }
      const closed = await closeShown(services, over, sinksFor(services, over, { server }), asks)
      if (isStopped() || (closed && isCutShort(closed.delivery))) return
    }
    await commit({ type: 'remove', key: keyOf(stopped) })
  }

  /** Commits a write with retries. Reports errors. Resolves with whether it was made. */
  async function commit(one: Write): Promise<boolean> {
    try {
      return await state.withRetries(() => state.commit([one]))
    } catch (error) {
      if (!isStopped() && !isTakenOver(error)) onError(toError(error))
      return false
    }
  }
}

/** Returns the key of a stop. */
function keyOf({ id, prompt }: Execution): string {
  return `${stopPrefix}${placeKey(prompt)}/${id}`
}

/** Whether a chat may show messages of the run. Without its id, `planFor` found none. */
function hasMessages({ posted, startedBy }: Execution): boolean {
  return startedBy !== undefined || posted?.messageID !== undefined
}

/**
 * Whether the newest reply of the session is that of the execution. Undefined if that is not known: the server makes the ids of
 * prompts, no chat shows the run, and not only the run itself may have that text at that time.
 */
function isReplyOf(reply: Reply, execution: Execution): boolean | undefined {
  const { promptIDs, prompt } = reply
  const { posted, startedBy } = execution
  if (startedBy !== undefined) return isReplyOfUnprompted(reply, execution)
  if (!posted || promptIDs.length === 0) return true
  if (!promptIDs.some((promptID) => isPromptOf(posted, promptID))) return false
  if (posted.messageID !== undefined) return true
  if (posted.text === undefined || !prompt) return undefined
  const [text, ownText] = [prompt.text.trim(), posted.text.trim()]
  // A plugin of the server may have added to the text. But a later prompt of another client may contain it, too.
  if (text !== ownText) return text.includes(ownText) ? undefined : false
  return isBegunWith(reply, posted) ? true : undefined
}

/**
 * How far the beginning of a run may be from its post, in ms: servers store a prompt within 10 s, and the clock of another machine
 * may differ by 2 s. Narrower than where the core looks for a posted prompt: it only makes sure there that nothing runs twice. Here
 * another client's run with the same text would be stopped, while without certainty the chat is told, and `/stop` decides.
 */
const begunWithinMs = 12_000

/** Whether the run began when the prompt was posted, so that it is not a later one with the same text. */
function isBegunWith({ messages: [first], startedAt }: Reply, { at }: PostedPrompt): boolean {
  // A process that hears of a run later knows its beginning only from the server.
  const begunAt = first?.createdAt ?? startedAt
  return begunAt !== undefined && Math.abs(begunAt - at) <= begunWithinMs
}
