import type { Clock } from '@reply/core'
import { withResolvers } from '@reply/sink/internal'
import { BridgeError, isTakenOver, toError } from '../error.ts'
import type { PoisonRow } from '../state/decode.ts'
import type { Execution } from '../state/execution.ts'
import type { State } from '../state/state.ts'
import { type Tried, withNextTry } from '../state/tried.ts'
import type { Write } from '../store/store.ts'
import { waitAtMost } from '../timers.ts'
import type { FailedDeliveries } from './failed-deliveries.ts'
import { writeFailure } from './failure-rows.ts'

/**
 * Counts how many processes handle what an earlier one left, so that a row whose handling kills the process is put aside
 * instead of killing each successor. The last try of a row is made alone: while it lasts, no other such row is begun. If the
 * process ends then, that row is the cause, and the others keep their chance.
 */
export interface Tries {
  /** Reads which row was handled alone when the last process ended. Call it once, before `next`. */
  load(): Promise<void>
  /** Returns the row with its next try counted, for the store. Undefined if it must not be tried again. */
  next<Row extends Tried>(key: string, row: Row): (Row & { readonly tries: number }) | undefined
  /** Whether this try of a counted row is made alone, and so takes its turn. */
  isAlone(counted: Tried): boolean
  /**
   * Commits `writes`, which store the counted row, and then handles it, alone if `isAlone`. Does not handle it if the writes
   * conflict or the bridge stops first. Resolves and rejects like `handle`.
   */
  make(key: string, counted: Tried, writes: readonly Write[], handle: () => Promise<void>): Promise<void>
  /**
   * Puts the rows of a key for which `next` is undefined aside with `told.removal`, which removes them. Then tells their chat
   * in the background, from the next process if need be. Does nothing if the removal conflicts.
   */
  putAside(key: string, rows: readonly Omit<PoisonRow, 'type' | 'at'>[], told: Told): Promise<void>
  /**
   * Call it at a graceful stop, with writes that undo the tries in progress. Each group is committed by itself, and one that
   * conflicts is ignored. No try is begun from then on. Never rejects.
   */
  giveBack(groups: readonly (readonly Write[])[]): Promise<void>
}

/** What is said about rows that are put aside, and where. */
export interface Told {
  /** Of the run, or with a new id for a message. */
  readonly execution: Pick<Execution, 'id' | 'prompt' | 'server' | 'sessionID'>
  readonly text: string
  readonly removal: readonly Write[]
  /** Committed once the text is posted. */
  readonly done?: readonly Write[] | undefined
  /** Called when the text was posted, or stored as a failed delivery. */
  readonly onTold?: (() => void) | undefined
}

/** The key of the value that names the row that is handled alone. */
const aloneKey = 'alone'
const removeAlone: Write = { type: 'remove', key: aloneKey }
/** From which try on a row is handled alone. If the process ends during that one, it was the last. */
const aloneFrom = 3
/** How often a row is tried at most, also if the process never ended while it was handled alone. */
const mostTries = 10
/** How long a row is handled alone at most, in ms. */
const aloneMs = 5000

/** The turns of rows that are handled alone. One for all shards of a process, because any of their rows may end it. */
export interface Turns {
  /** Resolves when no row is handled alone. */
  last: Promise<void>
}

/** Creates the turns of a process. */
export function createTurns(): Turns {
  return { last: Promise.resolve() }
}

/** Counts tries in the rows themselves, which their owners store. */
export function createTries({
  state,
  failed,
  turns,
  clock,
  onError,
}: {
  readonly state: State
  readonly failed: Pick<FailedDeliveries, 'pendingFor' | 'write' | 'replyPending' | 'emitCounts'>
  readonly turns: Turns
  readonly clock: Clock
  readonly onError: (error: Error) => void
}): Tries {
  /** The row that was handled alone when the last process ended. */
  let suspect: string | undefined
  let isAnyAlone = false
  /** The commits in progress that say that a row is handled alone. */
  const beginnings = new Set<Promise<boolean>>()
  let isStopped = false
  return { load, next, isAlone, make, putAside, giveBack }

  /** Reads the name of the suspect. */
  async function load(): Promise<void> {
    suspect = await state.read(aloneKey)
  }

  /** Counts the next try, unless the row is the suspect, or was tried `mostTries` times. Writes nothing. */
  function next<Row extends Tried>(key: string, row: Row): (Row & { readonly tries: number }) | undefined {
    const counted = withNextTry(row)
    return key === suspect || counted.tries > mostTries ? undefined : counted
  }

  /** Whether it is the last try, or one after that. */
  function isAlone({ tries = 0 }: Tried): boolean {
    return tries >= aloneFrom
  }

  /** Commits writes with retries. Resolves with false on a conflict. */
  async function commit(writes: readonly Write[]): Promise<boolean> {
    return await state.withRetries(() => state.commit(writes))
  }

  /**
   * Stores the count, then handles the row. If `isAlone`, waits until no other row is handled alone, and names the row in the
   * store until it is handled, at most for `aloneMs`: a run may last for hours.
   */
  async function make(...[key, counted, writes, handle]: Parameters<Tries['make']>): Promise<void> {
    if (!isAlone(counted)) {
      if (await commit(writes)) await handle()
      return
    }
    const before = turns.last
    const turn = withResolvers<void>()
    turns.last = turn.promise
    try {
      await before
      if (isStopped || !(await beginAlone([...writes, { type: 'put', key: aloneKey, value: key }]))) return
      const handled = handle()
      await waitAtMost(Promise.allSettled([handled]), aloneMs, clock)
      isAnyAlone = false
      if (!isStopped) await commit([removeAlone])
      turn.resolve()
      await handled
    } finally {
      turn.resolve()
    }
  }

  /** Commits that a row is handled alone. Takes that back and resolves with false if this process stops meanwhile. */
  async function beginAlone(writes: readonly Write[]): Promise<boolean> {
    const begun = (async () => {
      if (!(await commit(writes))) return false
      isAnyAlone = !isStopped
      if (!isAnyAlone) await commit([removeAlone])
      return isAnyAlone
    })()
    beginnings.add(begun)
    return await begun.finally(() => beginnings.delete(begun))
  }

  /** Moves the rows to the failures, reports them, and posts the text in their chat without waiting for that. */
  async function putAside(...[key, rows, told]: Parameters<Tries['putAside']>): Promise<void> {
    const { execution, text, removal, done = [], onTold } = told
    const failures = rows.map((row) => ({ ...row, type: 'poison', at: clock.now() }) as const)
    const pending = failed.pendingFor(execution, text)
    const isRemoved = await commit([
      ...removal,
      ...failures.map(writeFailure),
      ...failed.write([pending]),
      ...(key === suspect && !isAnyAlone ? [removeAlone] : []),
    ])
    if (!isRemoved) return
    for (const { key: row, id, tries } of failures) {
      const where = id === undefined ? row : `${row}, entry ${id}`
      const problem = `The process ended each time it handled ${where} of the state, ${tries} times in all.`
      onError(
        new BridgeError(
          'inbound',
          `${problem} It was put aside, and its chat is told. "reply bridge failed" lists it.`,
        ),
      )
    }
    void failed.emitCounts().catch(onError)
    void failed.replyPending(pending, execution.prompt.messageRef, done).then(onTold)
  }

  /** Commits each group, and removes the name of a row that is handled alone. */
  async function giveBack(groups: Parameters<Tries['giveBack']>[0]): Promise<void> {
    isStopped = true
    await Promise.allSettled(beginnings)
    const alone: readonly Write[] = isAnyAlone ? [removeAlone] : []
    for (const writes of [alone, ...groups]) {
      try {
        if (writes.length > 0) await state.commit(writes)
      } catch (error) {
        // The tries of another process count.
        if (!isTakenOver(error)) onError(toError(error))
        return
      }
    }
  }
}
