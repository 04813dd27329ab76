import { randomUUID } from 'node:crypto'
import type { Clock } from '@reply/core'
import { withResolvers } from '@reply/sink/internal'
import { BridgeError, isTakenOver, toError } from '../error.ts'
import { type PoisonRow, type Suspicion, toSuspicion } from '../state/decode.ts'
import type { Execution } from '../state/execution.ts'
import type { State } from '../state/state.ts'
import { type Tried, withNextTry } from '../state/tried.ts'
import type { PutWrite } from '../store/apply-writes.ts'
import type { Write } from '../store/store.ts'
import { createTimers, waitAtMost } from '../timers.ts'
import type { FailedDeliveries } from './failed-deliveries.ts'
import { writeFailure } from './failure-rows.ts'
import { afterEnd, isHeld, isPoison, lateMs, survived, surviveMs, togetherWith, unsuspected } from './suspicion.ts'

/**
 * Finds out which rows end each process that handles them, and puts these aside.
 *
 * For example, a process handles 40 rows, and one of them ends it. The next process finds all 40, and can't tell which one it was. It
 * begins them again and ends as soon, so that each of the 40 has a point. The one after begins ten of them, and the others once these were
 * outlived. If it ends, only those ten have another point. So the groups shrink until the row is alone.
 *
 * `suspicion.ts` has the rules. A row that ends no process may get points too, but loses them once a process has outlived it.
 */
export interface Tries {
  /** Reads what earlier processes stored about rows. Call it once, before `next`. */
  load(): Promise<void>
  /** Returns the row with its next try counted, for the store. Undefined if it must not be tried again. */
  next<Row extends Tried>(key: string, row: Row): (Row & { readonly tries: number }) | undefined
  /** Whether the row waits for its turn in `make`. */
  isHeld(key: string): boolean
  /**
   * Commits `writes`, which store the counted row, and then handles it, once it is its turn if it is held. Does not handle it if
   * the writes conflict or the bridge stops first. Resolves and rejects like `handle`.
   */
  make(key: string, writes: readonly Write[], handle: () => Promise<void>): Promise<void>
  /** Commits the counts of several rows that are not held, which the caller then handles at the same time. */
  begin(counts: readonly PutWrite[]): Promise<void>
  /** Call it with the handling of a row that `begin` began. */
  watch(key: string, handled: Promise<unknown>): void
  /**
   * Puts the rows of a key for which `next` is undefined aside with `told.removal`, which removes them. Then tells their chat,
   * from the next process if need be. Resolves when the chat is told, or after 5 s, because it should read that before what comes
   * next. With `told.onTold`, you wait for that where it matters. Does nothing if the removal conflicts.
   */
  putAside(key: string, rows: readonly Omit<PoisonRow, 'type' | 'at'>[], told: Told): Promise<void>
  /**
   * Call it at a graceful stop. `undo` returns writes that undo the tries in progress. It is called once no more are begun, right
   * before its writes are committed, so that they are made from the newest rows. Each group is committed by itself, and one
   * that conflicts is ignored. Never rejects.
   */
  giveBack(undo: () => readonly (readonly Write[])[]): Promise<void>
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

/** The prefix of the keys under which the state has what is known of rows. */
const suspectPrefix = 'suspect/'
/** How long it is kept, in ms. */
const suspectedMs = 86_400_000
/** How long what comes next in a chat waits until the chat is told that a row was put aside, in ms. */
export const toldMs = 5000
/** The longest pause before held rows are begun, as a multiple of the time for which a process must outlive them. */
const mostPause = 2

/** Held rows of all shards of a process, because any of them may end it. */
export interface Turns {
  /** An id of the process. */
  readonly process: string
  /** Begins the row once it is its turn. Resolves when the next one may begin. */
  take(turn: Turn): Promise<void>
}

/** A held row that waits for its turn. */
interface Turn {
  readonly suspicion: Suspicion
  /** Resolves when it is not to be begun any more. */
  readonly stopped: Promise<void>
  /** Stores that it is about to be begun. */
  readonly prepare: () => Promise<void>
  /** Begins it. Resolves when it was handled, or when this process has outlived it for long enough. */
  readonly begin: () => Promise<void>
}

/** Creates the turns of a process. `random` returns numbers from 0 to 1. */
export function createTurns(clock: Clock, random: () => number = Math.random): Turns {
  const waiting = new Set<Turn & { readonly over: () => void }>()
  let isWorking = false
  return { process: randomUUID(), take }

  /** Adds a row to those that wait. */
  async function take(turn: Turn): Promise<void> {
    const { promise, resolve } = withResolvers<void>()
    waiting.add({ ...turn, over: resolve })
    // Those that are found at the same time are divided together.
    if (!isWorking) void Promise.resolve().then(work)
    isWorking = true
    await promise
  }

  /**
   * Begins one group after the other. The first one after a random pause, because a process may end at a fixed time after its
   * start. The others then begin at a random time, too.
   */
  async function work(): Promise<void> {
    for (let isFirst = true; waiting.size > 0; isFirst = false) {
      const group = nextGroup()
      for (const turn of group) waiting.delete(turn)
      if (isFirst) await pauseBefore(group)
      await Promise.all(group.map(async ({ begin }) => await begin()))
      for (const { over } of group) over()
    }
    isWorking = false
  }

  /** Stores that a group is about to be begun, and waits for a while. */
  async function pauseBefore(group: readonly Turn[]): Promise<void> {
    const forMs = (surviveMs(group[0]?.suspicion ?? unsuspected) ?? 0) * mostPause * random()
    await Promise.all(group.map(async ({ prepare }) => await prepare()))
    await waitAtMost(Promise.all(group.map(({ stopped }) => stopped)), forMs, clock)
  }

  /** Returns some rows in random order that may be begun together, of the lowest level, which takes the least time. */
  function nextGroup(): readonly (Turn & { readonly over: () => void })[] {
    const inOrder = [...waiting].map((turn) => ({ turn, order: random() })).toSorted((a, b) => a.order - b.order)
    const level = Math.min(...inOrder.map(({ turn }) => turn.suspicion.level))
    const group: typeof inOrder = []
    for (const one of inOrder.filter(({ turn }) => turn.suspicion.level === level))
      if ([...group, one].every(({ turn }) => togetherWith(turn.suspicion, inOrder.length) > group.length))
        group.push(one)
    return group.map(({ turn }) => turn)
  }
}

/** Keeps what is known of each row beside it in the state, and the count of its tries in the row itself. */
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
  /** By the keys of rows. */
  const known = new Map<string, Suspicion>()
  const timers = createTimers(clock)
  /** The keys of rows about which something is to be stored in the background. */
  const unsaved = new Set<string>()
  let saving: Promise<void> | undefined
  /** The commits in progress that say that rows are begun. */
  const beginnings = new Set<Promise<boolean>>()
  const stopped = withResolvers<void>()
  let isStopped = false
  return { load, next, isHeld: (key) => isHeld(suspicionOf(key)), make, begin, watch, putAside, giveBack }

  /** Reads what is known. A row that another process was handling has ended it. */
  async function load(): Promise<void> {
    for (const { key, value } of await state.list(suspectPrefix))
      known.set(decodeURIComponent(key.slice(suspectPrefix.length)), afterEnd(toSuspicion(value), turns.process))
  }

  /** Returns what is known of a row. */
  function suspicionOf(key: string): Suspicion {
    return known.get(key) ?? unsuspected
  }

  /** Counts the next try, unless the row is known to end processes. Writes nothing. */
  function next<Row extends Tried>(key: string, row: Row): (Row & { readonly tries: number }) | undefined {
    return isPoison(suspicionOf(key)) ? undefined : withNextTry(row)
  }

  /** Commits writes with retries. Resolves with false on a conflict. */
  async function commit(writes: readonly Write[]): Promise<boolean> {
    return await state.withRetries(() => state.commit(writes))
  }

  /** Returns the key under which the state has what is known of a row. */
  function suspectKey(key: string): string {
    return `${suspectPrefix}${encodeURIComponent(key)}`
  }

  /** Returns the write that stores what is known of a row. */
  function writeKnown(key: string): Write {
    const suspicion = known.get(key)
    return suspicion
      ? { type: 'put', key: suspectKey(key), value: JSON.stringify(suspicion), expiresInMs: suspectedMs }
      : { type: 'remove', key: suspectKey(key) }
  }

  /** Notes that a row is at a stage, and returns the write that stores it. */
  function noteStage(key: string, stage: Suspicion['stage']): Write {
    known.set(key, { ...suspicionOf(key), stage, by: turns.process })
    return writeKnown(key)
  }

  /** Waits for the row's turn if it is held. */
  async function make(...[key, writes, handle]: Parameters<Tries['make']>): Promise<void> {
    const suspicion = suspicionOf(key)
    if (!isHeld(suspicion)) return await handleIfStored(key, writes, handle, () => {})
    let handled = Promise.resolve()
    await turns.take({
      suspicion,
      stopped: stopped.promise,
      prepare: async () => void (await store([noteStage(key, 'paused')]).catch(() => {})),
      begin: async () => {
        const outlived = withResolvers<void>()
        handled = handleIfStored(key, writes, handle, () => outlived.resolve())
        await Promise.race([outlived.promise, Promise.allSettled([handled]), stopped.promise])
      },
    })
    await handled
  }

  /** Handles a row if the writes that count this can be stored. Calls `onSurvived` once this process has outlived it. */
  async function handleIfStored(
    ...[key, writes, handle, onSurvived]: [...Parameters<Tries['make']>, onSurvived: () => void]
  ): Promise<void> {
    if (!(await store([...writes, noteStage(key, 'begun')]))) return isStopped ? undefined : forget(key)
    const handled = handle()
    observe(key, handled, onSurvived)
    await handled
  }

  /** Commits counts, and that their rows are begun. */
  async function begin(counts: readonly PutWrite[]): Promise<void> {
    if (counts.length > 0) await store(counts.flatMap((count) => [count, noteStage(count.key, 'begun')]))
  }

  /** Observes a row that `begin` began. */
  function watch(key: string, handled: Promise<unknown>): void {
    observe(key, handled, () => {})
  }

  /** Stores that this process outlives a row, and removes what is known of it once it was handled. */
  function observe(key: string, handled: Promise<unknown>, onSurvived: () => void): void {
    waitUntilLate(key, 0, onSurvived)
    void Promise.allSettled([handled]).then(() => {
      timers.clear(key)
      forget(key)
    })
  }

  /** Removes what is known of a row. */
  function forget(key: string): void {
    known.delete(key)
    save(key)
  }

  /** Notes that the end of this process would count from some time on, if it doesn't yet. */
  function waitUntilLate(key: string, sinceMs: number, onSurvived: () => void): void {
    const isLate = suspicionOf(key).level === 0 || suspicionOf(key).stage === 'late'
    if (isLate) return waitUntilSurvived(key, sinceMs, onSurvived)
    const atMs = lateMs(suspicionOf(key))
    timers.restart(key, atMs - sinceMs, () => {
      noteStage(key, 'late')
      save(key)
      waitUntilSurvived(key, atMs, onSurvived)
    })
  }

  /** Notes that this process has outlived the row for the time of its level, and goes on with the next one. */
  function waitUntilSurvived(key: string, sinceMs: number, onSurvived: () => void, isFirst = true): void {
    const atMs = surviveMs(suspicionOf(key))
    if (atMs === undefined) return onSurvived()
    timers.restart(key, atMs - sinceMs, () => {
      known.set(key, survived(suspicionOf(key), turns.process))
      save(key)
      if (!isFirst) onSurvived()
      // The next row is not begun yet: one that kills a little later than at its level must not kill in the turn of another.
      waitUntilSurvived(key, atMs, isFirst ? onSurvived : () => {}, false)
    })
  }

  /** Commits what is needed before rows are handled. Takes that back and resolves with false if this process stops meanwhile. */
  async function store(writes: readonly Write[]): Promise<boolean> {
    if (isStopped) return false
    const stored = commit(writes).then((isDone) => isDone && !isStopped)
    beginnings.add(stored)
    return await stored.finally(() => beginnings.delete(stored))
  }

  /** Stores what is known of a row in the background. */
  function save(key: string): void {
    unsaved.add(key)
    saving ??= saveAll().finally(() => {
      saving = undefined
    })
  }

  /** Stores what waits, one commit after the other. Never rejects. */
  async function saveAll(): Promise<void> {
    while (unsaved.size > 0 && !isStopped) {
      const writes = [...unsaved].map(writeKnown)
      unsaved.clear()
      // Without it, an end of this process counts for or against the row as if it had come earlier.
      await commit(writes).catch(() => {})
    }
  }

  /** Moves the rows to the failures, reports them, and posts the text in their chat. */
  async function putAside(...[key, rows, told]: Parameters<Tries['putAside']>): Promise<void> {
    const { execution, text, removal, done = [], onTold } = told
    const failures = rows.map((row) => ({ ...row, type: 'poison', at: clock.now() }) as const)
    const pending = failed.pendingFor(execution, text)
    const isRemoved = await commit([
      ...removal,
      ...failures.map(writeFailure),
      ...failed.write([pending]),
      { type: 'remove', key: suspectKey(key) },
    ])
    if (!isRemoved) return
    known.delete(key)
    for (const { key: row, id, tries } of failures) {
      const where = id === undefined ? row : `${row}, entry ${id}`
      const problem = `The process ended again and again soon after it began to handle ${where} of the state, which ${tries} processes did.`
      onError(
        new BridgeError(
          'inbound',
          `${problem} It was put aside, and its chat is told. "reply bridge failed" lists it.`,
        ),
      )
    }
    void failed.emitCounts().catch(onError)
    const posted = failed.replyPending(pending, execution.prompt.messageRef, done)
    if (onTold) void posted.then(onTold)
    else await waitAtMost(posted, toldMs, clock)
  }

  /** Commits each group, and that no row is being handled any more. */
  async function giveBack(undo: Parameters<Tries['giveBack']>[0]): Promise<void> {
    isStopped = true
    timers.stop()
    stopped.resolve()
    await Promise.allSettled([...beginnings, saving])
    for (const [key, { stage, by: _, ...row }] of known) {
      if (stage !== undefined) {
        known.set(key, row)
        unsaved.add(key)
      }
    }
    const groups = [[...unsaved].map(writeKnown), ...undo()].filter((writes) => writes.length > 0)
    // All at once, so that no other commit comes between a row and the write that is made from it.
    for (const made of await Promise.allSettled(groups.map((writes) => state.commit(writes)))) {
      if (made.status === 'fulfilled') continue
      // The tries of another process count.
      if (!isTakenOver(made.reason)) onError(toError(made.reason))
      return
    }
  }
}
