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
  /**
   * Returns how many calls per `windowMs` this process wants: those that it made lately, averaged over at least 10 s or since
   * it began, and those that this budget delays. Divide `total` by it.
   */
  demand(): number
  /** Returns how many calls of this process count now: those of the last `windowMs`, and those in flight. */
  used(): number
  /**
   * Sets the most calls of this process within any `windowMs`: a whole number from 0, which allows none, to `total`. A smaller
   * share counts at once, also for calls that were made before. A larger one counts 250 ms after `afterMs`. Throws `SinkError`
   * of type `invalid` for other numbers.
   *
   * `afterMs`: how long the calls that other processes made with this part of the budget still count, in ms. Default:
   * `windowMs`, as if they had made them just before. 0 if your program gives out only what `used()` says is free.
   */
  setShare(share: number, options?: { readonly afterMs?: number | undefined }): void
  /** Pauses the calls of this budget, for example after a 429 in another process. Never shortens a pause. In ms. */
  freeze(forMs: number): void
  /**
   * Calls the listener when the platform pauses the calls of this budget after a 429 in this process, with the time in ms.
   * Pauses of a single chat and those of `freeze` are not reported. Returns a function that removes the listener.
   */
  onFrozen(listener: (forMs: number) => void): () => void
}

/** What the pacer reads from a shared budget, and tells it. */
export interface Share extends Omit<SharedBudget, 'freeze' | 'used'> {
  /** Returns the shares by the time from which they count, in ms since the epoch. The first one counts already. */
  steps(): readonly [ShareStep, ...ShareStep[]]
  /** Counts a call that was made. */
  recordCall(by: object): void
  /** Counts a caller whose call this budget delays, until its call is made. */
  recordWaiting(by: object): void
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

/** How often a caller without a turn looks again whether its process has a larger share, in ms. */
export const lookAgainMs = 1000

/** How long calls count for the demand at least, in ms: shares that follow each burst would never be larger for long. */
const minDemandMs = 10_000

/** Creates the share of this process, which is the whole budget at first. */
export function createShare({ calls: total, perMs: windowMs }: Budget, clock: Clock): Share {
  const demandMs = Math.max(windowMs, minDemandMs)
  /** Ordered by time and by calls. The first counts already. */
  let steps: readonly [ShareStep, ...ShareStep[]] = [{ calls: total, from: Number.NEGATIVE_INFINITY }]
  let madeAt: number[] = []
  /** When each caller was last delayed. It looks again in time, so older entries have given up. */
  const waitingSince = new Map<object, number>()
  const listeners = new Set<(forMs: number) => void>()
  const beganAt = clock.now()
  return {
    total,
    windowMs,
    demand,
    setShare,
    steps: currentSteps,
    recordCall: (by) => {
      const now = clock.now()
      waitingSince.delete(by)
      madeAt = [...madeAt.filter((at) => at > now - demandMs), now]
    },
    recordWaiting: (by) => waitingSince.set(by, clock.now()),
    reportFrozen: (forMs) => {
      for (const listener of listeners) listener(forMs)
    },
    onFrozen: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }

  /** Returns the calls per window that were made lately, and the callers that wait. Rounded up. */
  function demand(): number {
    const now = clock.now()
    for (const [by, at] of waitingSince) if (at < now - windowMs - lookAgainMs) waitingSince.delete(by)
    const made = madeAt.filter((at) => at > now - demandMs).length
    // A process that began a moment ago has made few calls, however many it needs. Its clock may have been set back since.
    const overMs = Math.min(demandMs, Math.max(windowMs, now - beganAt))
    return Math.ceil((made * windowMs) / overMs) + waitingSince.size
  }

  /** Lowers all steps to the share. If it is larger than the first, its step begins when one at least as large would have. */
  function setShare(share: number, { afterMs = windowMs }: { readonly afterMs?: number | undefined } = {}): void {
    if (!Number.isInteger(share) || share < 0 || share > total)
      throw new SinkError(
        'invalid',
        `A share of ${share} calls is not possible: use a whole number from 0 to ${total}.`,
      )
    const [current, ...later] = currentSteps()
    const lowered = later.filter(({ calls }) => calls < share)
    const announced = later.find(({ calls }) => calls >= share)?.from ?? Number.POSITIVE_INFINITY
    const from = Math.min(announced, clock.now() + afterMs + inTransitMs)
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
