import type { Ask, Reply, ToolPart } from '@reply/core'
import { duration, elapsed, toolEndOf, toolLabel } from '@reply/sink/internal'
import { patchCount } from '../format/patch.ts'
import { cleanLine, visibleLine } from '../format/sanitize.ts'
import { fit, type Line, line, type Span, span } from '../format/styled-line.ts'
import { SYMBOLS, spinner } from '../format/symbols.ts'
import { reasonText } from './failure.ts'

/** One row: mark, name, subject, result, duration. */
export function toolLine(part: ToolPart, options: { reply: Reply; now: number; width: number }): Line {
  const { reply, now, width } = options
  const row = [
    markOf(part, reply, now),
    span(toolName(part.tool), 'bold'),
    ...detailOf(part, reply),
    ...endOf(part, reply),
  ]
  const time = timeOf(part, reply, now)
  return Number.isFinite(width) ? fit(row, time, width) : [...row, ...time]
}

/** Without the name of the server that it belongs to. */
export function toolName(tool: string): string {
  return visibleLine(toolLabel(tool)) || 'tool'
}

/** The rejected permission of this call. */
function refusalOf(part: ToolPart, reply: Reply): Ask | undefined {
  if (part.state.status !== 'error') return undefined
  return reply.asks.find((ask) => ask.type === 'permission' && ask.status === 'rejected' && ask.callID === part.callID)
}

/** OpenCode answers an unknown tool, or wrong arguments, with its own tool, which "completes". */
function isInvalid({ state }: ToolPart): boolean {
  return state.status === 'completed' && state.title === 'Invalid Tool'
}

function markOf(part: ToolPart, reply: Reply, now: number): Span {
  if (isInvalid(part)) return SYMBOLS.failed
  const end = toolEndOf(part, reply)
  if (!end) {
    if (part.state.status !== 'completed') return spinner(now)
    return exitOf(part) === 0 ? SYMBOLS.done : SYMBOLS.failed
  }
  if (end.type === 'interrupted') return SYMBOLS.interrupted
  return end.type === 'failed' ? SYMBOLS.failed : SYMBOLS.denied
}

// The subject is the first of these inputs that the call has.
const SUBJECTS = ['description', 'command', 'filePath', 'path', 'pattern', 'url', 'query', 'name', 'prompt']

function detailOf(part: ToolPart, reply: Reply): Line {
  if (isInvalid(part)) return line(' · invalid call', 'red')
  const { title, input } = part.state
  const candidates = [title, ...SUBJECTS.map((key) => input[key])]
  const found = candidates.find((value): value is string => typeof value === 'string' && value.trim() !== '')
  if (found === undefined) return []
  const base = reply.directory === undefined ? '' : `${reply.directory}/`
  const text = base.length > 1 ? found.replaceAll(base, '') : found
  return [span(' '), span(visibleLine(text))]
}

function endOf(part: ToolPart, reply: Reply): Line {
  const { status, metadata } = part.state
  const end = toolEndOf(part, reply)
  switch (end?.type) {
    case undefined:
      break
    case 'interrupted':
      return line(' · interrupted', 'yellow')
    case 'rejected':
      return line(end.reason === undefined ? ' · rejected' : ` · rejected: ${cleanLine(end.reason)}`, 'yellow')
    case 'forbidden':
      return line(' · denied by a rule', 'yellow')
    case 'failed': {
      const reason = reasonText(end.reason)
      return line(reason === '' ? ' · failed' : ` · ${reason.slice(0, 300)}`, 'red')
    }
    default:
      return end satisfies never
  }
  const changed = patchCount(metadata?.diff)
  if (changed !== '') return line(` ${changed}`, 'dim')
  const exit = exitOf(part)
  return status === 'completed' && exit !== 0 ? line(` · exit ${exit}`, 'red') : []
}

/** A call completes even if its command failed; only its exit code shows that. 0 if there is none. */
function exitOf({ state }: ToolPart): number {
  const exit = state.metadata?.exit
  return typeof exit === 'number' ? exit : 0
}

function timeOf(part: ToolPart, reply: Reply, now: number): Line {
  const { startedAt, endedAt } = part.state
  if (startedAt === undefined) return []
  if (endedAt === undefined) return part.status === 'open' ? line(` ${elapsed(now - startedAt)}`, 'dim') : []
  // Servers up to 1.2 measure a rejected call from its end, without the wait for the person.
  const { askedAt = 0, closedAt = askedAt } = refusalOf(part, reply) ?? {}
  const ms = Math.max(endedAt - startedAt, askedAt === 0 ? 0 : closedAt - askedAt)
  return ms < 50 ? [] : line(` ${duration(ms)}`, 'dim')
}
