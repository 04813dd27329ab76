import { ledgerKeyOf, messageRefsOf } from '@reply/sink/internal'
import { BridgeError, toError } from '../error.ts'
import {
  faultOf,
  toExecution,
  toGrant,
  toHint,
  toLog,
  toQueuedPrompt,
  toRoute,
  toSessionChat,
  toStoredNotice,
  toSuspicion,
  toUsedSession,
  toWoken,
  type UnreadableRow,
} from '../state/decode.ts'
import type { State } from '../state/state.ts'
import type { Write } from '../store/store.ts'
import { writeFailure } from './failure-rows.ts'

/** Decoders by the prefix of a row's key. They throw for a row that can't be read. Rows of other prefixes may hold any text. */
export const rowDecoders: Readonly<Record<string, (value: string, key: string) => unknown>> = {
  'execution/': toExecution,
  'log/': toLog,
  'newest/': toExecution,
  'route/': toRoute,
  'session/': toUsedSession,
  'session-chat/': toSessionChat,
  'message/': toUsedSession,
  'allowed/': toGrant,
  'unknown/': toQueuedPrompt,
  'notice/': toStoredNotice,
  'suspect/': toSuspicion,
  'stopping/': toExecution,
  'ask/': toTime,
  'told/': toHint,
  'seen/': toTime,
  'ledger/': requireLedger,
  'wake/': (_, key) => toWoken(key),
}

/** Decoders of queue entries, by the prefix of the queue's name. */
export const queueDecoders: Readonly<Record<string, (value: string) => unknown>> = {
  'inbox/': toQueuedPrompt,
  'prompts/': toQueuedPrompt,
  'backlog/': toQueuedPrompt,
}

/**
 * Wraps a state so that a row that can't be read doesn't break reads of others. Such a row is moved to the failures,
 * reported, and absent from then on.
 */
export function withoutUnreadableRows({
  state,
  now,
  onPutAside,
  onError,
}: {
  readonly state: State
  /** In ms since the epoch. */
  readonly now: () => number
  /** Called after a row was put aside. */
  readonly onPutAside: (row: UnreadableRow) => void
  readonly onError: (error: Error) => void
}): State {
  return { ...state, read: readOrPutAside, list: listOrPutAside, queue: queueOrPutAside }

  /** Returns the value of a key. Undefined if there is none, or if it can't be read, and was put aside. */
  async function readOrPutAside(key: string): Promise<string | undefined> {
    const value = await state.read(key)
    return value !== undefined && (await checkOrPutAside({ key, value }, rowDecoders)) ? value : undefined
  }

  /** Returns the rows whose keys begin with a prefix. Puts those aside that can't be read, and leaves them out. */
  async function listOrPutAside(prefix: string): ReturnType<State['list']> {
    return await filterInOrder(await state.list(prefix), async (row) => await checkOrPutAside(row, rowDecoders))
  }

  /** Returns the entries of a queue, in order. Puts those aside that can't be read, and leaves them out. */
  async function queueOrPutAside(name: string): ReturnType<State['queue']> {
    const entries = await state.queue(name)
    return await filterInOrder(
      entries,
      async ({ id, value }) => await checkOrPutAside({ key: name, id, value }, queueDecoders),
    )
  }

  /** Puts a row aside if its decoder throws. Resolves with whether the row is readable. A row without a decoder always is. */
  async function checkOrPutAside(
    row: Pick<UnreadableRow, 'key' | 'id' | 'value'>,
    decoders: Readonly<Record<string, (value: string, key: string) => unknown>>,
  ): Promise<boolean> {
    const [kind] = /^[^/]*\//.exec(row.key) ?? []
    const decode = kind !== undefined && Object.hasOwn(decoders, kind) ? decoders[kind] : undefined
    try {
      decode?.(row.value, row.key)
      return true
    } catch (error) {
      await putAside({ type: 'row', ...row, reason: faultOf(error), at: now() })
      return false
    }
  }

  /**
   * Moves the row to the failures, calls `onPutAside` and reports it. Does nothing if another read moved it first. If it can't
   * be moved, only reports that. Never rejects.
   */
  async function putAside(row: UnreadableRow): Promise<void> {
    const { key, id, value, reason } = row
    const removal: Write =
      id === undefined
        ? { type: 'compare-and-set', key, expected: value, value: undefined }
        : { type: 'dequeue', queue: key, id }
    const where = id === undefined ? key : `${key}, entry ${id}`
    const problem = `The row ${where} of the state can't be read: ${reason}.`
    try {
      // Another read may have put it aside first.
      if (!(await state.withRetries(() => state.commit([removal, writeFailure(row)])))) return
    } catch (cause) {
      return onError(new BridgeError('state', `${problem} It could not be put aside either.`, { cause }))
    }
    try {
      onPutAside(row)
    } catch (cause) {
      onError(toError(cause))
    }
    const cure = 'It was put aside, and everything else continues. "reply bridge failed" lists it.'
    onError(new BridgeError('state', `${problem} ${cure}`))
  }
}

/** Returns the rows that `isWanted` accepts, in their order. Checks them one after the other, and rejects as it does. */
async function filterInOrder<Row>(
  rows: readonly Row[],
  isWanted: (row: Row) => Promise<boolean>,
): Promise<readonly Row[]> {
  const accepted: Row[] = []
  for (const row of rows) if (await isWanted(row)) accepted.push(row)
  return accepted
}

/** Parses a time or duration in ms. Throws if the text isn't one. */
function toTime(value: string): number {
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value)
  throw new Error('It is not a time.')
}

/**
 * Throws if a row under the key of a ledger is not one. Other rows of a channel's store, such as the ids of received messages,
 * must be JSON.
 */
function requireLedger(value: string, key: string): void {
  const [, ledgerKey = ''] = /^ledger\/[^/]*\/(.*)$/.exec(key) ?? []
  if (ledgerKeyOf(ledgerKey)) messageRefsOf(value)
  else JSON.parse(value)
}
