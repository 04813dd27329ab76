import { oneLine } from '@reply/sink/channel'
import { loadConfig } from '../config/load.ts'
import { readState } from '../store/sqlite.ts'
import type { Failure } from './decode.ts'
import { failedPrefix, failuresIn } from './failure.ts'

/** Which bridge's failures to list. */
export interface ListFailedOptions {
  /** The path of the config. */
  readonly path: string
  /** As for `openBridge`. Default: the process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
}

/** One thing that failed for good, in words. */
export interface FailedThing {
  /** An answer that its chat may not show, or a row of the state that could not be read. */
  readonly type: Failure['type']
  /** When it failed, in ms since the epoch. 0 if that is not known. */
  readonly at: number
  /** What it is: the run with its chat and session, or the key of the row. No text that people or agents wrote. */
  readonly what: string
  /** Why it failed, and the cure. */
  readonly why: string
}

/**
 * What failed for good, oldest first, by the state of a bridge: it may run or not, and nothing is changed. Empty if
 * nothing failed, and without a state. Rejects with `BridgeError` of type `config`, or with `StoreError`.
 */
export async function listFailed({ path, env = process.env }: ListFailedOptions): Promise<readonly FailedThing[]> {
  const { stateFolder } = loadConfig(path, env)
  const failures = failuresIn(await readState(stateFolder, failedPrefix))
  return failures.map((failure) => ({ type: failure.type, at: failure.at, ...wordsFor(failure) }))
}

function wordsFor(failure: Failure): Pick<FailedThing, 'what' | 'why'> {
  if (failure.type === 'row') {
    const { key, id, reason } = failure
    const what = oneLine(`row ${key}${id === undefined ? '' : `, entry ${id}`}`, 300)
    return { what, why: `It can't be read: ${reason}. It was put aside, and its value is kept in the state.` }
  }
  const { id, channel, chat, server, sessionID, missing, reason, isTold } = failure
  const place = `${channel}:${chat.id}${chat.thread === undefined ? '' : `/${chat.thread}`}`
  const session = sessionID === undefined ? '' : `, session ${sessionID} on ${server}`
  const told = isTold ? 'The chat was told.' : 'The chat is told as soon as it answers.'
  const messages = missing === 1 ? '1 message' : `${missing} messages`
  return {
    what: oneLine(`answer of run ${id} in ${place}${session}: ${messages} may be missing`, 300),
    why: `${oneLine(reason, 300)} ${told} /resend there posts it again.`,
  }
}
