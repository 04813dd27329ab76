import type { Clock, Reply } from '@reply/core'
import type { Policy } from '../config.ts'
import { earliest } from '../earliest.ts'
import type { Slot } from '../layout/slot.ts'
import { backOffMs } from '../port/back-off.ts'
import type { CallKind, Limits } from '../port/limits.ts'
import type { PortError } from '../port/port-error.ts'
import type { Mode } from '../view/view.ts'
import { isRetriedWithMoreText } from './call-result.ts'
import type { Operation } from './operation.ts'
import { type ChatPace, pauseIfRateLimited } from './pace.ts'

/** When each operation of one reply may be sent. */
export interface Schedule {
  /** Returns when the operation may be performed, in ms since the epoch. A past time means now. */
  readyAt(operation: Operation): number
  /** Whether it only waits for its first text to have a sentence or forty characters. */
  isGathering(operation: Operation): boolean
  /** Registers which growing text of these waits to be written, for the other replies that share a budget. */
  setWaitingText(operations: readonly Operation[]): void
  /**
   * Goes on after the last call of an earlier process, in ms since the epoch, so that a growing text keeps its interval: two edits in a
   * short time would use up a burst, and the one after them would be late.
   */
  continueAfter(calledAt: number): void
  /** Registers that no text grows any more. `stopped`: because another process may go on with the reply. */
  endText(how: 'settled' | 'stopped'): void
  /** False for a growing text that was refused and has not changed since. */
  isDue(operation: Operation): boolean
  /** Whether the slot's text is growing and was refused the last time. */
  isRefused(slot: Slot): boolean
  /** Whether calls are held back because one failed recently. */
  isHeldBack(): boolean
  /**
   * Returns when a settled reply with remaining operations is given up, in ms since the epoch: `Policy.giveUpMs` after it
   * settled, was amended or made progress, whichever was last.
   */
  giveUpAt(reply: Reply, operations: readonly Operation[]): number | undefined
  /** Restarts the time for `giveUpAt`. */
  restartGiveUp(): void
  /**
   * Notes when the call was made, for the spacing of growing text. Also resets the back-off and the time for
   * `giveUpAt`, except after a look-up.
   */
  recordSuccess(operation: Operation): void
  /**
   * Delays the next operations after a rate limit, an unreachable platform or an unknown result, and growing text after
   * a refusal.
   */
  recordFailure(operation: Operation, call: CallKind, error: PortError): void
}

/** A text that was refused while it grew. */
interface RefusedText {
  readonly body: string
  readonly count: number
  /** When newer text may be tried, in ms since the epoch. */
  readonly retryAt: number
}

/** Creates the schedule of one reply's operations. */
export function createSchedule({
  pace,
  policy,
  limits,
  mode,
  clock,
  callKindFor,
}: {
  readonly pace: ChatPace
  readonly policy: Policy
  readonly limits: Limits
  readonly mode: Mode
  readonly clock: Clock
  /** Returns the kind of call that performs the operation. */
  readonly callKindFor: (operation: Operation) => CallKind
}): Schedule {
  const owner = {}
  const intervalMs = Math.max(
    policy.editIntervalMs ?? limits.editIntervalMs,
    mode === 'append' ? policy.appendIntervalMs : 0,
  )
  const firstSeen = new Map<string, number>()
  let writtenAt = Number.NEGATIVE_INFINITY
  let failures = 0
  let retryAt = 0
  const refused = new Map<string, RefusedText>()
  /** The settled reply that makes no progress, and when that began. */
  let stalled: { readonly reply: Reply; readonly since: number } | undefined
  return {
    giveUpAt,
    restartGiveUp: () => {
      stalled = undefined
    },
    readyAt: (operation) => Math.max(allowedAt(operation), gatheredAt(operation)),
    isGathering: (operation) =>
      mode !== 'append' && gatheredAt(operation) > clock.now() && allowedAt(operation) <= clock.now(),
    setWaitingText: (operations) => {
      const text = operations.find((one) => one.priority === 'text' && writesGrowingText(one))
      pace.setGrowingText(owner, text && callKindFor(text), intervalMs)
    },
    continueAfter: (calledAt) => {
      // The clock of the other process may be ahead.
      writtenAt = Math.max(writtenAt, Math.min(calledAt, clock.now()))
    },
    endText: (how) => pace.endGrowingText(owner, how),
    isDue,
    isRefused: ({ key, isGrowing }) => isGrowing && refused.has(key),
    isHeldBack: () => retryAt > clock.now(),
    recordSuccess,
    recordFailure,
  }

  /**
   * Returns when the budgets and recent failures allow the operation. Growing text also keeps the platform's interval
   * and its share of the budget. Final text and asks don't wait for either.
   */
  function allowedAt(operation: Operation): number {
    const kind = callKindFor(operation)
    const at = Math.max(pace.readyAt(operation.priority, kind), retryAt)
    if (!writesGrowingText(operation)) return at
    const spaced = Math.max(writtenAt + intervalMs, pace.spacedAt(owner, kind, writtenAt))
    return Math.max(at, spaced, refusedTextOf(operation)?.retryAt ?? 0)
  }

  /**
   * Returns when a post no longer waits for more of its growing text, in ms since the epoch. A text of a few letters waits up
   * to `firstFlushMs`. Where messages can't be edited, each one waits that long. 0 for all other operations.
   */
  function gatheredAt(operation: Operation): number {
    if (operation.type !== 'post' || !operation.slot.isGrowing || !writesGrowingText(operation)) return 0
    const at = firstSeenAt(operation.slot.key) + policy.firstFlushMs
    return mode !== 'append' && hasEnoughText(operation.slot) ? 0 : at
  }

  /**
   * Returns when the reply is given up, in ms since the epoch. Undefined unless it is settled and operations remain.
   * Notes when that began, so it must be called at each pass.
   */
  function giveUpAt(reply: Reply, { length }: readonly Operation[]): number | undefined {
    const isWaiting = reply.phase === 'settled' && length > 0
    if (!isWaiting || stalled?.reply !== reply) stalled = isWaiting ? { reply, since: clock.now() } : undefined
    return stalled && stalled.since + policy.giveUpMs
  }

  /** Whether the operation shows anything new. False for a growing text that was refused and has not changed since. */
  function isDue(operation: Operation): boolean {
    const before = refusedTextOf(operation)
    return before === undefined || !('slot' in operation) || operation.slot.body !== before.body
  }

  /** Returns how the slot's text was refused the last time. Undefined if it was not, or no longer grows. */
  function refusedTextOf(operation: Operation): RefusedText | undefined {
    if (!('slot' in operation) || !operation.slot.isGrowing) return undefined
    return refused.get(operation.slot.key)
  }

  /** Returns when this message was first scheduled, in ms since the epoch. */
  function firstSeenAt(key: string): number {
    const at = firstSeen.get(key) ?? clock.now()
    firstSeen.set(key, at)
    return at
  }

  /** Notes the time of the call. Resets the back-off and the time for `giveUpAt`, except after a look-up. */
  function recordSuccess(operation: Operation): void {
    writtenAt = clock.now()
    // A successful look-up does not mean that posts work.
    if (operation.type === 'look-up') return
    failures = 0
    stalled = undefined
    if ('slot' in operation) refused.delete(operation.slot.key)
  }

  /**
   * Pauses the chat after a rate limit, and delays the next call if the platform is unreachable or the result unknown.
   * A growing text that was refused waits for more text.
   */
  function recordFailure(operation: Operation, call: CallKind, error: PortError): void {
    writtenAt = clock.now()
    pauseIfRateLimited(pace, error, call)
    if (isRetriedWithMoreText(operation, error)) {
      const { key, body } = operation.slot
      const count = refused.get(key)?.count ?? 0
      refused.set(key, { body, count: count + 1, retryAt: clock.now() + backOffMs(count) })
    }
    if (error.type !== 'unreachable' && error.type !== 'ambiguous') return
    retryAt = clock.now() + backOffMs(failures)
    failures += 1
  }
}

/** A first text is shown once it has this many UTF-16 units or ends a sentence. */
const enoughUnits = 40
const sentenceEndPattern = /\p{L}["'”’)\]*_`]*[.!?…:]["'”’)\]*_`]*(?:\s|$)|[。！？]/u

/** Whether a first text has `enoughUnits` or ends a sentence. */
function hasEnoughText({ card, piece }: Slot): boolean {
  const text = card.source.slice(piece?.from, piece?.to).trim()
  return text.length >= enoughUnits || sentenceEndPattern.test(text)
}

/** Whether the operation writes text that is still growing or changing. */
function writesGrowingText({ type, priority }: Operation): boolean {
  return (priority === 'text' || priority === 'status') && type !== 'remove' && type !== 'look-up'
}

/** The timer of one reply. */
interface Wake {
  /**
   * Wakes it at `time`, or as soon as one of the operations may be performed. Replaces the previous timer. Without either,
   * sets none.
   */
  wakeAt(time: number | undefined, operations: readonly Operation[]): void
  /** Removes the timer, if there is one. */
  stop(): void
}

/**
 * Creates the timer that calls `work` when an operation is ready. Another chat may use up the client's budget first, and then
 * the timer is only set again. `readyAt` returns when an operation may be performed, in ms since the epoch.
 */
export function createWake(clock: Clock, readyAt: (operation: Operation) => number, work: () => void): Wake {
  let stop = (): void => {}
  return { wakeAt: setTimer, stop: () => stop() }

  /**
   * Replaces the timer by one for `time` or the first ready operation, whichever is earlier. Sets none without either. If
   * nothing is ready when it fires, sets it again.
   */
  function setTimer(time: number | undefined, operations: readonly Operation[]): void {
    stop()
    const dueAt = earliest(time, ...operations.map(readyAt))
    if (dueAt === undefined) return
    stop = clock.after(Math.max(0, dueAt - clock.now()), () => {
      const now = clock.now()
      const isDue = (time !== undefined && time <= now) || operations.some((operation) => readyAt(operation) <= now)
      if (isDue) work()
      else setTimer(time, operations)
    })
  }
}
