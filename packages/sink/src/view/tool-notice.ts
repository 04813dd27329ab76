import { type Reply, type ToolPart, toolsOf, visible } from '@reply/core'
import { heartbeatKey, noticeKey } from '../ledger/keys.ts'
import { code, literal, oneLine } from './format.ts'
import { activityOf } from './status.ts'
import { titleOf } from './task.ts'
import type { Timed, ViewOptions } from './view.ts'

/** UTF-16 units shown of a tool's output. */
const outputLength = 600

/** One message for all calls that run or failed and were not reported yet, at most one per throttle interval. */
export function noticeCard(reply: Reply, options: ViewOptions): Timed {
  const { mode, policy, shown, now } = options
  const isShown = mode === 'live' ? policy.verbosity === 'verbose' : policy.verbosity !== 'quiet'
  if (!isShown) return {}
  const calls = toolsOf(reply).filter((part) => isNews(part, options))
  if (calls.length === 0) return {}
  const due = (shown.noticeAt ?? 0) + policy.toolThrottleMs
  if (now < due && reply.phase !== 'settled') return { nextAt: due }
  const source = calls.map((part) => lineOf(part, options)).join('\n')
  const told = calls.map(stateKey)
  return { card: { type: 'notice', key: noticeKey(shown.noticeCount), source, told } }
}

/** Without edits: says that the agent still works, after a long silence. */
export function heartbeatCard(reply: Reply, options: ViewOptions): Timed {
  const { mode, policy, shown, now, words } = options
  if (mode === 'live' || policy.verbosity === 'quiet') return {}
  if (reply.phase === 'settled' || reply.phase === 'blocked' || reply.startedAt === undefined) return {}
  const due = Math.max(shown.postedAt ?? 0, reply.startedAt) + policy.heartbeatMs
  if (now < due) return { nextAt: due }
  const source = literal(words.heartbeat(activityOf(reply, options), words.elapsed(now - reply.startedAt)))
  return { card: { type: 'heartbeat', key: heartbeatKey(shown.heartbeats), source } }
}

function isNews(part: ToolPart, { shown, policy }: ViewOptions): boolean {
  const { status } = part.state
  const isReportable =
    status === 'running' || status === 'error' || (policy.verbosity === 'verbose' && status === 'completed')
  return isReportable && part.tool !== 'todowrite' && part.tool !== 'question' && !shown.told.has(stateKey(part))
}

function stateKey(part: ToolPart): string {
  return `${part.id}:${part.state.status}`
}

function lineOf(part: ToolPart, { words, policy }: ViewOptions): string {
  const { state } = part
  const label = literal(titleOf(part))
  if (state.status === 'error') {
    const why = isDenied(state.error) ? words.toolDenied : words.toolFailed(literal(oneLine(state.error ?? '', 200)))
    return `~~${label}~~ ${why}`
  }
  const output = policy.verbosity === 'verbose' && state.status === 'completed' ? (state.output ?? '').trim() : ''
  return output === '' ? label : `${label}\n${excerpt(output)}`
}

function excerpt(output: string): string {
  if (output.length <= 80 && !output.includes('\n')) return code(output)
  const end = output.length <= outputLength ? output : `…${output.slice(-outputLength).replace(/^[\udc00-\udfff]/, '')}`
  return `\n\`\`\`\`\n${visible(end).replaceAll('````', "''''")}\n\`\`\`\``
}

function isDenied(error: string | undefined): boolean {
  return /rejected permission|rejected|denied/i.test(error ?? '')
}
