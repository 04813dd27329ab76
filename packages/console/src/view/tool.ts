import type { Ask, Reply, ToolPart } from '@reply/core'
import { duration, elapsed } from '@reply/sink/channel'
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

/** Shows `mcp__server__search` as `search`. */
export function toolName(tool: string): string {
  return visibleLine(tool).replace(/^mcp__.+?__/, '') || 'tool'
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
  if (part.state.interrupted) return SYMBOLS.interrupted
  if (part.state.status === 'completed') return exitOf(part) === 0 ? SYMBOLS.done : SYMBOLS.failed
  if (part.state.status !== 'error') return part.status === 'open' ? spinner(now) : SYMBOLS.interrupted
  return refusalOf(part, reply) || isForbidden(part) ? SYMBOLS.denied : SYMBOLS.failed
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
  const { status, error, interrupted, metadata } = part.state
  if (interrupted || (part.status !== 'open' && status !== 'completed' && status !== 'error')) {
    return line(' · interrupted', 'yellow')
  }
  if (status === 'error') {
    if (refusalOf(part, reply)) return line(` · rejected${feedbackOf(error)}`, 'yellow')
    if (isForbidden(part)) return line(' · denied by a rule', 'yellow')
    const reason = reasonText(error ?? '')
    return line(reason === '' ? ' · failed' : ` · ${reason.slice(0, 300)}`, 'red')
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

// How all known servers begin the error of a call that a permission rule forbids. The rules follow as JSON.
const FORBIDDEN = /^(?:Error: )?The user has specified a rule which prevents you|^PermissionDeniedError\b/

function isForbidden({ state }: ToolPart): boolean {
  return state.status === 'error' && FORBIDDEN.test(state.error ?? '')
}

// Followed by the reason as it was typed; 1.2 sends it as JSON.
const FEEDBACK = /with the following feedback: (.+)$|^PermissionCorrectedError\(\{"feedback":"((?:[^"\\]|\\.)*)"/s

/** A person's reason for rejecting. Only the error text for the model contains it. */
function feedbackOf(error: string | undefined): string {
  const [, words, quoted = ''] = FEEDBACK.exec(error ?? '') ?? []
  const reason = cleanLine(words ?? quoted.replace(/\\n/g, ' ').replace(/\\(.)/g, '$1'))
  return reason === '' ? '' : `: ${reason}`
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
