import { currentActivity, type Reply } from '@reply/core'
import { statusKey } from '../ledger/keys.ts'
import { amount, contextPercent, oneLine, toolLabel } from './format.ts'
import type { Timed, ViewOptions } from './view.ts'

/** The activity, the elapsed time and the step. Updated at each tick, and at once when the activity changes. */
export function statusCard(reply: Reply, { mode, policy, words, now }: ViewOptions): Timed {
  const { startedAt = now, phase } = reply
  if (mode !== 'live' || policy.verbosity === 'quiet' || phase === 'settled' || phase === 'blocked') return {}
  const due = startedAt + policy.statusAfterMs
  if (now < due) return { nextAt: due }
  const ticks = Math.floor((now - startedAt) / policy.statusTickMs)
  const elapsed = words.elapsed(ticks * policy.statusTickMs)
  const nextAt = startedAt + (ticks + 1) * policy.statusTickMs
  const percent = contextPercent(reply)
  const facts = [
    activityOf(reply, { words, now }),
    ticks > 0 ? elapsed : undefined,
    reply.usage.steps > 0 ? words.step(reply.usage.steps + 1) : undefined,
    percent !== undefined && percent >= 60 ? words.context(percent) : undefined,
  ]
  const source = facts.filter((fact) => fact !== undefined).join(' · ')
  return { card: { type: 'status', key: statusKey, source }, nextAt }
}

/** The current activity, in one line of plain words. */
export function activityOf(reply: Reply, { words, now }: Pick<ViewOptions, 'words' | 'now'>): string {
  if (reply.connection === 'lost') return words.lostConnection
  if (reply.retry) {
    const { message, nextAt, attempt } = reply.retry
    const inSeconds = nextAt === undefined ? undefined : Math.max(0, Math.ceil((nextAt - now) / 5000) * 5)
    return words.retrying({ message: oneLine(message, 80), inSeconds, attempt })
  }
  if (reply.compaction?.state === 'running') return words.compacting(amount(reply.compaction.tokensBefore))
  if (reply.stalled) return words.stalled
  const activity = currentActivity(reply)
  if (activity === undefined) return reply.phase === 'waiting' ? words.waiting : words.working
  if (activity === 'thinking') return words.thinking
  if (activity === 'writing') return words.writing
  return oneLine(toolLabel(activity), 120)
}
