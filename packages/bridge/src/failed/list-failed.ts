import { oneLine, systemClock } from '@reply/sink/internal'
import { loadConfig } from '../config/load.ts'
import type { ChatPlace } from '../place.ts'
import type { Failure } from '../state/decode.ts'
import { toExecution, toQueuedPrompt } from '../state/decode.ts'
import { executionPrefix } from '../state/registry.ts'
import { readState, removeFromState } from '../store/sqlite.ts'
import type { StoredValue } from '../store/store.ts'
import { failedPrefix, failuresIn, unknownPrefix } from './failure-rows.ts'

/** Which bridge's failures to list. */
export interface ListFailedOptions {
  /** The path of the config. */
  readonly path: string
  /** As for `openBridge`. Default: the process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
}

/** How long after its run an answer is listed that its chat does not show yet, in ms: most need a few seconds. */
const heldMs = 60_000

/** One thing that failed for good, or waits, in words. */
export interface FailedItem {
  /**
   * An answer that its chat may not show, a `prompt` that may have run before a restart, or a row of the state that could
   * not be read. `held`: nothing failed yet; the run is over, and its answer waits for a chat that takes no messages or
   * does not answer.
   */
  readonly type: Failure['type'] | 'prompt' | 'held'
  /** When it failed, in ms since the epoch. 0 if that is not known. */
  readonly at: number
  /** What it is: the run with its chat and session, or the key of the row. No text that people or agents wrote. */
  readonly what: string
  /** Why it failed, and the cure. */
  readonly why: string
}

/**
 * What failed for good, and then what waits, each oldest first, by the state of a bridge: it may run or not, and nothing is
 * changed. Empty if nothing failed, and without a state. Rejects with `BridgeError` of type `config`, or with `StoreError`.
 */
export async function listFailed({ path, env = process.env }: ListFailedOptions): Promise<readonly FailedItem[]> {
  const { stateFolder } = loadConfig(path, env)
  const failures = failuresIn(await readState(stateFolder, failedPrefix))
  const failed = failures.map((failure) => ({ type: failure.type, at: failure.at, ...wordsFor(failure) }))
  const prompts = (await readState(stateFolder, unknownPrefix)).flatMap(promptIn)
  const held = (await readState(stateFolder, executionPrefix)).flatMap(heldIn)
  return [...[...failed, ...prompts].toSorted(byTime), ...held.toSorted(byTime)]
}

/** Which row to forget. */
export interface ForgetRowOptions extends ListFailedOptions {
  /** The row's key, as `listFailed` names it. */
  readonly key: string
}

/**
 * Forgets rows of the state that could not be read, with their values: a bridge may run meanwhile. Resolves with how many
 * of that key there were: a queue has more than one. Rejects as `listFailed` does.
 */
export async function forgetRow({ path, env = process.env, key }: ForgetRowOptions): Promise<number> {
  const { stateFolder } = loadConfig(path, env)
  let count = 0
  for (const stored of await readState(stateFolder, failedPrefix)) {
    const isMeant = failuresIn([stored]).some((one) => one.type === 'row' && one.key === key)
    if (isMeant && (await removeFromState(stateFolder, stored.key))) count++
  }
  return count
}

function byTime(a: FailedItem, b: FailedItem): number {
  return a.at - b.at
}

/** A prompt that no one has decided about. Empty for one that can't be read. */
function promptIn({ key, value }: StoredValue): readonly FailedItem[] {
  try {
    const prompt = toQueuedPrompt(value)
    const what = oneLine(
      `prompt of run ${key.slice(key.lastIndexOf('/') + 1)} in ${placeOf(prompt)}: it may have run`,
      300,
    )
    const why =
      'The bridge was restarted, and the server can\'t tell. Its author decides with "Run it again" or "Leave it" in the chat.'
    return [{ type: 'prompt', at: prompt.receivedAt, what, why }]
  } catch {
    // The bridge lists it as a row, once it reads it.
    return []
  }
}

/** The answer of an execution that is over and not shown. Empty for others, and for one that can't be read. */
function heldIn({ value }: StoredValue): readonly FailedItem[] {
  try {
    const { id, phase, finishedAt: at = Number.POSITIVE_INFINITY, prompt } = toExecution(value)
    if (phase !== 'delivering' || at > systemClock.now() - heldMs) return []
    const what = oneLine(`answer of run ${id} in ${placeOf(prompt)}: its chat does not show all of it yet`, 300)
    const why =
      'The chat accepts no messages right now, or does not respond. The answer is shown as soon as that changes.'
    return [{ type: 'held', at, what, why }]
  } catch {
    // The bridge lists it as a row, once it reads it.
    return []
  }
}

function placeOf({ channel, chat }: ChatPlace): string {
  return `${channel}:${chat.id}${chat.thread === undefined ? '' : `/${chat.thread}`}`
}

function wordsFor(failure: Failure): Pick<FailedItem, 'what' | 'why'> {
  if (failure.type === 'row') {
    const { key, id, reason } = failure
    const what = oneLine(`row ${key}${id === undefined ? '' : `, entry ${id}`}`, 300)
    return {
      what,
      why: `It can't be read: ${reason}. It was put aside, and the state keeps its value until you forget it.`,
    }
  }
  const { id, channel, chat, server, sessionID, missing, reason, isTold } = failure
  const place = placeOf({ channel, chat })
  const session = sessionID === undefined ? '' : `, session ${sessionID} on ${server}`
  const told = isTold ? 'The chat was told.' : 'The chat is told as soon as it responds.'
  const messages = missing === 1 ? '1 message' : `${missing} messages`
  return {
    what: oneLine(`answer of run ${id} in ${place}${session}: ${messages} may be missing`, 300),
    why: `${oneLine(reason, 300)} ${told} Send /resend there to post it again.`,
  }
}
