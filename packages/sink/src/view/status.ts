import type { Reply } from '@reply/core'
import { contextPercent } from '@reply/core/show'
import { earliest } from '../earliest.ts'
import { statusKey } from '../ledger/keys.ts'
import type { Texts } from '../texts.ts'
import { type Activity, activityOf } from './activity.ts'
import { pageLink } from './format.ts'
import type { TimedCard, ViewOptions } from './view.ts'

/** The facts of a status line, in the order to show them. */
export interface StatusFacts {
  /** The agent's activity, in one line of plain text. */
  readonly activity: string
  /** Undefined if the start is unknown. */
  readonly elapsed: string | undefined
  /** The number of the current call to the model, from the second on. */
  readonly step: string | undefined
  /** How full the model's context is. Undefined if unknown. */
  readonly context: string | undefined
}

/** The time and the texts of a status line. */
export interface StatusOptions {
  /** In ms since the epoch. */
  readonly now: number
  /** The step of the elapsed time, in ms. Default 1,000. */
  readonly stepMs?: number | undefined
  /** `texts`, or those of another language. */
  readonly texts: Texts
}

/** Returns the facts of a status line, for chats and terminals. The elapsed time is the reply's. */
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
 * Returns the status, updated at each tick and at once when the activity changes. Its time is that of the activity, or
 * of the whole sub-agent. Shows the context from 60 percent on. No card before `statusAfterMs` have passed, while an ask is
 * pending, once the reply has settled, with `quiet`, and in modes other than `live`.
 */
export function statusCard(reply: Reply, options: ViewOptions): TimedCard {
  const { mode, policy, texts, now } = options
  const { startedAt = now, phase } = reply
  const { statusTickMs } = policy
  if (mode !== 'live' || policy.verbosity === 'quiet' || phase === 'settled') return {}
  // Also called before the status is shown and while an ask is pending, to note when each activity was first seen.
  const begin = activityBegin(reply, options)
  if (phase === 'blocked') return {}
  const dueAt = startedAt + policy.statusAfterMs
  if (now < dueAt) return { nextAt: dueAt }
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
  const aloneAt = ownMessageFrom(reply, options)
  const nextAt = earliest(begin + (ticks + 1) * statusTickMs, now < aloneAt ? aloneAt : undefined)
  const isOnlyBelow = now < aloneAt && { isOnlyBelow: true as const }
  return {
    card: { type: 'status', key: statusKey, source, link: pageLink(options) || undefined, ...isOnlyBelow },
    nextAt,
  }
}

/**
 * Returns when the status gets its own message, in ms since the epoch. Normally at once, which is 0. Where each post
 * notifies, only after a silence, and the message is then edited. Infinite while text grows, because that shows that
 * the agent works.
 */
function ownMessageFrom(reply: Reply, { policy, texts, now, shown, rings = false }: ViewOptions): number {
  if (!rings || shown.posted.has(statusKey)) return 0
  if (chatActivityOf(reply, { now, texts }).key === 'text') return Number.POSITIVE_INFINITY
  return Math.max(shown.postedAt ?? 0, reply.startedAt ?? 0) + policy.heartbeatMs
}

const blocked: Activity = { key: 'blocked', text: '' }

/** Returns the activity for a chat, which shows `working` in place of `waiting`. That saves an edit. */
function chatActivityOf(reply: Reply, options: StatusOptions): Activity {
  const activity = activityOf(reply, options)
  return activity.key === 'waiting' ? { key: 'working', text: options.texts.working } : activity
}

/** Returns when the current activity began, or was first seen, in ms since the epoch. At most `now`. */
function activityBegin(reply: Reply, { now, texts, activitySince }: ViewOptions): number {
  const activity = reply.phase === 'blocked' ? blocked : chatActivityOf(reply, { now, texts })
  // Every activity is noted, even one with a known time, because the next one has to count as new.
  const seen = activitySince?.(activity)
  return Math.min(now, activity.since ?? seen ?? reply.startedAt ?? now)
}

/** When activities without a known start were first seen. */
export interface ActivityTimes {
  /** Returns when the activity was first seen, in ms since the epoch. Call it for each activity. */
  since(activity: Activity, now: number): number
}

/** Creates a memory of when the newest activity was first seen. */
export function createActivityTimes(): ActivityTimes {
  let newest: { readonly key: string; readonly since: number } | undefined
  return {
    since: ({ key }, now) => {
      if (newest?.key !== key) newest = { key, since: now }
      return newest.since
    },
  }
}
