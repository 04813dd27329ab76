import type { Clock } from '@reply/core'
import { SinkError } from '../error.ts'
import type { Budget } from '../port/limits.ts'

/**
 * A rate limit of a client that several processes share, for example 25 calls a second of one bot. Each process may make its
 * share of the calls. Without `setShare` a process may make all of them.
 */
export interface SharedBudget {
  /** The most calls of all processes together within any `windowMs`. */
  readonly total: number
  /** In ms. */
  readonly windowMs: number
  /** How many calls per `windowMs` growing texts of all processes together may make. Only other calls may make the rest. */
  readonly mostGrowing: number
  /**
   * Returns how many calls per `windowMs` this process wants: those that growing texts want, those of others that were made lately,
   * averaged over at least 10 s or since the process began, and those of others that this budget delays. Divide `total` by it.
   */
  demand(): number
  /**
   * Returns how many of these calls growing texts want. Each wants as many as its chat may show, so this may be more than `total`:
   * let texts divide what other calls leave. A text that began less than 1.5 s ago counts for a fifth of that, or for 2 calls if that is
   * more: it may be short.
   */
  growing(): number
  /** Returns how many calls of this process count now: those of the last `windowMs`, and those in flight. */
  used(): number
  /** Returns the calls of `used()`, by how long they count at most. There are up to 30 entries, the longest first. */
  usedFor(): readonly CountedCalls[]
  /**
   * Sets the most calls of this process within any `windowMs`: a whole number from 0, which allows none, to `total`. A smaller
   * share counts at once, also for calls that were made before. A larger one counts 250 ms after `afterMs`. Throws `SinkError`
   * of type `invalid` for other numbers.
   *
   * `afterMs`: how long the calls that other processes made with this part of the budget still count, in ms. Default:
   * `windowMs`, as if they had made them just before.
   *
   * `isFree`: true if your program gives out only what `used()` of the other processes leaves. A larger share then counts at once,
   * because `used()` has the calls in flight, too. Default false.
   *
   * `growsTo`: what the share is to be once others no longer count what they made. Growing texts are spaced by it, so that they use
   * what becomes free at once. Default: the share.
   *
   * `mostCounted`: how many calls may count until you set it again. If that is more than the share, because more was used, calls go on,
   * one per `windowMs / share`, while fewer than this count. Otherwise the process would be silent until enough of its calls no longer
   * count. If it is less, texts are still spaced by the share. Default: the share.
   */
  setShare(
    share: number,
    options?: {
      readonly afterMs?: number | undefined
      readonly isFree?: boolean | undefined
      readonly growsTo?: number | undefined
      readonly mostCounted?: number | undefined
    },
  ): void
  /** Pauses the calls of this budget, for example after a 429 in another process. Never shortens a pause. In ms. */
  freeze(forMs: number): void
  /**
   * Calls the listener when the platform pauses the calls of this budget after a 429 in this process, with the time in ms.
   * Pauses of a single chat and those of `freeze` are not reported. Returns a function that removes the listener.
   */
  onFrozen(listener: (forMs: number) => void): () => void
  /**
   * Calls the listener when this budget begins to delay a caller, because the share is used up. A larger one may help. Returns a
   * function that removes the listener.
   */
  onDelayed(listener: () => void): () => void
}

/** A number of calls, and how long they still count against a budget. */
export interface CountedCalls {
  readonly calls: number
  /** In ms, at most the budget's `windowMs`. */
  readonly forMs: number
}

/** What the pacer reads from a shared budget, and tells it. */
export interface Share extends Omit<SharedBudget, 'freeze' | 'used' | 'usedFor' | 'mostGrowing'> {
  /** Returns the shares by the time from which they count, in ms since the epoch. The first one counts already. */
  steps(): readonly [ShareStep, ...ShareStep[]]
  /** What the share is to be soon, see `setShare`. */
  growsTo(): number
  /** How many calls may count while they are more than the share, see `setShare`. */
  mostCounted(): number
  /** The most calls that may count now, whatever the share is. */
  mostNow(): number
  /** Counts a caller's text as growing. `wantedCalls` returns how many calls it wants within the budget's window. */
  startWriting(by: object, wantedCalls: () => number): void
  /** Call it when no text of the caller waits. It still counts for `pauseMs`, because text arrives in pieces. */
  pauseWriting(by: object): void
  /** Call it when the caller's text grows no more. */
  endWriting(by: object): void
  /** Forgets the calls of a caller whose chat another process goes on with. */
  forget(by: object): void
  /** Counts a call that was made. */
  recordCall(by: object): void
  /** Counts a caller whose call this budget delays, until its call is made. */
  recordWaiting(by: object): void
  /**
   * Returns how many growing texts go before the caller's, which is due: those that are due, too, and were written longer ago, or
   * wait for longer if they were never written. Call it again within `lookAgainMs`, or the caller loses its turn.
   */
  textsAhead(by: object, writtenAt: number | undefined): number
  /** Call it when the caller's text is not due. */
  loseTurn(by: object): void
  /** Reports a pause to the listeners. */
  reportFrozen(forMs: number): void
}

/** A share that counts from a time on. */
interface ShareStep {
  /** The most calls within the budget's window. */
  readonly calls: number
  /** In ms since the epoch. */
  readonly from: number
}

/**
 * How long after its start a call may reach the platform, in ms. Calls that are in flight while another process gets a larger
 * share must not meet the calls made with it.
 */
export const inTransitMs = 250

/** A text that has not grown for longer than this does not count as growing, in ms. */
export const pauseMs = 3000

/** Into how many parts a window is divided to tell how long calls still count: these times are rounded up to the next part. */
export const windowParts = 30

/** Returns calls by how long they count, rounded up to a part of the window. `ends`: until when each counts, in ms since the epoch. */
export function countedCalls(ends: readonly number[], windowMs: number, now: number): readonly CountedCalls[] {
  const partMs = windowMs / windowParts
  const counts = new Map<number, number>()
  for (const end of ends) {
    const part = Math.min(windowParts, Math.ceil((end - now) / partMs))
    if (part > 0) counts.set(part, (counts.get(part) ?? 0) + 1)
  }
  return [...counts].toSorted(([one], [other]) => other - one).map(([part, calls]) => ({ calls, forMs: part * partMs }))
}

/** How long calls count for the demand at least, in ms: shares that follow each burst would never be larger for long. */
const minDemandMs = 10_000

/** Creates the share of this process, which is the whole budget at first. */
export function createShare(
  { calls: total, perMs: windowMs }: Budget,
  { clock, lookAgainMs }: { readonly clock: Clock; readonly lookAgainMs: number },
): Share {
  const demandMs = Math.max(windowMs, minDemandMs)
  /** Ordered by time and by calls. The first counts already. */
  let steps: readonly [ShareStep, ...ShareStep[]] = [{ calls: total, from: Number.NEGATIVE_INFINITY }]
  let next = total
  let most: number | undefined
  let made: { readonly at: number; readonly by: object }[] = []
  /** The growing texts, how many calls each wants, and since when it pauses. */
  const writing = new Map<object, { readonly wantedCalls: () => number; readonly pausedAt: number | undefined }>()
  /** When each caller was last delayed. It looks again in time, so older entries have given up. */
  const waitingSince = new Map<object, number>()
  /** The growing texts that are due, by caller. */
  const dueTexts = new Map<object, { readonly since: number; readonly lookedAt: number }>()
  const listeners = new Set<(forMs: number) => void>()
  const delayListeners = new Set<() => void>()
  const beganAt = clock.now()
  return {
    total,
    windowMs,
    demand: () => growing() + needed(),
    growing,
    setShare,
    steps: currentSteps,
    growsTo: () => next,
    mostCounted: () => (most === undefined ? 0 : Math.max(most, currentSteps()[0].calls)),
    mostNow: () => most ?? total,
    startWriting: (by, wantedCalls) => writing.set(by, { wantedCalls, pausedAt: undefined }),
    pauseWriting: (by) => {
      const one = writing.get(by)
      if (one) writing.set(by, { ...one, pausedAt: one.pausedAt ?? clock.now() })
    },
    endWriting: (by) => {
      writing.delete(by)
      dueTexts.delete(by)
    },
    forget: (by) => {
      writing.delete(by)
      waitingSince.delete(by)
      dueTexts.delete(by)
      made = made.filter((one) => one.by !== by)
    },
    recordCall: (by) => {
      const now = clock.now()
      waitingSince.delete(by)
      dueTexts.delete(by)
      made = made.filter(({ at }) => at > now - demandMs)
      if (!writing.has(by)) made.push({ at: now, by })
    },
    recordWaiting: (by) => {
      const isNew = !waitingSince.has(by)
      waitingSince.set(by, clock.now())
      if (isNew) for (const listener of delayListeners) listener()
    },
    textsAhead: (by, writtenAt) => {
      const now = clock.now()
      for (const [one, { lookedAt }] of dueTexts) if (lookedAt < now - 2 * lookAgainMs) dueTexts.delete(one)
      const since = writtenAt ?? dueTexts.get(by)?.since ?? now
      dueTexts.set(by, { since, lookedAt: now })
      return [...dueTexts.values()].filter((one) => one.since < since).length
    },
    loseTurn: (by) => dueTexts.delete(by),
    onDelayed: (listener) => {
      delayListeners.add(listener)
      return () => delayListeners.delete(listener)
    },
    reportFrozen: (forMs) => {
      for (const listener of listeners) listener(forMs)
    },
    onFrozen: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }

  /** Returns the calls per window of other callers that were made lately, and one for each that waits. Rounded up. */
  function needed(): number {
    const now = clock.now()
    for (const [by, at] of waitingSince) if (at < now - windowMs - lookAgainMs) waitingSince.delete(by)
    // A process that began a moment ago has made few calls, however many it needs. Its clock may have been set back since.
    const overMs = Math.min(demandMs, Math.max(windowMs, now - beganAt))
    const count = made.filter(({ at }) => at > now - demandMs).length
    return Math.ceil((count * windowMs) / overMs) + [...waitingSince.keys()].filter((by) => !writing.has(by)).length
  }

  /** Returns the calls per window that growing texts want. Rounded up. */
  function growing(): number {
    const now = clock.now()
    for (const [by, { pausedAt }] of writing) if (pausedAt !== undefined && pausedAt < now - pauseMs) writing.delete(by)
    const wanted = [...writing.values()].reduce((sum, { wantedCalls }) => sum + wantedCalls(), 0)
    // Sums of fractions may be a little more than a whole number.
    return Math.ceil(wanted - 1e-6)
  }

  /** Lowers all steps to the share. If it is larger than the first, its step begins when one at least as large would have. */
  function setShare(share: number, options: Parameters<SharedBudget['setShare']>[1] = {}): void {
    const { afterMs = windowMs, isFree = false, growsTo = share, mostCounted } = options
    if (!Number.isInteger(share) || share < 0 || share > total)
      throw new SinkError(
        'invalid',
        `A share of ${share} calls is not possible: use a whole number from 0 to ${total}.`,
      )
    next = growsTo
    most = mostCounted
    const [current, ...later] = currentSteps()
    const lowered = later.filter(({ calls }) => calls < share)
    const announced = later.find(({ calls }) => calls >= share)?.from ?? Number.POSITIVE_INFINITY
    const from = Math.min(announced, clock.now() + (isFree ? 0 : afterMs + inTransitMs))
    steps =
      share > current.calls
        ? [current, ...lowered.filter((step) => step.from < from), { calls: share, from }]
        : [{ calls: share, from: Number.NEGATIVE_INFINITY }]
  }

  /** Drops the steps that a later one has replaced, and returns the rest. */
  function currentSteps(): readonly [ShareStep, ...ShareStep[]] {
    const now = clock.now()
    const [first, ...later] = steps
    const counted = later.findLast(({ from }) => from <= now) ?? first
    steps = [counted, ...later.filter(({ from }) => from > now)]
    return steps
  }
}
