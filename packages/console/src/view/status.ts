import { currentActivity, pendingAsks, type Reply } from '@reply/core'
import { amount, contextUse, ticking } from '../format/numbers.ts'
import { cleanLine } from '../format/sanitize.ts'
import { fit, type Line, line, type Span, span, widthOf } from '../format/styled-line.ts'
import { spinner } from '../format/symbols.ts'

/** Committed while the connection is lost. */
export const RECONNECTING = 'connection lost, reconnecting …'

/**
 * One row: the activity, the elapsed time, the step, and how full the context is.
 *
 * If it doesn't fit, the context goes first, then the step; then the activity is cut.
 */
export function statusLine(reply: Reply, options: { now: number; width: number; label?: string; hint?: string }): Line {
  const { now, width, label, hint } = options
  const head = [markOf(reply, now), ...(label === undefined ? [] : line(`${cleanLine(label)} · `, 'bold'))]
  const row = [...head, ...activityOf(reply, now)]
  const facts = [
    elapsedOf(reply, now),
    stepOf(reply),
    contextOf(reply),
    hint === undefined || hint === '' ? [] : line(hint, 'dim'),
  ]
  const shown = facts.filter((fact) => fact.length > 0)
  while (shown.length > 1 && Math.min(widthOf(row), 24) + widthOf(joined(shown)) > width) shown.pop()
  return fit(row, joined(shown), width)
}

/** "Too Many Requests: retrying in 12 s (attempt 2)". */
export function retryText(reply: Reply, now: number): string | undefined {
  if (reply.retry === undefined) return undefined
  const { message, attempt, nextAt } = reply.retry
  const when = nextAt === undefined || nextAt <= now ? 'retrying' : `retrying in ${Math.ceil((nextAt - now) / 1000)} s`
  const which = attempt === undefined ? '' : ` (attempt ${attempt})`
  return `${cleanLine(message) || 'the model failed'}: ${when}${which}`
}

function markOf(reply: Reply, now: number): Span {
  if (reply.connection === 'lost') return span('! ', 'red')
  return reply.phase === 'blocked' ? span('? ', 'yellow') : spinner(now)
}

function activityOf(reply: Reply, now: number): Line {
  if (reply.connection === 'lost') return line(RECONNECTING, 'red')
  if (reply.phase === 'blocked') {
    const count = pendingAsks(reply).length
    return line(count > 1 ? `waiting for ${count} answers` : 'waiting for an answer', 'yellow')
  }
  if (reply.phase === 'retrying') return line(retryText(reply, now) ?? 'retrying', 'yellow')
  const { compaction } = reply
  if (compaction?.state === 'running') {
    const size = compaction.tokensBefore === undefined ? 'the context' : `${amount(compaction.tokensBefore)} tokens`
    return line(`compacting ${size} (${ticking(now - compaction.startedAt)})`)
  }
  const activity = cleanLine(
    currentActivity(reply) ?? (reply.phase === 'waiting' ? 'waiting for the model' : 'working'),
  )
  return reply.stalled ? line(`no progress for a while · ${activity}`, 'yellow') : line(activity)
}

function elapsedOf(reply: Reply, now: number): Line {
  return !reply.startedAt ? [] : line(ticking(now - reply.startedAt), 'dim')
}

function stepOf(reply: Reply): Line {
  return reply.messages.length > 1 ? line(`step ${reply.messages.length}`, 'dim') : []
}

function contextOf(reply: Reply): Line {
  const use = contextUse(reply.usage)
  if (use === undefined) return []
  if (use >= 80) return line(`context ${use}%`, 'red')
  return line(`context ${use}%`, use >= 60 ? 'yellow' : 'dim')
}

function joined(facts: readonly Line[]): Line {
  return facts.flatMap((fact) => [span(' · ', 'dim'), ...fact])
}
