import type { Ask, Reply, ToolPart } from '@reply/core'
import { duration, elapsed, type ToolEnd, toolFacts } from '@reply/core/show'
import { patchCount } from '../format/patch.ts'
import { cleanLine, visibleLine } from '../format/sanitize.ts'
import { fit, type Line, line, type Span, span } from '../format/styled-line.ts'
import { SYMBOLS, spinner } from '../format/symbols.ts'

/** One row: mark, name, subject, result, duration. */
export function toolLine(part: ToolPart, options: { reply: Reply; now: number; width: number }): Line {
  const { reply, now, width } = options
  const { name, subject, end } = toolFacts(part, reply)
  const row = [
    end || part.state.status === 'completed' ? markOf(end) : spinner(now),
    span(visibleLine(name), 'bold'),
    ...(subject === undefined ? [] : [span(' '), span(visibleLine(subject))]),
    ...(end ? endOf(end) : changesOf(part)),
  ]
  const time = timeOf(part, reply, now)
  return Number.isFinite(width) ? fit(row, time, width) : [...row, ...time]
}

function markOf(end: ToolEnd | undefined): Span {
  switch (end?.type) {
    case undefined:
      return SYMBOLS.done
    case 'interrupted':
      return SYMBOLS.interrupted
    case 'rejected':
    case 'forbidden':
      return SYMBOLS.denied
    case 'failed':
    case 'exited':
      return SYMBOLS.failed
    default:
      return end satisfies never
  }
}

const longestReason = 300

function endOf(end: ToolEnd): Line {
  switch (end.type) {
    case 'interrupted':
      return line(' · interrupted', 'yellow')
    case 'rejected':
      return line(end.reason === undefined ? ' · rejected' : ` · rejected: ${cleanLine(end.reason)}`, 'yellow')
    case 'forbidden':
      return line(' · denied by a rule', 'yellow')
    case 'failed':
      return line(` · ${cleanLine(end.reason).slice(0, longestReason) || 'failed'}`, 'red')
    case 'exited':
      return line(` · exit ${end.code}`, 'red')
    default:
      return end satisfies never
  }
}

function changesOf({ state }: ToolPart): Line {
  const changed = patchCount(state.metadata?.diff)
  return changed === '' ? [] : line(` ${changed}`, 'dim')
}

/** The rejected permission of this call. */
function rejectionOf(part: ToolPart, reply: Reply): Ask | undefined {
  if (part.state.status !== 'error') return undefined
  return reply.asks.find((ask) => ask.type === 'permission' && ask.status === 'rejected' && ask.callID === part.callID)
}

function timeOf(part: ToolPart, reply: Reply, now: number): Line {
  const { startedAt, endedAt } = part.state
  if (startedAt === undefined) return []
  if (endedAt === undefined) return part.status === 'open' ? line(` ${elapsed(now - startedAt)}`, 'dim') : []
  // Servers up to 1.2 measure a rejected call from its end, without the wait for the person.
  const { askedAt = 0, closedAt = askedAt } = rejectionOf(part, reply) ?? {}
  const ms = Math.max(endedAt - startedAt, askedAt === 0 ? 0 : closedAt - askedAt)
  return ms < 50 ? [] : line(` ${duration(ms)}`, 'dim')
}
