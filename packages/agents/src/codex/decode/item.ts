import type { LocalFile, ToolState } from '@reply/core/source'
import * as z from 'zod'
import { filesOfItems, mcpFiles, mcpText, pictureIn, textOfItems } from './content.ts'

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
  /** What it returned besides its output. Default: none. */
  readonly files?: readonly LocalFile[] | undefined
  /** Where Codex has the picture that it looked at or made. Absent if there is none, or if `files` has it. */
  readonly picturePath?: string | undefined
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
    // With all other fields, because a person allows them: only `kind` tells a deleted file from a new one.
    changes: z.array(z.looseObject({ path: z.string(), diff: z.string().default('') })),
  }),
  z.object({
    type: z.literal('mcpToolCall'),
    id: z.string(),
    server: z.string(),
    tool: z.string(),
    status: z.string(),
    arguments: z.unknown().optional(),
    result: z.object({ content: z.unknown().optional(), structuredContent: z.unknown().optional() }).nullish(),
    error: failure.nullish(),
  }),
  // A tool of a client of the listener.
  z.object({
    type: z.literal('dynamicToolCall'),
    id: z.string(),
    namespace: z.string().nullish(),
    tool: z.string(),
    status: z.string(),
    arguments: z.unknown().optional(),
    contentItems: z.unknown().optional(),
  }),
  z.object({ type: z.literal('imageView'), id: z.string(), path: z.string() }),
  z.object({
    type: z.literal('imageGeneration'),
    id: z.string(),
    status: z.string(),
    revisedPrompt: z.string().nullish(),
    failure: z.object({ type: z.string() }).nullish(),
    /** The picture in base64. */
    result: z.string().nullish(),
    savedPath: z.string().nullish(),
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

/** Whether an item is a call that has not ended. False for every other item and value. */
export const isRunningItem = (value: unknown): boolean => running.safeParse(value).success

/**
 * Reads an item. Undefined if it changes no reply: if its type is unknown, if it is malformed, or if it only tells how a
 * sub-agent goes on. Unless it is done, a call is running, whatever its status.
 */
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

/** Returns a call. Only a call that is done has an output or an error, and files. */
function callOf(one: Call, isDone: boolean, { startedAt, endedAt }: ItemTimes): CodexCall {
  const status = 'status' in one ? one.status : 'completed'
  const error = isDone ? errorOf(one, status) : undefined
  const input = inputOf(one)
  const state: ToolState = !isDone
    ? { status: 'running', input, startedAt }
    : error === undefined
      ? { status: 'completed', output: outputOf(one), input, startedAt, endedAt }
      : { status: 'error', error, input, startedAt, endedAt }
  const files = isDone ? filesOf(one) : []
  return {
    callID: one.id,
    tool: toolOf(one),
    state,
    task: isAgentItem(one) ? taskIn(one) : undefined,
    mcp: one.type === 'mcpToolCall' ? mcpCallOf(one) : undefined,
    files,
    picturePath: isDone && error === undefined && files.length === 0 ? picturePathOf(one) : undefined,
  }
}

/** Whether a call starts or controls sub-agents. */
const isAgentItem = (one: Call) => one.type === 'collabAgentToolCall' || one.type === 'subAgentActivity'

/** Returns whose tool a call is of. */
function mcpCallOf(one: Extract<Call, { readonly type: 'mcpToolCall' }>): McpCall {
  return { server: one.server, tool: one.tool, arguments: one.arguments ?? {} }
}

/** Returns the tool's name in replies. A server's tool has the server's name before it. */
function toolOf(one: Call): string {
  switch (one.type) {
    case 'commandExecution':
      return 'bash'
    case 'fileChange':
      return 'apply_patch'
    case 'webSearch':
      return 'websearch'
    case 'imageView':
      return 'view_image'
    case 'imageGeneration':
      return 'image_generation'
    case 'mcpToolCall':
      return `${one.server}_${one.tool}`
    case 'dynamicToolCall':
      return one.namespace ? `${one.namespace}_${one.tool}` : one.tool
    default:
      return agentTool(one)
  }
}

/** Returns the input that people see. */
function inputOf(one: Call): Readonly<Record<string, unknown>> {
  switch (one.type) {
    case 'commandExecution':
      return { command: one.command, ...(one.cwd !== undefined && { workdir: one.cwd }) }
    case 'fileChange':
      return { changes: one.changes }
    case 'webSearch':
      return { query: one.query }
    case 'imageView':
      return { path: one.path }
    case 'imageGeneration':
      return one.revisedPrompt ? { prompt: one.revisedPrompt } : {}
    case 'mcpToolCall':
    case 'dynamicToolCall':
      return { arguments: one.arguments }
    default:
      return agentInput(one)
  }
}

/** Returns the output that people see. Empty for calls without a text, for example a change of files. */
function outputOf(one: Call): string {
  if (one.type === 'collabAgentToolCall') return agentOutput(one)
  if (one.type === 'mcpToolCall') return mcpText(one.result?.content, one.result?.structuredContent)
  if (one.type === 'dynamicToolCall') return textOfItems(one.contentItems)
  return one.type === 'commandExecution' ? (one.aggregatedOutput ?? '') : ''
}

/** Returns the files in the result of a call, and the picture that the model made. */
function filesOf(one: Call): readonly LocalFile[] {
  if (one.type === 'mcpToolCall') return mcpFiles(one.result?.content)
  if (one.type === 'dynamicToolCall') return filesOfItems(one.contentItems)
  const picture = one.type === 'imageGeneration' && one.result ? pictureIn(one.result) : undefined
  return picture ? [picture] : []
}

/** Returns where Codex has the picture that the model looked at or made. Undefined if there is none. */
function picturePathOf(one: Call): string | undefined {
  if (one.type === 'imageView') return one.path
  return one.type === 'imageGeneration' ? (one.savedPath ?? undefined) : undefined
}

/**
 * Returns why a call failed: Codex's message, else its output, else that it failed. Undefined if it did not fail, and for a
 * command that ended with a code, whose output tells it.
 */
function errorOf(one: Call, status: string): string | undefined {
  if (status === 'declined') return 'The call was rejected.'
  if (one.type === 'mcpToolCall' && one.error) return one.error.message
  if (one.type === 'imageGeneration' && one.failure) return `No picture was made: ${one.failure.type}.`
  if (one.type === 'commandExecution' && typeof one.exitCode === 'number') return undefined
  return status === 'failed' ? outputOf(one) || 'The call failed.' : undefined
}

/** Returns the task that a call gave to sub-agents. Undefined if it gave none, for example if it waits for them. */
function taskIn(one: AgentCall | AgentActivity): Task | undefined {
  if (one.type === 'subAgentActivity') return { agentIDs: [one.agentThreadId], title: nameOf(one), text: '' }
  const { tool, receiverThreadIds, prompt } = one
  if (receiverThreadIds.length === 0 || !(tool === 'spawnAgent' || prompt)) return undefined
  return { agentIDs: receiverThreadIds, title: titleOf(prompt ?? ''), text: prompt ?? '' }
}

/** Returns `task` for a call that starts a sub-agent, and Codex's name in snake case for others. */
function agentTool(one: AgentCall | AgentActivity): string {
  if (one.type === 'subAgentActivity') return 'task'
  const { tool } = one
  return tool === 'spawnAgent' ? 'task' : tool.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** Returns the task with its title, or the sub-agents' ids if the call has no task. */
function agentInput(one: AgentCall | AgentActivity): Readonly<Record<string, unknown>> {
  if (one.type === 'subAgentActivity') return { description: nameOf(one) }
  const { prompt, receiverThreadIds: agents } = one
  return { ...(prompt ? { description: titleOf(prompt), prompt } : { agents }) }
}

/** Returns the state and last message of each sub-agent, one per line. Empty if Codex sent none. */
function agentOutput({ agentsStates }: AgentCall): string {
  return Object.values(agentsStates)
    .flatMap((state) => (state ? [state.message ? `${state.status}: ${state.message}` : state.status] : []))
    .join('\n')
}

/** Returns the first line of a task, at most 100 characters. */
function titleOf(text: string): string {
  const [first = ''] = text.trim().split('\n')
  return [...first].slice(0, 100).join('')
}

/** Returns the last part of a sub-agent's path. */
function nameOf({ agentPath }: AgentActivity): string {
  return agentPath.split('/').at(-1) ?? agentPath
}
