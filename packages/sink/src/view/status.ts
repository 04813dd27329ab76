import { currentActivity, type Reply } from '@reply/core'
import { statusKey } from '../ledger/keys.ts'
import type { Words } from '../words.ts'
import { oneLine, toolLabel } from './format.ts'
import { amount, contextPercent } from './numbers.ts'
import type { Timed, ViewOptions } from './view.ts'

/** What a status line says, in the order to show it. */
export interface StatusFacts {
  /** What the agent does, in one line of plain words. */
  readonly activity: string
  /** Undefined if the start is unknown. */
  readonly elapsed: string | undefined
  /** Which call of the model this is, from the second on. */
  readonly step: string | undefined
  /** How full the model's context is. Undefined if unknown. */
  readonly context: string | undefined
}

/** The time and the words of a status line. */
export interface StatusOptions {
  /** In ms since the epoch. */
  readonly now: number
  /** Times are shown in steps of this, in ms. Default 1,000. */
  readonly stepMs?: number | undefined
  /** `words`, or those of another language. */
  readonly words: Words
}

/** The facts of a status line, the same in a chat and in a terminal. */
export function statusFacts(reply: Reply, options: StatusOptions): StatusFacts {
  const { now, stepMs = 1000, words } = options
  const { startedAt, usage } = reply
  const percent = contextPercent(reply)
  return {
    activity: activityOf(reply, options),
    // A recording without times begins at 0.
    elapsed: startedAt ? words.elapsed(Math.floor((now - startedAt) / stepMs) * stepMs) : undefined,
    step: usage.steps > 0 ? words.step(usage.steps + 1) : undefined,
    context: percent === undefined ? undefined : words.context(percent),
  }
}

/** Updated at each tick, and at once when the activity changes. Shows the context from 60 percent on. */
export function statusCard(reply: Reply, { mode, policy, words, now }: ViewOptions): Timed {
  const { startedAt = now, phase } = reply
  const { statusTickMs } = policy
  if (mode !== 'live' || policy.verbosity === 'quiet' || phase === 'settled' || phase === 'blocked') return {}
  const due = startedAt + policy.statusAfterMs
  if (now < due) return { nextAt: due }
  const { activity, elapsed, step, context } = statusFacts(reply, { now, stepMs: statusTickMs, words })
  const nextAt = startedAt + (Math.floor((now - startedAt) / statusTickMs) + 1) * statusTickMs
  const facts = [
    activity,
    now - startedAt < statusTickMs ? undefined : elapsed,
    step,
    (contextPercent(reply) ?? 0) < 60 ? undefined : context,
  ]
  const source = facts.filter((fact) => fact !== undefined && fact.trim() !== '').join(' · ')
  return { card: { type: 'status', key: statusKey, source }, nextAt }
}

/** The current activity, in one line of plain words. */
export function activityOf(reply: Reply, options: StatusOptions): string {
  const { words } = options
  if (reply.connection === 'lost') return words.lostConnection
  if (reply.retry) return retryText(reply.retry, options)
  const { compaction } = reply
  if (compaction?.state === 'running')
    return words.compacting(compaction.tokensBefore === undefined ? undefined : amount(compaction.tokensBefore))
  const activity = currentActivity(reply)
  if (reply.stalled) return words.stalled
  if (activity === undefined) return reply.phase === 'waiting' ? words.waiting : words.working
  if (activity === 'thinking') return words.thinking
  if (activity === 'writing') return words.writing
  return oneLine(toolLabel(activity), 120)
}

/** Why and when the server tries again. */
export function retryText(
  { message, nextAt, attempt }: NonNullable<Reply['retry']>,
  { now, stepMs = 1000, words }: StatusOptions,
): string {
  const waitMs = nextAt === undefined ? undefined : Math.ceil(Math.max(0, nextAt - now) / stepMs) * stepMs
  return words.retrying({ message: oneLine(message, 80), wait: waitMs ? words.elapsed(waitMs) : undefined, attempt })
}
