import type { LocalEnding, ToolState } from '@reply/core/source'
import * as z from 'zod'

/**
 * An event of a thread, from a message of `codex app-server`. Recorded with version 0.169.0, whose `codex app-server
 * generate-json-schema` describes the whole protocol.
 */
export type CodexEvent = { readonly threadID: string } & (
  | { readonly type: 'delta'; readonly kind: 'text' | 'reasoning'; readonly delta: string }
  | { readonly type: 'seal' }
  | {
      readonly type: 'tool'
      readonly callID: string
      readonly tool: string
      readonly state: ToolState
      /** Set if the call gave sub-agents a task. */
      readonly task?: Task | undefined
    }
  | { readonly type: 'turn'; readonly turnID: string }
  | { readonly type: 'output'; readonly callID: string; readonly delta: string }
  | { readonly type: 'todos'; readonly todos: readonly { readonly content: string; readonly status: string }[] }
  | { readonly type: 'usage'; readonly tokens: CodexTokens; readonly contextLimit?: number }
  | { readonly type: 'retry'; readonly message: string }
  | { readonly type: 'compaction' }
  /** A request was withdrawn or answered. */
  | { readonly type: 'ask-gone'; readonly requestID: string }
  | { readonly type: 'end'; readonly ending: LocalEnding }
)

/** Tokens of one model call. */
export interface CodexTokens {
  readonly input: number
  readonly output: number
  readonly reasoning: number
  readonly cacheRead: number
  readonly cacheWrite: number
}

/** The task of a sub-agent. */
export interface Task {
  readonly agentIDs: readonly string[]
  readonly title: string
  /** Empty if Codex doesn't send it. */
  readonly text: string
}

const of = { threadId: z.string() }
const delta = z.object({ ...of, itemId: z.string(), delta: z.string() })
const count = z.number().default(0)
const failure = z.object({ message: z.string() })

/** A call that starts or controls a sub-agent. Each sub-agent is a thread. */
const agentCall = z.object({
  type: z.literal('collabAgentToolCall'),
  id: z.string(),
  tool: z.string(),
  status: z.string(),
  receiverThreadIds: z.array(z.string()).default([]),
  prompt: z.string().nullish(),
  agentsStates: z
    .record(z.string(), z.object({ status: z.string(), message: z.string().nullish() }).optional())
    .default({}),
})

type AgentCall = z.infer<typeof agentCall>

/** Sent instead with the setting `features.multi_agent_v2`. `id` is the call's. `agentPath` ends with a name. */
const agentActivity = z.object({
  type: z.literal('subAgentActivity'),
  id: z.string(),
  kind: z.string(),
  agentThreadId: z.string(),
  agentPath: z.string(),
})

type AgentActivity = z.infer<typeof agentActivity>

const item = z.union([
  z.object({
    type: z.literal('commandExecution'),
    id: z.string(),
    command: z.string(),
    cwd: z.string().optional(),
    status: z.string(),
    aggregatedOutput: z.string().nullish(),
    exitCode: z.number().nullish(),
  }),
  z.object({
    type: z.literal('fileChange'),
    id: z.string(),
    status: z.string(),
    changes: z.array(z.object({ path: z.string(), diff: z.string().default('') })),
  }),
  z.object({
    type: z.literal('mcpToolCall'),
    id: z.string(),
    server: z.string(),
    tool: z.string(),
    status: z.string(),
    arguments: z.unknown(),
    error: failure.nullish(),
  }),
  agentCall,
  agentActivity,
  z.object({ type: z.literal('webSearch'), id: z.string(), query: z.string().default('') }),
  z.object({ type: z.literal('agentMessage') }),
  z.object({ type: z.literal('reasoning') }),
  z.object({ type: z.literal('contextCompaction') }),
])

const itemEvent = z.object({ ...of, item, startedAtMs: z.number().optional(), completedAtMs: z.number().optional() })
const plan = z.object({ ...of, plan: z.array(z.object({ step: z.string(), status: z.string() })) })
const retry = z.object({ ...of, error: failure, willRetry: z.literal(true) })
const resolved = z.object({ ...of, requestId: z.union([z.string(), z.number()]) })
const turnStarted = z.object({ ...of, turn: z.object({ id: z.string() }) })
const turnCompleted = z.object({ ...of, turn: z.object({ status: z.string(), error: failure.nullish() }) })

/** A decoder for each notification. Others change no reply. */
const notifications: Readonly<Record<string, (params: unknown) => CodexEvent | undefined>> = {
  'item/agentMessage/delta': (params) => grown(params, 'text'),
  'item/reasoning/summaryTextDelta': (params) => grown(params, 'reasoning'),
  'item/reasoning/textDelta': (params) => grown(params, 'reasoning'),
  'item/commandExecution/outputDelta': (params) => {
    const found = delta.safeParse(params).data
    return found && { type: 'output', threadID: found.threadId, callID: found.itemId, delta: found.delta }
  },
  'item/started': (params) => ofItem(params, false),
  'item/completed': (params) => ofItem(params, true),
  'turn/plan/updated': (params) => {
    const found = plan.safeParse(params).data
    const todos = found?.plan.map((one) => ({
      content: one.step,
      status: one.status === 'inProgress' ? 'in_progress' : one.status,
    }))
    return found && { type: 'todos', threadID: found.threadId, todos: todos ?? [] }
  },
  'thread/tokenUsage/updated': ofUsage,
  error: (params) => {
    const found = retry.safeParse(params).data
    return found && { type: 'retry', threadID: found.threadId, message: found.error.message }
  },
  'serverRequest/resolved': (params) => {
    const found = resolved.safeParse(params).data
    return found && { type: 'ask-gone', threadID: found.threadId, requestID: String(found.requestId) }
  },
  'turn/started': (params) => {
    const found = turnStarted.safeParse(params).data
    return found && { type: 'turn', threadID: found.threadId, turnID: found.turn.id }
  },
  'turn/completed': (params) => {
    const found = turnCompleted.safeParse(params).data
    return found && { type: 'end', threadID: found.threadId, ending: endingOf(found.turn) }
  },
}

/** Reads one notification. Undefined if it changes no reply, for example if its kind is unknown. */
export function decodeCodex(method: string, params: unknown): CodexEvent | undefined {
  return Object.hasOwn(notifications, method) ? notifications[method]?.(params) : undefined
}

function grown(params: unknown, kind: 'text' | 'reasoning'): CodexEvent | undefined {
  const found = delta.safeParse(params).data
  return found && { type: 'delta', threadID: found.threadId, kind, delta: found.delta }
}

function ofItem(params: unknown, isDone: boolean): CodexEvent | undefined {
  const found = itemEvent.safeParse(params).data
  if (!found) return undefined
  const { threadId: threadID, item: one, startedAtMs, completedAtMs } = found
  if (one.type === 'agentMessage' || one.type === 'reasoning') return isDone ? { type: 'seal', threadID } : undefined
  // The sub-agent ends with its thread's turn.
  if (one.type === 'subAgentActivity' && one.kind !== 'started') return undefined
  if (one.type === 'contextCompaction') return isDone ? { type: 'compaction', threadID } : undefined
  const status = 'status' in one ? one.status : 'completed'
  const error = isDone ? errorOf(one, status) : undefined
  const output = outputOf(one)
  const fields = { input: inputOf(one), startedAt: startedAtMs, endedAt: completedAtMs }
  const state: ToolState = !isDone
    ? { status: 'running', input: fields.input, startedAt: startedAtMs }
    : error === undefined
      ? { status: 'completed', output, ...fields }
      : { status: 'error', error, ...fields }
  const task = isAgentItem(one) ? taskIn(one) : undefined
  return { type: 'tool', threadID, callID: one.id, tool: toolOf(one), state, task }
}

type Item = Exclude<z.infer<typeof item>, { type: 'agentMessage' | 'reasoning' | 'contextCompaction' }>

const isAgentItem = (one: Item) => one.type === 'collabAgentToolCall' || one.type === 'subAgentActivity'

/** The tool's name in replies. */
function toolOf(one: Item): string {
  if (one.type === 'commandExecution') return 'bash'
  if (one.type === 'fileChange') return 'apply_patch'
  if (isAgentItem(one)) return agentTool(one)
  return one.type === 'webSearch' ? 'websearch' : `${one.server}_${one.tool}`
}

function inputOf(one: Item): Readonly<Record<string, unknown>> {
  if (one.type === 'commandExecution')
    return { command: one.command, ...(one.cwd !== undefined && { workdir: one.cwd }) }
  if (one.type === 'fileChange') return { changes: one.changes }
  if (isAgentItem(one)) return agentInput(one)
  return one.type === 'webSearch' ? { query: one.query } : { arguments: one.arguments }
}

function outputOf(one: Item): string {
  if (one.type === 'collabAgentToolCall') return agentOutput(one)
  return one.type === 'commandExecution' ? (one.aggregatedOutput ?? '') : ''
}

function errorOf(one: Item, status: string): string | undefined {
  if (status === 'declined') return 'The call was rejected.'
  if (one.type === 'mcpToolCall' && one.error) return one.error.message
  if (one.type === 'commandExecution' && typeof one.exitCode === 'number') return undefined
  return status === 'failed' ? 'The call failed.' : undefined
}

const tokenCounts = z.object({
  inputTokens: count,
  cachedInputTokens: count,
  cacheWriteInputTokens: count,
  outputTokens: count,
  reasoningOutputTokens: count,
})

const usage = z.object({
  ...of,
  tokenUsage: z.object({ last: tokenCounts, modelContextWindow: z.number().nullish() }),
})

function ofUsage(params: unknown): CodexEvent | undefined {
  const found = usage.safeParse(params).data
  if (!found) return undefined
  const { inputTokens, cachedInputTokens, cacheWriteInputTokens, outputTokens, reasoningOutputTokens } =
    found.tokenUsage.last
  const tokens = {
    input: inputTokens - cachedInputTokens - cacheWriteInputTokens,
    output: outputTokens,
    reasoning: reasoningOutputTokens,
    cacheRead: cachedInputTokens,
    cacheWrite: cacheWriteInputTokens,
  }
  const limit = found.tokenUsage.modelContextWindow
  return {
    type: 'usage',
    threadID: found.threadId,
    tokens,
    ...(typeof limit === 'number' && { contextLimit: limit }),
  }
}

function endingOf({
  status,
  error,
}: {
  readonly status: string
  readonly error?: { readonly message: string } | null | undefined
}): LocalEnding {
  if (status === 'interrupted') return { type: 'aborted' }
  if (status === 'completed') return { type: 'completed' }
  return {
    type: 'failed',
    error: { name: 'CodexError', message: error?.message ?? `The turn is ${status}.`, raw: error },
  }
}

/** The task that a call gave to sub-agents. Undefined for other calls. */
function taskIn(call: AgentCall | AgentActivity): Task | undefined {
  if (call.type === 'subAgentActivity') return { agentIDs: [call.agentThreadId], title: nameOf(call), text: '' }
  const { tool, receiverThreadIds, prompt } = call
  if (receiverThreadIds.length === 0 || !(tool === 'spawnAgent' || prompt)) return undefined
  return { agentIDs: receiverThreadIds, title: titleOf(prompt ?? ''), text: prompt ?? '' }
}

/** `task` for a call that starts a sub-agent. Other calls keep Codex's names. */
function agentTool(call: AgentCall | AgentActivity): string {
  if (call.type === 'subAgentActivity') return 'task'
  const { tool } = call
  return tool === 'spawnAgent' ? 'task' : tool.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

function agentInput(call: AgentCall | AgentActivity): Readonly<Record<string, unknown>> {
  if (call.type === 'subAgentActivity') return { description: nameOf(call) }
  const { prompt, receiverThreadIds: agents } = call
  return { ...(prompt ? { description: titleOf(prompt), prompt } : { agents }) }
}

/** The state and last message of each sub-agent, one per line. */
function agentOutput({ agentsStates }: AgentCall): string {
  return Object.values(agentsStates)
    .flatMap((state) => (state ? [state.message ? `${state.status}: ${state.message}` : state.status] : []))
    .join('\n')
}

/** The first line of a task, at most 100 characters. */
function titleOf(text: string): string {
  const [first = ''] = text.trim().split('\n')
  return [...first].slice(0, 100).join('')
}

function nameOf({ agentPath }: AgentActivity): string {
  return agentPath.split('/').at(-1) ?? agentPath
}
