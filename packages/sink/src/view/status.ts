import type { Reply } from '@reply/core'
import { contextPercent } from '@reply/core/show'
import { statusKey } from '../ledger/keys.ts'
import type { Texts } from '../texts.ts'
import { earliest } from '../times.ts'
import { type Activity, activityOf } from './activity.ts'
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
  readonly texts: Texts
}

/** The facts of a status line, the same in a chat and in a terminal. The time is the reply's. */
export function statusFacts(reply: Reply, options: StatusOptions): StatusFacts {
  const { now, stepMs = 1000, texts } = options
  const { startedAt, usage } = reply
  const percent = contextPercent(reply)
  return {
    activity: activityOf(reply, options).text,
    // A recording without times begins at 0.
    elapsed: startedAt ? texts.elapsed(Math.floor((now - startedAt) / stepMs) * stepMs) : undefined,
    step: usage.steps > 0 ? texts.step(usage.steps + 1) : undefined,
    context: percent === undefined ? undefined : texts.context(percent),
  }
}

/**
 * Updated at each tick, and at once when the activity changes. Its time is that of the activity, and of a sub-agent as a
 * whole. Shows the context from 60 percent on.
 */
export function statusCard(reply: Reply, options: ViewOptions): Timed {
  const { mode, policy, texts, now } = options
  const { startedAt = now, phase } = reply
  const { statusTickMs } = policy
  if (mode !== 'live' || policy.verbosity === 'quiet' || phase === 'settled') return {}
  // Read also before the status is shown and while an ask waits: the time counts from when the activity was first seen.
  const begin = beginOf(reply, options)
  if (phase === 'blocked') return {}
  const due = startedAt + policy.statusAfterMs
  if (now < due) return { nextAt: due }
  const stepped = { now, stepMs: statusTickMs, texts }
  const { step, context } = statusFacts(reply, stepped)
  const ticks = Math.floor((now - begin) / statusTickMs)
  const facts = [
    chatActivityOf(reply, stepped).text,
    ticks < 1 ? undefined : texts.elapsed(ticks * statusTickMs),
    step,
    (contextPercent(reply) ?? 0) < 60 ? undefined : context,
    options.label,
  ]
  const source = facts.filter((fact) => fact !== undefined && fact.trim() !== '').join(' · ')
  const aloneAt = aloneFrom(reply, options)
  const nextAt = earliest(begin + (ticks + 1) * statusTickMs, now < aloneAt ? aloneAt : undefined)
  const isOnlyBelow = now < aloneAt && { isOnlyBelow: true as const }
  return { card: { type: 'status', key: statusKey, source, ...isOnlyBelow }, nextAt }
}

/**
 * Where each post notifies, a status has a message of its own only after a silence, and then that is edited. Text says by
 * itself that the agent works.
 */
function aloneFrom(reply: Reply, { policy, texts, now, shown, rings = false }: ViewOptions): number {
  if (!rings || shown.posted.has(statusKey)) return 0
  if (chatActivityOf(reply, { now, texts }).key === 'text') return Number.POSITIVE_INFINITY
  return Math.max(shown.postedAt ?? 0, reply.startedAt ?? 0) + policy.heartbeatMs
}

const blocked: Activity = { key: 'blocked', text: '' }

/** In a chat, that the prompt is waiting is not worth an edit once it is not. */
function chatActivityOf(reply: Reply, options: StatusOptions): Activity {
  const activity = activityOf(reply, options)
  return activity.key === 'waiting' ? { key: 'working', text: options.texts.working } : activity
}

/** When what the reply does now began, in ms since the epoch. */
function beginOf(reply: Reply, { now, texts, activitySince }: ViewOptions): number {
  const activity = reply.phase === 'blocked' ? blocked : chatActivityOf(reply, { now, texts })
  // Each activity is noted, also one with a time of its own: what comes after it is not what came before it.
  const seen = activitySince?.(activity)
  return Math.min(now, activity.since ?? seen ?? reply.startedAt ?? now)
}

/** When activities began that the reply itself gives no time for: when they were first seen. */
export interface ActivityTimes {
  /** The time of that activity, in ms since the epoch. `now` if it is another than before: call it for each one. */
  since(activity: Activity, now: number): number
}

/** Remembers the newest activity. */
export function createActivityTimes(): ActivityTimes {
  let newest: { readonly key: string; readonly since: number } | undefined
  return {
    since: ({ key }, now) => {
      if (newest?.key !== key) newest = { key, since: now }
      return newest.since
    },
  }
}
