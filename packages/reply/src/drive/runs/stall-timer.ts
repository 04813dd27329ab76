import type { ChangeType } from '../../change.ts'
import type { SteadyClock } from '../../clock.ts'
import type { Reply } from '../../reply.ts'
import type { TrackedStep } from '../../track/state.ts'

export interface StallTimerOptions {
  readonly clock: SteadyClock
  readonly stalledAfterMs: { readonly first: number; readonly later: number }
  /** Called when the reply made no progress for too long, and when it makes progress again. */
  readonly onStalled: (sessionID: string, stalled: boolean) => void
}

/** A caller's own limit for a reply. */
export interface Limit {
  /** How long the reply may go without progress, in ms. */
  readonly timeoutMs: number
  /** Called once, after that time without progress. */
  readonly onTimeOut: () => void
}

export interface StallTimer {
  note(step: TrackedStep): void
  /** Adds a limit to the session's open reply. Each limit is independent. */
  limit(sessionID: string, limit: Limit): void
  stop(): void
}

interface Watch {
  reply: Reply
  readonly run: number
  lastAt: number
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
 * Measures progress. Real work resets the timer, while heartbeats and repeated statuses don't. Pauses while an ask
 * waits for a person.
 */
export function createStallTimer(options: StallTimerOptions): StallTimer {
  const { clock } = options
  const watches = new Map<string, Watch>()
  return { note, limit, stop }

  function note(step: TrackedStep): void {
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
    const isWork = changes.some((change) => !idleTypes.has(change.type))
    if (!watch) return begin(step)
    const wasResting = watch.reply.phase === 'blocked'
    watch.reply = reply
    if (isWork || wasResting) watch.lastAt = clock.monotonic()
    if (isWork) watch.hasBegun = true
    if (isWork && reply.stalled) options.onStalled(sessionID, false)
  }

  function begin({ reply, run }: TrackedStep): void {
    const watch: Watch = { reply, run, lastAt: clock.monotonic(), hasBegun: false, limits: [], stop: () => {} }
    watches.set(reply.sessionID, watch)
    arm(watch)
  }

  function limit(sessionID: string, added: Limit): void {
    const watch = watches.get(sessionID)
    if (!watch) return
    watch.limits = [...watch.limits, added]
    watch.stop()
    arm(watch)
  }

  /** Sets one timer per reply to the earliest limit. Events only update the time. */
  function arm(watch: Watch): void {
    const limitMs = nextLimit(watch)
    const dueMs = limitMs - (clock.monotonic() - watch.lastAt)
    // A limit that has passed, for example of a reply that waits to retry, is checked again after the same time.
    watch.stop = clock.after(dueMs > 0 ? dueMs : limitMs, () => check(watch))
  }

  function nextLimit(watch: Watch): number {
    const stalledMs = watch.reply.stalled ? Number.POSITIVE_INFINITY : stallLimit(watch)
    const limitMs = Math.min(stalledMs, ...watch.limits.map(({ timeoutMs }) => timeoutMs))
    return Number.isFinite(limitMs) ? limitMs : options.stalledAfterMs.later
  }

  function stallLimit(watch: Watch): number {
    return watch.hasBegun ? options.stalledAfterMs.later : options.stalledAfterMs.first
  }

  function check(watch: Watch): void {
    const { sessionID } = watch.reply
    if (watches.get(sessionID) !== watch) return
    if (watch.reply.phase === 'blocked') watch.lastAt = clock.monotonic()
    const silentMs = clock.monotonic() - watch.lastAt
    const due = watch.limits.filter(({ timeoutMs }) => silentMs >= timeoutMs)
    watch.limits = watch.limits.filter((other) => !due.includes(other))
    for (const { onTimeOut } of due) onTimeOut()
    if (watches.get(sessionID) !== watch) return
    // A reply that waits to retry is not stalled.
    const canStall = !watch.reply.stalled && watch.reply.phase !== 'retrying'
    if (canStall && silentMs >= stallLimit(watch)) options.onStalled(sessionID, true)
    arm(watch)
  }

  function stop(): void {
    for (const watch of watches.values()) watch.stop()
    watches.clear()
  }
}
