import * as z from 'zod'

/** A call by which Codex starts a sub-agent, or deals with one. Each sub-agent is a thread. */
export const agentCall = z.object({
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

/** What Codex tells instead with its setting `features.multi_agent_v2`. `id` is the call's, `agentPath` ends with a name. */
export const agentActivity = z.object({
  type: z.literal('subAgentActivity'),
  id: z.string(),
  kind: z.string(),
  agentThreadId: z.string(),
  agentPath: z.string(),
})
type AgentActivity = z.infer<typeof agentActivity>

/** What a sub-agent was asked. */
export interface Task {
  readonly agentIDs: readonly string[]
  readonly title: string
  /** Empty if Codex doesn't say. */
  readonly text: string
}

/** The sub-agents that a call started or gave something to do. Undefined for other calls. */
export function taskIn(call: AgentCall | AgentActivity): Task | undefined {
  if (call.type === 'subAgentActivity') return { agentIDs: [call.agentThreadId], title: nameOf(call), text: '' }
  const { tool, receiverThreadIds, prompt } = call
  if (receiverThreadIds.length === 0 || !(tool === 'spawnAgent' || prompt)) return undefined
  return { agentIDs: receiverThreadIds, title: titleOf(prompt ?? ''), text: prompt ?? '' }
}

/** `task` starts a sub-agent; the others are named as Codex names them. */
export function agentTool(call: AgentCall | AgentActivity): string {
  if (call.type === 'subAgentActivity') return 'task'
  const { tool } = call
  return tool === 'spawnAgent' ? 'task' : tool.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

export function agentInput(call: AgentCall | AgentActivity): Readonly<Record<string, unknown>> {
  if (call.type === 'subAgentActivity') return { description: nameOf(call) }
  const { prompt, receiverThreadIds: agents } = call
  return { ...(prompt ? { description: titleOf(prompt), prompt } : { agents }) }
}

/** The sub-agents' last words and states, a line each. */
export function agentOutput({ agentsStates }: AgentCall): string {
  return Object.values(agentsStates)
    .flatMap((state) => (state ? [state.message ? `${state.status}: ${state.message}` : state.status] : []))
    .join('\n')
}

/** The first line of a task, cut between characters. */
function titleOf(text: string): string {
  const [first = ''] = text.trim().split('\n')
  return [...first].slice(0, 100).join('')
}

function nameOf({ agentPath }: AgentActivity): string {
  return agentPath.split('/').at(-1) ?? agentPath
}
