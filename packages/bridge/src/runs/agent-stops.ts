import { type Ask, pendingAsks, type Reply } from '@reply/core'
import { isTakenOver, toError } from '../error.ts'
import { toExecution } from '../state/decode.ts'
import { type Execution, isOver } from '../state/execution.ts'
import type { Write } from '../store/store.ts'
import { chatMessageOf, plain, texts } from '../texts.ts'
import { isPromptOf } from './lost-runs.ts'
import type { BridgeServices } from './services.ts'
import { namesOfUnprompted } from './unprompted-runs.ts'

/**
 * Stops the agents of runs that were put aside. Each stop is stored with the run that it is for, and removed once it was made, so
 * that it is not lost if the process ends in between.
 */
export interface AgentStops {
  /** Returns the writes that store the stop of an execution. Empty if its agent is not the chat's to stop. */
  write(execution: Execution): readonly Write[]
  /**
   * Aborts the session of an execution, which also rejects what it asks, and removes the stored stop. Does nothing else if one of
   * `others` needs the session, or if its agent works on another prompt by now. If the server does not confirm it, reports the
   * error and tells the chat, where `/stop` tries again. Resolves with the asks that were pending. Never rejects.
   */
  stop(execution: Execution, others: readonly Execution[]): Promise<readonly Ask[]>
  /** Returns the executions whose stops earlier processes stored and did not remove. */
  stored(): Promise<readonly Execution[]>
}

const stopPrefix = 'stopping/'
/** How long a stop is stored, in ms: ten minutes. After a longer time the session may be needed for something else. */
const storedMs = 600_000

/** Creates the stops of a shard. */
export function createAgentStops(
  { state, servers, channels, onError }: Pick<BridgeServices, 'state' | 'servers' | 'channels' | 'onError'>,
  isStopped: () => boolean,
): AgentStops {
  return {
    write,
    stop,
    stored: async () => (await state.list(stopPrefix)).map(({ value }) => toExecution(value)),
  }

  /** Returns the write that stores a stop, without the text and files of the prompt. */
  function write(execution: Execution): readonly Write[] {
    const { sessionID, isSteer, followed, prompt } = execution
    // A run that was started elsewhere is not the chat's to stop.
    if (sessionID === undefined || isSteer || followed) return []
    const value = JSON.stringify({ ...execution, prompt: { ...prompt, text: '', files: [] } } satisfies Execution)
    return [{ type: 'put', key: keyOf(execution), value, expiresInMs: storedMs }]
  }

  /** Stops the agent, and forgets that before the chat can begin anything else in its session. */
  async function stop(execution: Execution, others: readonly Execution[]): Promise<readonly Ask[]> {
    if (write(execution).length === 0) return []
    const result = await abort(execution, others).catch(toError)
    if (!(result instanceof Error)) {
      await forget(execution)
      return result
    }
    // The next process does it again.
    if (isStopped() || isTakenOver(result)) return []
    onError(result)
    await forget(execution)
    const { prompt } = execution
    // Not awaited: the chat's next prompt must not wait for a platform that can't be reached.
    if (channels.has(prompt.channel))
      void channels.tryPost(prompt, {
        text: texts.notStopped(plain(chatMessageOf(result))),
        replyTo: prompt.messageRef,
      })
    return []
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
    if (reply && isOfOther(reply, execution)) return []
    await client.abort(sessionID)
    return reply ? pendingAsks(reply) : []
  }

  /** Removes a stored stop. */
  async function forget(execution: Execution): Promise<void> {
    await state
      .withRetries(() => state.commit([{ type: 'remove', key: keyOf(execution) }]))
      .catch((error: unknown) => isStopped() || isTakenOver(error) || onError(toError(error)))
  }
}

/** Returns the key of a stop. */
function keyOf({ server, sessionID = '' }: Execution): string {
  return `${stopPrefix}${encodeURIComponent(server)}/${sessionID}`
}

/** Whether a reply in progress surely belongs to another run, for example one that was started in a terminal meanwhile. */
function isOfOther(reply: Reply, { posted, startedBy }: Execution): boolean {
  if (reply.phase === 'settled') return false
  if (startedBy !== undefined) return !namesOfUnprompted(reply).includes(startedBy)
  if (!posted || reply.promptIDs.length === 0) return false
  return !reply.promptIDs.some((promptID) => isPromptOf(posted, promptID))
}
