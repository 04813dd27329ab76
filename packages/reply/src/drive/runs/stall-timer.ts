import type { ChangeType } from '../../change.ts'
import type { SteadyClock } from '../../clock.ts'
import type { Reply } from '../../reply.ts'
import type { TrackedStep } from '../../track/state.ts'

export interface StallTimer {
  /** Restarts the reply's time without progress if the step is progress. Begins with an open reply and ends with it. */
  noteStep(step: TrackedStep): void
  /**
   * Calls `onTimeOut` once, when the session's open reply has made no progress for `timeoutMs`. Does nothing if no
   * reply is open. Each limit is independent.
   */
  addTimeout(sessionID: string, timeoutMs: number, onTimeOut: () => void): void
  /** Stops all timers, so nothing is called any more. */
  stop(): void
}

/** A caller's own limit for a reply. */
interface Limit {
  readonly timeoutMs: number
  readonly onTimeOut: () => void
}

interface Watch {
  reply: Reply
  readonly run: number
  /** The time of the last progress, or later if an ask was waiting, in ms of the monotonic clock. */
  progressAt: number
  /** Whether anything has arrived from the server. */
  hasBegun: boolean
  limits: readonly Limit[]
  stop: () => void
}

/** Changes that don't count as progress: our own, and those that the server repeats while nothing happens. */
const idleTypes: ReadonlySet<ChangeType> = new Set<ChangeType>([
  'replyStarted',
  'phaseChanged',
  'connectionChanged',
  'stalledChanged',
  'usageChanged',
  'replyAmended',
])

/**
 * Creates the timer that calls `onStalled` with true when a reply has made no progress for `stalledAfterMs`, and with
 * false when it makes progress again. Heartbeats and repeated statuses are no progress. Pauses while an ask waits for a
 * person.
 */
export function createStallTimer(
  clock: SteadyClock,
  stalledAfterMs: { readonly first: number; readonly later: number },
  onStalled: (sessionID: string, stalled: boolean) => void,
): StallTimer {
  const watches = new Map<string, Watch>()
  return { noteStep, addTimeout, stop: stopAllTimers }

  /**
   * Restarts the reply's time without progress if the step is progress, or if an ask was open before it. Reports a
   * stalled reply that makes progress. Starts to measure a new reply, and drops a settled one. Ignores a late step of
   * an earlier reply.
   */
  function noteStep(step: TrackedStep): void {
    const { reply, changes } = step
    const { sessionID } = reply
    const watch = watches.get(sessionID)
    // A late event of an earlier reply.
    if (watch && step.run < watch.run) return
    if (reply.phase === 'settled') {
      watch?.stop()
      watches.delete(sessionID)
      return
    }
    const isProgress = changes.some((change) => !idleTypes.has(change.type))
    if (!watch) return startWatch(step)
    const wasBlocked = watch.reply.phase === 'blocked'
    watch.reply = reply
    if (isProgress || wasBlocked) watch.progressAt = clock.monotonic()
    if (isProgress) watch.hasBegun = true
    if (isProgress && reply.stalled) onStalled(sessionID, false)
  }

  /** Begins to measure a reply, in place of the session's earlier one. */
  function startWatch({ reply, run }: TrackedStep): void {
    const watch: Watch = { reply, run, progressAt: clock.monotonic(), hasBegun: false, limits: [], stop: () => {} }
    watches.set(reply.sessionID, watch)
    armTimer(watch)
  }

  /**
   * Adds the time-out of a prompt to the session's open reply, and sets its timer again. Calls `onTimeOut` once, after
   * `timeoutMs` without progress. Does nothing without an open reply.
   */
  function addTimeout(sessionID: string, timeoutMs: number, onTimeOut: () => void): void {
    const watch = watches.get(sessionID)
    if (!watch) return
    watch.limits = [...watch.limits, { timeoutMs, onTimeOut }]
    watch.stop()
    armTimer(watch)
  }

  /**
   * Sets the reply's only timer to its earliest limit. A limit that has passed already is looked at again after the
   * same time.
   */
  function armTimer(watch: Watch): void {
    const limitMs = shortestLimitMs(watch)
    const dueMs = limitMs - (clock.monotonic() - watch.progressAt)
    // A limit that has passed, for example of a reply that waits to retry, is checked again after the same time.
    watch.stop = clock.after(dueMs > 0 ? dueMs : limitMs, () => reportDueAndRearm(watch))
  }

  /**
   * The time without progress at which to look next, in ms: the earliest of the callers' limits and the time until the
   * reply is stalled. `stalledAfterMs.later` if none of them is left.
   */
  function shortestLimitMs(watch: Watch): number {
    const stalledMs = watch.reply.stalled ? Number.POSITIVE_INFINITY : stallLimitMs(watch)
    const limitMs = Math.min(stalledMs, ...watch.limits.map(({ timeoutMs }) => timeoutMs))
    return Number.isFinite(limitMs) ? limitMs : stalledAfterMs.later
  }

  /** After how long without progress the reply is stalled, in ms. */
  function stallLimitMs(watch: Watch): number {
    return watch.hasBegun ? stalledAfterMs.later : stalledAfterMs.first
  }

  /**
   * Calls and drops each limit that is due, reports a stalled reply, and sets the timer again. Time in which an ask
   * waits for a person doesn't count, and a reply that waits to retry isn't stalled. Does nothing if the reply has
   * settled or was replaced.
   */
  function reportDueAndRearm(watch: Watch): void {
    const { sessionID } = watch.reply
    if (watches.get(sessionID) !== watch) return
    if (watch.reply.phase === 'blocked') watch.progressAt = clock.monotonic()
    const silentMs = clock.monotonic() - watch.progressAt
    const due = watch.limits.filter(({ timeoutMs }) => silentMs >= timeoutMs)
    watch.limits = watch.limits.filter((other) => !due.includes(other))
    for (const { onTimeOut } of due) onTimeOut()
    if (watches.get(sessionID) !== watch) return
    // A reply that waits to retry is not stalled.
    const canStall = !watch.reply.stalled && watch.reply.phase !== 'retrying'
    if (canStall && silentMs >= stallLimitMs(watch)) onStalled(sessionID, true)
    armTimer(watch)
  }

  /** Stops and drops all timers. A later step of an open reply starts to measure again. */
  function stopAllTimers(): void {
    for (const watch of watches.values()) watch.stop()
    watches.clear()
  }
}
