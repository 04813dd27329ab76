import type { Reply, ToolPart } from '@reply/core'
import { fit, type Line, line, type Span, span } from './line.ts'
import { MARKS, spinner } from './mark.ts'
import { patchCount } from './patch.ts'
import { duration, ticking } from './phrase.ts'
import { cleanLine } from './sanitize.ts'

/** One row: mark, name, what it works on, how it ended, how long it took. */
export function toolLine(part: ToolPart, options: { reply: Reply; now: number; width: number }): Line {
  const { reply, now, width } = options
  const row = [
    markOf(part, reply, now),
    span(toolName(part.tool), 'bold'),
    ...detailOf(part, reply),
    ...endOf(part, reply),
  ]
  return Number.isFinite(width) ? fit(row, timeOf(part, now), width) : [...row, ...timeOf(part, now)]
}

/** `mcp__server__search` is `search` to people. */
export function toolName(tool: string): string {
  return cleanLine(tool).replace(/^mcp__.+?__/, '') || 'tool'
}

/** A permission for this call was refused. */
export function wasDenied(part: ToolPart, reply: Reply): boolean {
  if (part.state.status !== 'error') return false
  return reply.asks.some((ask) => ask.type === 'permission' && ask.status === 'rejected' && ask.callID === part.callID)
}

/** OpenCode answers a call of no tool, or with wrong arguments, with a tool of its own that "completes". */
function isInvalid({ state }: ToolPart): boolean {
  return state.status === 'completed' && state.title === 'Invalid Tool'
}

function markOf(part: ToolPart, reply: Reply, now: number): Span {
  if (isInvalid(part)) return MARKS.failed
  if (part.state.interrupted) return MARKS.interrupted
  if (part.state.status === 'completed') return MARKS.done
  if (part.state.status !== 'error') return part.status === 'open' ? spinner(now) : MARKS.interrupted
  return wasDenied(part, reply) ? MARKS.denied : MARKS.failed
}

// In this order; the first that the call has is what it works on.
const SUBJECTS = ['description', 'command', 'filePath', 'path', 'pattern', 'url', 'query', 'name', 'prompt']

function detailOf(part: ToolPart, reply: Reply): Line {
  if (isInvalid(part)) return line(' · no valid call', 'red')
  const { title, input } = part.state
  const candidates = [title, ...SUBJECTS.map((key) => input[key])]
  const found = candidates.find((value): value is string => typeof value === 'string' && value.trim() !== '')
  if (found === undefined) return []
  const base = reply.directory === undefined ? '' : `${reply.directory}/`
  const text = base.length > 1 ? found.replaceAll(base, '') : found
  return [span(' '), span(cleanLine(text))]
}

function endOf(part: ToolPart, reply: Reply): Line {
  const { status, error, interrupted, metadata } = part.state
  if (interrupted || (part.status !== 'open' && status !== 'completed' && status !== 'error')) {
    return line(' · interrupted', 'yellow')
  }
  if (status === 'error') {
    const reason = cleanLine(error ?? '')
    if (wasDenied(part, reply)) return line(' · denied', 'yellow')
    return line(reason === '' ? ' · failed' : ` · ${reason.slice(0, 300)}`, 'red')
  }
  const changed = patchCount(metadata?.diff)
  if (changed !== '') return line(` ${changed}`, 'dim')
  const exit = metadata?.exit
  return status === 'completed' && typeof exit === 'number' && exit !== 0 ? line(` · exit ${exit}`, 'yellow') : []
}

function timeOf(part: ToolPart, now: number): Line {
  const { startedAt, endedAt } = part.state
  if (startedAt === undefined) return []
  if (endedAt !== undefined && endedAt - startedAt < 50) return []
  if (endedAt !== undefined) return line(` ${duration(endedAt - startedAt)}`, 'dim')
  return part.status === 'open' ? line(` ${ticking(now - startedAt)}`, 'dim') : []
}
