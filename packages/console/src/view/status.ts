import { pendingAsks, type Reply } from '@reply/core'
import { contextPercent } from '@reply/core/show'
import { texts } from '@reply/sink'
import { statusFacts } from '@reply/sink/internal'
import { cleanLine } from '../format/sanitize.ts'
import { fit, type Line, line, type Span, span, widthOf } from '../format/styled-line.ts'
import { spinner } from '../format/symbols.ts'

/**
 * One row: the activity, the elapsed time, the step, and how full the context is.
 *
 * If it doesn't fit, the context goes first, then the step; then the activity is cut.
 */
export function statusLine(reply: Reply, options: { now: number; width: number; label?: string; hint?: string }): Line {
  const { now, width, label, hint } = options
  const head = [markOf(reply, now), ...(label === undefined ? [] : line(`${cleanLine(label)} · `, 'bold'))]
  const { activity, elapsed, step, context } = statusFacts(reply, { now, texts })
  const row = [...head, ...activityLine(reply, cleanLine(activity))]
  const facts = [
    dim(elapsed),
    dim(step),
    context === undefined ? [] : line(context, contextTone(reply)),
    hint === '' ? [] : dim(hint),
  ]
  const shown = facts.filter((fact) => fact.length > 0)
  while (shown.length > 1 && Math.min(widthOf(row), 24) + widthOf(joined(shown)) > width) shown.pop()
  return fit(row, joined(shown), width)
}

function markOf(reply: Reply, now: number): Span {
  if (reply.connection === 'lost') return span('! ', 'red')
  return reply.phase === 'blocked' ? span('? ', 'yellow') : spinner(now)
}

function activityLine(reply: Reply, activity: string): Line {
  if (reply.connection === 'lost') return line(activity, 'red')
  if (reply.phase !== 'blocked') return reply.retry || reply.stalled ? line(activity, 'yellow') : line(activity)
  const count = pendingAsks(reply).length
  return line(count > 1 ? `Waiting for ${count} answers` : 'Waiting for an answer', 'yellow')
}

function contextTone(reply: Reply): 'red' | 'yellow' | 'dim' {
  const percent = contextPercent(reply) ?? 0
  if (percent >= 80) return 'red'
  return percent >= 60 ? 'yellow' : 'dim'
}

function dim(text: string | undefined): Line {
  return text === undefined ? [] : line(text, 'dim')
}

function joined(facts: readonly Line[]): Line {
  return facts.flatMap((fact) => [span(' · ', 'dim'), ...fact])
}
