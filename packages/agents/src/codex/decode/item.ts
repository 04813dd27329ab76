import type { ToolState } from '@reply/core/source'
import * as z from 'zod'

/** The state of a call. */
export interface CodexCall {
  readonly callID: string
  /** The tool's name in replies. */
  readonly tool: string
  readonly state: ToolState
  /** Set if the call gave sub-agents a task. */
  readonly task?: Task | undefined
  /** Set if the call is of an MCP server's tool. */
  readonly mcp?: McpCall | undefined
}

/** A call of an MCP server's tool. */
export interface McpCall {
  readonly server: string
  readonly tool: string
  /** Empty if there are none. */
  readonly arguments: unknown
}

/** The task of sub-agents. */
export interface Task {
  /** The sub-agents' threads. */
  readonly agentIDs: readonly string[]
  readonly title: string
  /** Empty if Codex doesn't send it. */
  readonly text: string
}

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

const call = z.union([
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
])

type Call = z.infer<typeof call>

const userInput = z.union([z.object({ type: z.literal('text'), text: z.string() }), z.object({ type: z.string() })])

const item = z.union([
  call,
  z.object({
    type: z.literal('userMessage'),
    id: z.string(),
    clientId: z.string().nullish(),
    content: z.array(userInput).default([]),
  }),
  z.object({ type: z.literal('agentMessage'), id: z.string(), text: z.string().default('') }),
  z.object({
    type: z.literal('reasoning'),
    id: z.string(),
    summary: z.array(z.string()).default([]),
    content: z.array(z.string()).default([]),
  }),
  z.object({ type: z.literal('contextCompaction') }),
])

/** An item of a turn: a message, a thought, a call. */
export type CodexItem =
  | ({ readonly type: 'call' } & CodexCall)
  /** `clientID` is the id that the client who sent it gave it. */
  | {
      readonly type: 'prompt'
      readonly messageID: string
      readonly clientID: string | undefined
      readonly text: string
    }
  | { readonly type: 'message'; readonly kind: 'text' | 'reasoning'; readonly partID: string; readonly text: string }
  | { readonly type: 'compaction' }

/** When an item began and ended, in ms since the epoch. */
export interface ItemTimes {
  readonly startedAt?: number | undefined
  readonly endedAt?: number | undefined
}

const running = z.object({ status: z.literal('inProgress') })

/** Whether an item is a call that has not ended. */
export const isRunningItem = (value: unknown): boolean => running.safeParse(value).success

/** Reads an item. Undefined if it changes no reply. */
export function decodeItem(value: unknown, isDone: boolean, times: ItemTimes = {}): CodexItem | undefined {
  const one = item.safeParse(value).data
  if (!one) return undefined
  switch (one.type) {
    case 'userMessage': {
      const texts = one.content.flatMap((input) => ('text' in input ? [input.text] : []))
      return { type: 'prompt', messageID: one.id, clientID: one.clientId ?? undefined, text: texts.join('\n\n') }
    }
    case 'agentMessage':
      return { type: 'message', kind: 'text', partID: one.id, text: one.text }
    case 'reasoning': {
      const text = (one.summary.length > 0 ? one.summary : one.content).join('\n\n')
      return { type: 'message', kind: 'reasoning', partID: one.id, text }
    }
    case 'contextCompaction':
      return { type: 'compaction' }
    default:
      // The end of a sub-agent is that of its thread's turn.
      if (one.type === 'subAgentActivity' && one.kind !== 'started') return undefined
      return { type: 'call', ...callOf(one, isDone, times) }
  }
}

function callOf(one: Call, isDone: boolean, { startedAt, endedAt }: ItemTimes): CodexCall {
  const status = 'status' in one ? one.status : 'completed'
  const error = isDone ? errorOf(one, status) : undefined
  const input = inputOf(one)
  const state: ToolState = !isDone
    ? { status: 'running', input, startedAt }
    : error === undefined
      ? { status: 'completed', output: outputOf(one), input, startedAt, endedAt }
      : { status: 'error', error, input, startedAt, endedAt }
  const mcp = one.type === 'mcpToolCall' ? mcpCallOf(one) : undefined
  return { callID: one.id, tool: toolOf(one), state, task: isAgentItem(one) ? taskIn(one) : undefined, mcp }
}

const isAgentItem = (one: Call) => one.type === 'collabAgentToolCall' || one.type === 'subAgentActivity'

function mcpCallOf(one: Extract<Call, { readonly type: 'mcpToolCall' }>): McpCall {
  return { server: one.server, tool: one.tool, arguments: one.arguments ?? {} }
}

/** The tool's name in replies. */
function toolOf(one: Call): string {
  if (one.type === 'commandExecution') return 'bash'
  if (one.type === 'fileChange') return 'apply_patch'
  if (isAgentItem(one)) return agentTool(one)
  return one.type === 'webSearch' ? 'websearch' : `${one.server}_${one.tool}`
}

function inputOf(one: Call): Readonly<Record<string, unknown>> {
  if (one.type === 'commandExecution')
    return { command: one.command, ...(one.cwd !== undefined && { workdir: one.cwd }) }
  if (one.type === 'fileChange') return { changes: one.changes }
  if (isAgentItem(one)) return agentInput(one)
  return one.type === 'webSearch' ? { query: one.query } : { arguments: one.arguments }
}

function outputOf(one: Call): string {
  if (one.type === 'collabAgentToolCall') return agentOutput(one)
  return one.type === 'commandExecution' ? (one.aggregatedOutput ?? '') : ''
}

function errorOf(one: Call, status: string): string | undefined {
  if (status === 'declined') return 'The call was rejected.'
  if (one.type === 'mcpToolCall' && one.error) return one.error.message
  if (one.type === 'commandExecution' && typeof one.exitCode === 'number') return undefined
  return status === 'failed' ? 'The call failed.' : undefined
}

/** The task that a call gave to sub-agents. Undefined for other calls. */
function taskIn(one: AgentCall | AgentActivity): Task | undefined {
  if (one.type === 'subAgentActivity') return { agentIDs: [one.agentThreadId], title: nameOf(one), text: '' }
  const { tool, receiverThreadIds, prompt } = one
  if (receiverThreadIds.length === 0 || !(tool === 'spawnAgent' || prompt)) return undefined
  return { agentIDs: receiverThreadIds, title: titleOf(prompt ?? ''), text: prompt ?? '' }
}

/** `task` for a call that starts a sub-agent. Other calls keep Codex's names. */
function agentTool(one: AgentCall | AgentActivity): string {
  if (one.type === 'subAgentActivity') return 'task'
  const { tool } = one
  return tool === 'spawnAgent' ? 'task' : tool.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

function agentInput(one: AgentCall | AgentActivity): Readonly<Record<string, unknown>> {
  if (one.type === 'subAgentActivity') return { description: nameOf(one) }
  const { prompt, receiverThreadIds: agents } = one
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
