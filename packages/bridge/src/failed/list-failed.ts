import { oneLine } from '@reply/sink/internal'
import { loadConfig } from '../config/load.ts'
import type { ChatPlace } from '../place.ts'
import type { FailedDelivery, Failure } from '../state/decode.ts'
import { toExecution, toQueuedPrompt } from '../state/decode.ts'
import { deliveringMs, executionPrefix } from '../state/registry.ts'
import { configuredState, type LoadStore } from '../store/load-store.ts'
import type { Store, StoredValue } from '../store/store.ts'
import { failedPrefix, failuresIn, unknownPrefix } from './failure-rows.ts'

/** Options of `listFailed`. */
export interface ListFailedOptions {
  /** The path of the config. */
  readonly path: string
  /** As for `openBridge`. Default: the process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** As for `openBridge`. Default: `@reply/<type>`. */
  readonly loadStore?: LoadStore | undefined
}

/** How long after the end of its run an answer is listed as waiting, in ms. Most need a few seconds. */
const waitingMs = 60_000

/** A failure, or an answer that is still waiting for its chat. */
export interface FailedItem {
  /**
   * - `delivery`: an answer that its chat may not show.
   * - `prompt`: a prompt that may have run before a restart.
   * - `row`: a row of the state that could not be read.
   * - `poison`: a message or run that was put aside, because the process ended each time it handled it.
   * - `waiting`: nothing failed yet. The run ended, but its chat accepts no messages or does not respond.
   */
  readonly type: Failure['type'] | 'prompt' | 'waiting'
  /** When it failed, in ms since the epoch. 0 if that is not known. */
  readonly at: number
  /** The run with its chat and session, or the key of the row. Contains no text that people or agents wrote. */
  readonly what: string
  /** Why it failed, and how to fix it. */
  readonly why: string
}

/**
 * Lists the failures of a bridge, then the answers that are waiting, each oldest first. Reads the state, changes nothing, and
 * works beside a running bridge. Empty if nothing failed, or if there is no state. Rejects with `BridgeError` of type
 * `config`, or with `StoreError`.
 */
export async function listFailed(options: ListFailedOptions): Promise<readonly FailedItem[]> {
  return await withExistingState(options, [], async (store) => {
    const failures = failuresIn(await store.list(failedPrefix))
    const failed = failures.map((failure) => ({ type: failure.type, at: failure.at, ...describeFailure(failure) }))
    const prompts = (await store.list(unknownPrefix)).flatMap(promptItem)
    const waiting = (await store.list(executionPrefix)).flatMap(waitingItem)
    return [...[...failed, ...prompts].toSorted(byTime), ...waiting.toSorted(byTime)]
  })
}

/** Options of `forgetRow`. */
export interface ForgetRowOptions extends ListFailedOptions {
  /** The row's key, as `listFailed` shows it. */
  readonly key: string
}

/**
 * Deletes the rows with a key that were put aside, with their values. Works beside a running bridge. Resolves with how
 * many there were: the entries of a queue share a key. Rejects like `listFailed`.
 */
export async function forgetRow({ key, ...options }: ForgetRowOptions): Promise<number> {
  return await withExistingState(options, 0, async (store) => {
    let count = 0
    for (const stored of await store.list(failedPrefix)) {
      const isMeant = failuresIn([stored]).some((one) => one.type !== 'delivery' && one.key === key)
      if (isMeant && (await removeUnchanged(store, stored))) count++
    }
    return count
  })
}

/**
 * Calls `use` with the state of a config, and closes the state then. Resolves as it does, or with `none` if there is no state.
 */
async function withExistingState<Result>(
  { path, env = process.env, loadStore: load }: ListFailedOptions,
  none: Result,
  use: (store: Store) => Promise<Result>,
): Promise<Result> {
  const { openExisting } = await configuredState(loadConfig(path, env), { load })
  const store = await openExisting()
  if (!store) return none
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

/** Removes a value, without the lease. Resolves with false if another process changed or removed it meanwhile. */
async function removeUnchanged(store: Store, { key, value: expected }: StoredValue): Promise<boolean> {
  const { type } = await store.commit([{ type: 'compare-and-set', key, expected, value: undefined }])
  return type === 'done'
}

/** Sorts the oldest first. */
function byTime(a: FailedItem, b: FailedItem): number {
  return a.at - b.at
}

/** Returns an item for the list: a prompt that may have run and waits for a decision. Empty if the row can't be read. */
function promptItem({ key, value }: StoredValue): readonly FailedItem[] {
  try {
    const prompt = toQueuedPrompt(value)
    const what = oneLine(
      `prompt of run ${key.slice(key.lastIndexOf('/') + 1)} in ${placeName(prompt)}: it may have run`,
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

/**
 * Returns an item for the list if the execution ended at least `waitingMs` ago and is still `delivering`. Empty otherwise, or
 * for an unreadable row.
 */
function waitingItem({ value, expiresInMs = 0 }: StoredValue): readonly FailedItem[] {
  try {
    const { id, phase, finishedAt: at, prompt } = toExecution(value)
    if (phase !== 'delivering' || at === undefined || deliveringMs - expiresInMs < waitingMs) return []
    const what = oneLine(`answer of run ${id} in ${placeName(prompt)}: its chat does not show all of it yet`, 300)
    const why =
      'The chat accepts no messages right now, or does not respond. The answer is shown as soon as that changes.'
    return [{ type: 'waiting', at, what, why }]
  } catch {
    // The bridge lists it as a row, once it reads it.
    return []
  }
}

/** Returns the name of a place as in the config, for example `tg:123/4`. */
function placeName({ channel, chat }: ChatPlace): string {
  return `${channel}:${chat.id}${chat.thread === undefined ? '' : `/${chat.thread}`}`
}

/** Returns sentences about a failure and its cause, without what people or agents wrote. */
function describeFailure(failure: Failure): Pick<FailedItem, 'what' | 'why'> {
  if (failure.type !== 'delivery') {
    const { type, key, id } = failure
    const kind = type === 'row' ? 'row' : id === undefined ? 'run' : 'message'
    const what = oneLine(`${kind} ${key}${id === undefined ? '' : `, entry ${id}`}`, 300)
    const why =
      type === 'row'
        ? `It can't be read: ${failure.reason}. It was put aside, and the state keeps its value until you forget it.`
        : `The process ended again and again soon after it began to handle it, which ${failure.tries} processes did. It was put aside, and its chat is told. The state keeps its value for 30 days, or until you forget it.`
    return { what, why }
  }
  const { id, channel, chat, server, sessionID, missing, reason } = failure
  const place = placeName({ channel, chat })
  const session = sessionID === undefined ? '' : `, session ${sessionID} on ${server}`
  const messages = missing === 1 ? '1 message' : `${missing} messages`
  return {
    what: oneLine(`answer of run ${id} in ${place}${session}: ${messages} may be missing`, 300),
    why: `${oneLine(reason, 300)} ${noteOf(failure)} Send /resend there to post it again.`,
  }
}

/** Says whether the chat of a failed delivery knows about it. */
function noteOf({ isReported, isUntold }: FailedDelivery): string {
  if (isUntold) return 'The chat was not notified, because the process ended each time it was about to be.'
  return isReported ? 'The chat knows about it.' : 'The chat will be notified as soon as it responds.'
}
