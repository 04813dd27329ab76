import { equalKey } from './ask/equal.ts'
import type { Ask } from './ask.ts'
import type { Part, ReasoningPart, TextPart, ToolPart } from './part.ts'
import type { Child, Message, Reply, Usage } from './reply.ts'

/** The reply's parts in the order of its messages: what `index` in a change counts. */
export function partsOf(reply: Reply): readonly Part[] {
  return reply.messages.flatMap((message) => message.parts)
}

/**
 * What the assistant said: the shown text parts with a blank line between them.
 * Whitespace-only parts are skipped, nothing is trimmed. Empty when it said nothing.
 */
export function textOf(reply: Reply): string {
  return joinTexts(reply.messages)
}

/** The text of the last step that said anything: the answer without the remarks between tool calls. Empty when there is none. */
export function answerOf(reply: Reply): string {
  for (let index = reply.messages.length - 1; index >= 0; index--) {
    const text = joinTexts(reply.messages.slice(index, index + 1))
    if (text !== '') return text
  }
  return ''
}

/** What the model thought, with a blank line between the parts. Empty when there is none. */
export function reasoningOf(reply: Reply): string {
  const parts = partsOf(reply).filter(
    (part): part is ReasoningPart =>
      part.type === 'reasoning' && part.status !== 'abandoned' && part.text.trim() !== '',
  )
  return parts.map((part) => part.text).join('\n\n')
}

/** The reply's own tool calls in order, abandoned ones left out. */
export function toolsOf(reply: Reply): readonly ToolPart[] {
  return partsOf(reply).filter((part): part is ToolPart => part.type === 'tool' && part.status !== 'abandoned')
}

/**
 * The asks that wait for a person, the oldest first, descendants' included. Of equal ones (see `isEqualAsk`) the oldest
 * stands for all: the answer goes to each.
 */
export function pendingAsks(reply: Reply): readonly Ask[] {
  const seen = new Set<string>()
  return reply.asks.filter((ask) => {
    if (ask.status !== 'pending') return false
    const key = equalKey(ask)
    if (key === undefined) return true
    if (seen.has(key)) return false
    seen.add(key)
    return true
  })
}

/** This reply's usage with every descendant's added. The context is the reply's own. */
export function totalUsage(reply: Reply): Usage {
  let total = reply.usage
  for (const child of reply.children) {
    const more = totalUsage(child.reply)
    total = {
      input: total.input + more.input,
      output: total.output + more.output,
      reasoning: total.reasoning + more.reasoning,
      cacheRead: total.cacheRead + more.cacheRead,
      cacheWrite: total.cacheWrite + more.cacheWrite,
      cost: total.cost + more.cost,
      steps: total.steps + more.steps,
      contextTokens: total.contextTokens,
      contextLimit: total.contextLimit,
    }
  }
  return total
}

/**
 * What it is doing now, in a few words: "bash: npm test", "general(Explore code) · read: notes.md", "thinking", "writing".
 * Undefined when it has settled or nothing has happened yet.
 */
export function currentActivity(reply: Reply): string | undefined {
  if (reply.phase === 'settled') return undefined
  if (reply.compaction?.state === 'running') return 'compacting'
  const child = reply.children.findLast((candidate) => candidate.reply.phase !== 'settled')
  if (child) return childActivity(child)
  const part = partsOf(reply).findLast((candidate) => candidate.status === 'open')
  if (part?.type === 'tool') return toolActivity(part)
  if (part?.type === 'reasoning') return 'thinking'
  if (part?.type === 'text') return 'writing'
  return undefined
}

/** Whether people are to see this text: the model's own words, not blank, not taken back by a retry. */
export function isShownText(part: Part): part is TextPart {
  return (
    part.type === 'text' &&
    part.status !== 'abandoned' &&
    part.synthetic === undefined &&
    part.ignored === undefined &&
    part.text.trim() !== ''
  )
}

function joinTexts(messages: readonly Message[]): string {
  const texts: string[] = []
  for (const message of messages) for (const part of message.parts) if (isShownText(part)) texts.push(part.text)
  return texts.join('\n\n')
}

function childActivity(child: Child): string {
  const name = child.agent ?? 'sub-agent'
  const label = child.title === undefined ? name : `${name}(${child.title})`
  const inner = currentActivity(child.reply)
  return inner === undefined ? label : `${label} · ${inner}`
}

function toolActivity(part: ToolPart): string {
  const detail =
    part.state.title ?? part.state.input.description ?? part.state.input.command ?? part.state.input.filePath
  return typeof detail === 'string' && detail !== '' ? `${part.tool}: ${detail}` : part.tool
}
