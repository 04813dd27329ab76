import { z } from 'zod'
import { content, text, tokenCounts, toolFields } from '../schema.ts'

/**
 * The shapes of protocol version 1 that are read here, https://agentclientprotocol.com/protocol/schema. Fields that are
 * absent or null become undefined. Unknown values of a list are kept.
 */
const meta = z.record(z.string(), z.unknown()).nullish().catch(undefined)

const chunk = z.object({ content, messageId: text, _meta: meta })

const rpcError = z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() }).nullish()

const planEntries = z.array(z.object({ content: z.string(), status: z.string(), priority: text }))

/** The kinds of session update, by name. */
export const updates = {
  user_message_chunk: chunk,
  agent_message_chunk: chunk,
  agent_thought_chunk: chunk,
  tool_call: z.object(toolFields),
  tool_call_update: z.object(toolFields),
  plan: z.object({ entries: planEntries }),
  plan_update: z.object({
    plan: z.union([
      z.object({ type: z.literal('items'), planId: z.string(), entries: planEntries }),
      z.object({ type: z.literal('markdown'), planId: z.string(), content: z.string() }),
      z.object({ type: z.literal('file'), planId: z.string(), uri: z.string() }),
    ]),
  }),
  subagent_update: z.object({
    sessionId: z.string(),
    title: text,
    description: text,
    capabilities: z.object({ cancel: z.unknown().optional() }).nullish().catch(undefined),
    state: z.object({ state: z.string(), stopReason: text, error: rpcError }).nullish().catch(undefined),
  }),
  session_message: z.object({
    messageId: z.string(),
    recipientSessionId: text,
    content: z.array(content).nullish().catch(undefined),
  }),
  available_commands_update: z.object({
    availableCommands: z.array(z.object({ name: z.string(), description: text })),
  }),
  current_mode_update: z.object({ currentModeId: z.string() }),
  config_option_update: z.object({ configOptions: z.array(z.unknown()) }),
  session_info_update: z.object({ title: text }),
  usage_update: z.object({
    used: z.number(),
    size: z.number(),
    cost: z.object({ amount: z.number(), currency: z.string() }).nullish(),
    _meta: meta,
  }),
  notice: z.object({ severity: z.string(), title: z.string(), description: text }),
  compaction_update: z.object({ compactionId: z.string(), status: z.string(), error: text }),
  compaction_summary_chunk: z.object({ compactionId: z.string() }),
} as const

/** The name of a kind of session update. */
export type UpdateKind = keyof typeof updates
export type Update<K extends UpdateKind> = z.infer<(typeof updates)[K]>

export const permissionRequest = z.object({
  sessionId: z.string(),
  toolCall: z.object(toolFields),
  options: z.array(z.object({ optionId: z.string(), name: z.string(), kind: z.string() })),
})
export type PermissionRequest = z.infer<typeof permissionRequest>

const modes = z.object({
  currentModeId: z.string(),
  availableModes: z.array(z.object({ id: z.string(), name: z.string(), description: text })),
})

export const sessionResponse = z.object({
  sessionId: text,
  modes: modes.nullish(),
  configOptions: z.array(z.unknown()).nullish(),
})

const option = z.object({ value: z.string(), name: z.string(), description: text })
export const configOption = z.object({
  id: z.string(),
  name: z.string(),
  description: text,
  category: text,
  type: z.string(),
  currentValue: z.union([z.string(), z.boolean()]),
  options: z
    .array(z.union([option, z.object({ group: z.string(), name: z.string(), options: z.array(option) })]))
    .nullish(),
})

export const readFileRequest = z.object({
  sessionId: z.string(),
  path: z.string(),
  line: z.number().nullish(),
  limit: z.number().nullish(),
})

export const writeFileRequest = z.object({ sessionId: z.string(), path: z.string(), content: z.string() })

export const createTerminalRequest = z.object({
  sessionId: z.string(),
  command: z.string(),
  args: z.array(z.string()).nullish(),
  env: z.array(z.object({ name: z.string(), value: z.string() })).nullish(),
  cwd: text,
  outputByteLimit: z.number().min(0).nullish(),
})
export type CreateTerminalRequest = z.infer<typeof createTerminalRequest>

export const terminalRequest = z.object({ sessionId: z.string(), terminalId: z.string() })

/**
 * `usage` is a draft of the protocol, sent by OpenCode and by the agents of Claude and Codex. Gemini CLI 0.61 only
 * counts in `_meta.quota`.
 */
export const promptResponse = z.object({
  stopReason: z.string(),
  usage: tokenCounts.nullish().catch(undefined),
  _meta: z
    .object({
      quota: z.object({ token_count: z.object({ input_tokens: z.number(), output_tokens: z.number() }) }),
    })
    .nullish()
    .catch(undefined),
})
