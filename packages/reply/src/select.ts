import { equalKey } from './ask/equal.ts'
import { isTodoWriter } from './ask/tool-name.ts'
import type { Ask } from './ask.ts'
import type { Part, ReasoningPart, ReplyFailure, ReplyFile, TextPart, ToolPart } from './part.ts'
import type { Child, Message, Prompt, Reply, Todo, Usage } from './reply.ts'

/** Returns all parts of the reply in message order. `index` in a change is an index of this list. */
export function partsOf(reply: Reply): readonly Part[] {
  return reply.messages.flatMap((message) => message.parts)
}

/** Returns the user message of the run with an id of `promptIDs`. Undefined until its text or a file is known. */
export function promptOf({ promptIDs, prompt, joinedPrompts }: Reply, promptID: string): Prompt | undefined {
  return promptID === promptIDs[0] ? prompt : joinedPrompts?.[promptID]
}

/**
 * Returns the assistant's text: all shown text parts, joined with a blank line. Skips whitespace-only parts, but
 * doesn't trim. Empty if there is no text.
 */
export function textOf(reply: Reply): string {
  return joinTexts(reply.messages)
}

/**
 * Returns the text of the last step with text: the answer without the remarks between tool calls. If the steps right
 * before it were cut off, their text is included, because the server continues where they ended. Empty if there is no
 * text.
 */
export function answerOf({ messages }: Reply): string {
  for (let end = messages.length; end > 0; end--) {
    if (joinTexts(messages.slice(end - 1, end)) === '') continue
    let start = end - 1
    while (messages[start - 1]?.finish === 'error') start--
    return joinTexts(messages.slice(start, end))
  }
  return ''
}

/**
 * Returns the value that the prompt's `format` asked for, from the last step that gave one. Undefined if no step did.
 */
export function outputOf(reply: Reply): unknown {
  return reply.messages.findLast((message) => message.output !== undefined)?.output
}

/** Returns the model's reasoning, its parts joined with a blank line. Empty if it has none. */
export function reasoningOf(reply: Reply): string {
  const parts = partsOf(reply).filter(
    (part): part is ReasoningPart =>
      part.type === 'reasoning' && part.status !== 'abandoned' && part.text.trim() !== '',
  )
  return parts.map((part) => part.text).join('\n\n')
}

/** Returns the reply's own tool calls in order, without abandoned ones. Those of sub-agents are in `reply.children`. */
export function toolsOf(reply: Reply): readonly ToolPart[] {
  return partsOf(reply).filter((part): part is ToolPart => part.type === 'tool' && part.status !== 'abandoned')
}

/**
 * Returns the reply's own files in the order of the answer, without abandoned ones: those of the agent, and those that its
 * tools returned. Those of sub-agents are in `reply.children`.
 */
export function filesOf(reply: Reply): readonly ReplyFile[] {
  return partsOf(reply).flatMap((part): readonly ReplyFile[] => {
    if (part.status === 'abandoned') return []
    if (part.type === 'tool') return part.state.attachments ?? []
    return part.type === 'file' ? [part] : []
  })
}

/**
 * Returns the checklist if this run wrote it, by the source's report or a call of its own. Empty if the checklist is
 * from an earlier run.
 */
export function ownTodosOf(reply: Reply): readonly Todo[] {
  return reply.wroteTodos || toolsOf(reply).some(({ tool }) => isTodoWriter(tool)) ? reply.todos : []
}

/**
 * Returns the asks that wait for a person, oldest first, including those of sub-agents. Of several equal asks (see
 * `isEqualAsk`) only the oldest is listed: its answer is sent to each of them.
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

/**
 * Adds up the usage of this reply and of all its sub-agents. `contextTokens` and `contextLimit` are the reply's own.
 */
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

/** Input fields that may name a call's subject, in order of preference. */
const subjectInputs = ['description', 'command', 'filePath', 'path', 'pattern', 'url', 'query', 'name', 'prompt']

/**
 * Returns the subject of a tool call, for example a command or a file: its title, or else the first of these inputs
 * that isn't blank: description, command, file, path, pattern, URL, query, name, prompt. Undefined while it has none of
 * them.
 */
export function subjectOf({ state }: ToolPart): string | undefined {
  const candidates = [state.title, ...subjectInputs.map((key) => state.input[key])]
  return candidates.find((value): value is string => typeof value === 'string' && value.trim() !== '')
}

/**
 * Describes the current activity in a few words: "compacting", else that of the newest running sub-agent, else by the
 * last open part, for example "bash: npm test", "general(Explore code) · read: notes.md", "thinking" or "writing".
 * Undefined if the reply has settled, or nothing is open.
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

/** Whether people should see this text: written by the model, not blank, and not replaced by a retry. */
export function isShownText(part: Part): part is TextPart {
  return (
    part.type === 'text' &&
    part.status !== 'abandoned' &&
    part.synthetic === undefined &&
    part.ignored === undefined &&
    part.text.trim() !== ''
  )
}

/** The shown texts of these messages, joined with a blank line. */
function joinTexts(messages: readonly Message[]): string {
  const texts: string[] = []
  for (const message of messages) for (const part of message.parts) if (isShownText(part)) texts.push(part.text)
  return texts.join('\n\n')
}

/** The sub-agent's name or "sub-agent", with its title if it has one, and its current activity if it has one. */
function childActivity(child: Child): string {
  const name = child.agent ?? 'sub-agent'
  const label = child.title === undefined ? name : `${name}(${child.title})`
  const inner = currentActivity(child.reply)
  return inner === undefined ? label : `${label} · ${inner}`
}

/** The tool's name, with the call's subject if it has one. */
function toolActivity(part: ToolPart): string {
  const subject = subjectOf(part)
  return subject === undefined ? part.tool : `${part.tool}: ${subject}`
}

/**
 * Why a run failed:
 * - `credentials`: the provider refused them.
 * - `context`: the model's context is full.
 * - `output`: the answer exceeded the model's output limit.
 * - `model`: it is not available.
 * - `rate`: too many requests.
 * - `provider`: the provider itself failed.
 */
export type FailureCause = 'credentials' | 'context' | 'output' | 'model' | 'rate' | 'provider'

/** By the error names of OpenCode 1 and 2. */
const causes: Readonly<Record<string, FailureCause>> = {
  ProviderAuthError: 'credentials',
  'provider.auth': 'credentials',
  ContextOverflowError: 'context',
  MessageOutputLengthError: 'output',
  ProviderModelNotFoundError: 'model',
  'provider.no-route': 'model',
  'provider.rate-limit': 'rate',
  'provider.internal': 'provider',
}

/** Finds the cause of a failure by its name and HTTP status. Undefined if neither shows it. */
export function causeOf({ name, statusCode = 0 }: Pick<ReplyFailure, 'name' | 'statusCode'>): FailureCause | undefined {
  if (Object.hasOwn(causes, name)) return causes[name]
  if (statusCode === 401 || statusCode === 403) return 'credentials'
  if (statusCode === 429) return 'rate'
  return statusCode >= 500 ? 'provider' : undefined
}
