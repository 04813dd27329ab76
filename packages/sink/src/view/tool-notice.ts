import { escapeInvisible, isShownText, isTodoTool, partsOf, type Reply, type ToolPart } from '@reply/core'
import { toolFacts } from '@reply/core/show'
import { heartbeatKey, isProgressKey, noticeKey } from '../ledger/keys.ts'
import { activityOf } from './activity.ts'
import { code, literal } from './format.ts'
import { taskKey, taskStatusOf } from './task.ts'
import { endText, titleOf } from './tool.ts'
import type { TimedCard, ViewOptions } from './view.ts'

/** Maximum length of a tool's output, in UTF-16 units. */
const outputLength = 600

/** Maximum length of a notice, in UTF-16 units of Markdown. Further calls wait for the next one. */
const noticeLength = 1500

/** A notice, and the number of shown text parts above it. */
export interface Notice extends TimedCard {
  readonly at: number
}

/**
 * Returns one message that names the tool calls that were not reported yet, at most once per throttle interval.
 *
 * - Where messages can be edited, the status shows running calls, so only their ends are reported. That happens before the
 *   text below them is posted, even if the interval has not passed.
 * - Elsewhere running calls are reported. Calls that began and ended since the last notice are part of the next one. If posts
 *   can be silent, they are reported at the end of the run at the latest.
 */
export function noticeCard(reply: Reply, options: ViewOptions): Notice {
  const { mode, policy, shown, now, rings = false } = options
  const news = reportableCalls(reply, options)
  const [first] = news
  const textCount = partsOf(reply).filter(isShownText).length
  if (!first || !news.some(({ part }) => isWorthNotice(part, options))) return { at: textCount }
  const dueAt = (shown.noticeAt ?? 0) + policy.toolThrottleMs * intervalFactor(options, 1)
  const hasTextBelow = (mode === 'live' || (mode !== 'final' && !rings)) && textCount > first.at
  if (now < dueAt && reply.phase !== 'settled' && !hasTextBelow) return { nextAt: dueAt, at: first.at }
  const lines: string[] = []
  const reported: string[] = []
  let length = 0
  for (const { part, at } of news) {
    const line = noticeLine(part, reply, options)
    length += line.length
    if (at !== first.at || (lines.length > 0 && length > noticeLength)) break
    if (line !== '') lines.push(line)
    reported.push(stateKey(part))
  }
  return {
    card: { type: 'notice', key: noticeKey(shown.noticeCount), source: lines.join('\n'), reported },
    at: first.at,
  }
}

/**
 * Returns the factor for the interval to the next notice or heartbeat. Where each post notifies, it doubles with each one that
 * was posted beyond `undoubledCount`, up to eight. Otherwise 1.
 */
function intervalFactor({ mode, policy, shown, rings = false }: ViewOptions, undoubledCount: number): number {
  if (!rings || mode === 'live' || policy.verbosity !== 'normal') return 1
  return 2 ** Math.min(3, Math.max(0, [...shown.posted].filter(isProgressKey).length - undoubledCount))
}

/**
 * Returns the message after a long silence that the agent is still working. Empty if messages can be edited, with `quiet`,
 * and while the reply waits for an answer, has settled or has no known start.
 */
export function heartbeatCard(reply: Reply, options: ViewOptions): TimedCard {
  const { mode, policy, shown, now, texts } = options
  if (mode === 'live' || policy.verbosity === 'quiet') return {}
  if (reply.phase === 'settled' || reply.phase === 'blocked' || reply.startedAt === undefined) return {}
  const dueAt = Math.max(shown.postedAt ?? 0, reply.startedAt) + policy.heartbeatMs * intervalFactor(options, 0)
  if (now < dueAt) return { nextAt: dueAt }
  const { key, text } = activityOf(reply, options)
  const source = literal(texts.heartbeat(key === 'working' ? undefined : text, texts.elapsed(now - reply.startedAt)))
  return { card: { type: 'heartbeat', key: heartbeatKey(shown.heartbeats), source } }
}

interface ReportableCall {
  readonly part: ToolPart
  /** Shown text parts above the call. */
  readonly at: number
}

/** Returns the calls that a notice may name now, in order. None with `quiet`. */
function reportableCalls(reply: Reply, options: ViewOptions): readonly ReportableCall[] {
  if (options.policy.verbosity === 'quiet') return []
  let at = 0
  return partsOf(reply).flatMap((part): readonly ReportableCall[] => {
    if (isShownText(part)) at += 1
    if (part.type !== 'tool' || part.status === 'abandoned') return []
    return isReportable(part, reply, options) ? [{ part, at }] : []
  })
}

/**
 * Whether a notice may name the call: its state was not reported, and neither the status nor the stream shows it.
 * Successful calls only with `calls` or `verbose`, or without edits. Never interrupted calls, nor those for todos and
 * questions.
 */
function isReportable(part: ToolPart, reply: Reply, options: ViewOptions): boolean {
  const { shown, mode } = options
  const { verbosity } = options.policy
  if (isTodoTool(part.tool) || part.tool === 'question' || shown.reported.has(stateKey(part))) return false
  const { end } = toolFacts(part, reply)
  if (end?.type === 'interrupted') return false
  // An exit code alone posts nothing: for example, grep exits with 1 if nothing matches.
  if (end && part.state.status === 'error') return !isInStream(part, reply, options)
  const isSeen = mode === 'live' || shown.reported.has(runningKey(part))
  if (part.state.status !== 'completed') return !isSeen && part.state.status === 'running'
  if (verbosity === 'verbose') return true
  if (mode === 'live') return verbosity === 'calls' && !isInStream(part, reply, options)
  return !isSeen
}

/**
 * Whether the call is a reason for a notice. Where each post notifies, a call that has already ended is not. The next
 * notice names it.
 */
function isWorthNotice({ state }: ToolPart, { mode, policy, rings = false }: ViewOptions): boolean {
  return state.status !== 'completed' || mode === 'live' || policy.verbosity === 'verbose' || !rings
}

/** Whether the stream of the text shows the call as a task, or will. False with `verbose`, because a notice has the output. */
function isInStream(part: ToolPart, { phase }: Reply, { isStreaming, shown, policy }: ViewOptions): boolean {
  if (!isStreaming || policy.verbosity === 'verbose') return false
  return phase !== 'settled' || shown.reported.has(taskKey(taskStatusOf(part)))
}

/** Returns the key of the call's state in `Ledger.reported`. */
function stateKey(part: ToolPart): string {
  return `${part.id}:${part.state.status}`
}

/** Returns the key in `Ledger.reported` of the call while it ran. */
function runningKey(part: ToolPart): string {
  return `${part.id}:running`
}

/**
 * Returns the call as Markdown, crossed out and with its end if it did not succeed. With `verbose` also a success's output.
 */
function noticeLine(part: ToolPart, reply: Reply, { texts, policy, mode, small }: ViewOptions): string {
  const label = literal(titleOf(part, reply))
  const { end } = toolFacts(part, reply)
  const text = `${texts.toolPrefix}${end ? `~~${label}~~ ${literal(endText(end, texts))}` : label}`.trim()
  const line = small?.(text) ?? (mode === 'live' ? `*${text}*` : text)
  const output = policy.verbosity === 'verbose' && !end ? (part.state.output ?? '').trim() : ''
  return output === '' ? line : `${line}\n${outputExcerpt(output)}`
}

/** Returns the output as code: in the same line if it is short, otherwise its last `outputLength` units as a block. */
function outputExcerpt(output: string): string {
  if (output.length <= 80 && !output.includes('\n')) return code(output)
  const end = output.length <= outputLength ? output : `…${output.slice(-outputLength).replace(/^[\udc00-\udfff]/, '')}`
  return `\n\`\`\`\`\n${escapeInvisible(end).replaceAll('````', "''''")}\n\`\`\`\``
}
