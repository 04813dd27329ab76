import { z } from 'zod'
import { content, extensions, text, tokenCounts } from '../schema.ts'

/**
 * The shapes of protocol version 2 that are read here, from `@agentclientprotocol/sdk` 2.4.0 (`experimental/v2`). A field
 * that is absent leaves a value as it is, and null clears it. Unknown values of a list are kept.
 */
const chunk = z.object({ messageId: z.string(), content })
const message = z.object({ messageId: z.string(), content: z.array(content).nullish() })
const list = z.array(z.unknown()).nullish()

/** What has changed of a tool call. */
const toolCall = z.object({
  toolCallId: z.string(),
  name: text,
  title: text,
  kind: text,
  status: text,
  content: list,
  locations: list,
  rawInput: z.unknown().optional(),
  rawOutput: z.unknown().optional(),
  _meta: z.record(z.string(), z.unknown()).nullish(),
})
export type ToolCallUpdate = z.infer<typeof toolCall>

const state = z.object({
  state: z.string(),
  stopReason: text,
  usage: tokenCounts.nullish().catch(undefined),
  error: z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() }).nullish(),
})
export type StateUpdate = z.infer<typeof state>

const terminal = z.object({
  terminalId: z.string(),
  output: z.object({ data: z.string() }).nullish(),
  exitStatus: z.object({ exitCode: z.number().nullish(), signal: text }).nullish(),
})

/** The kinds of session update, by name. */
export const updates = {
  user_message: message,
  user_message_chunk: chunk,
  agent_message: message,
  agent_message_chunk: chunk,
  agent_thought: message,
  agent_thought_chunk: chunk,
  state_update: state,
  tool_call_update: toolCall,
  tool_call_content_chunk: z.object({ toolCallId: z.string(), content: z.unknown() }),
  terminal_update: terminal,
  terminal_output_chunk: z.object({ terminalId: z.string(), data: z.string() }),
  plan_update: z.object({
    plan: z.looseObject({
      type: z.string(),
      planId: z.string(),
      entries: z.array(z.object({ content: z.string(), status: z.string(), priority: text })).optional(),
    }),
  }),
  plan_removed: z.object({ planId: z.string() }),
  available_commands_update: z.object({
    availableCommands: z.array(z.object({ name: z.string(), description: text })),
  }),
  config_option_update: z.object({ configOptions: z.array(z.unknown()) }),
  session_info_update: z.object({ title: text }),
  usage_update: z.object({
    used: z.number(),
    size: z.number(),
    cost: z.object({ amount: z.number(), currency: z.string() }).nullish(),
  }),
  notice: z.object({ severity: z.string(), title: z.string(), description: text }),
  compaction_update: z.object({ compactionId: z.string(), status: text }),
  compaction_summary_chunk: z.object({ compactionId: z.string() }),
  subagent_update: z.object({
    sessionId: z.string(),
    title: text,
    description: text,
    state: state.nullish(),
    capabilities: z.object({ cancel: z.unknown() }).partial().nullish(),
  }),
  session_message: z.object({
    messageId: z.string(),
    senderSessionId: text,
    recipientSessionId: text,
    content: z.array(content).nullish(),
  }),
  session_message_chunk: chunk,
} as const

/** The name of a kind of session update. */
export type UpdateKind = keyof typeof updates
export type Update<K extends UpdateKind> = z.infer<(typeof updates)[K]>

/** The tool call that a permission request is about, or the command. Other subjects are shown as they are. */
const subject = z.union([
  z.object({ type: z.literal('tool_call'), toolCall }),
  z.object({ type: z.literal('command'), command: z.string(), cwd: z.string(), toolCallId: text }),
  z.looseObject({ type: z.string() }),
])

export const permissionRequest = z.object({
  sessionId: z.string(),
  title: z.string(),
  description: text,
  subject: subject.nullish(),
  options: z.array(z.object({ optionId: z.string(), name: z.string(), kind: z.string() })),
})
export type PermissionRequest = z.infer<typeof permissionRequest>

export const sessionResponse = z.object({
  configOptions: z.array(z.unknown()).nullish(),
  availableCommands: updates.available_commands_update.shape.availableCommands.nullish(),
})

const option = z.object({ value: z.string(), name: z.string() })
export const configOption = z.object({
  configId: z.string(),
  name: z.string(),
  description: text,
  category: text,
  type: z.string(),
  currentValue: z.union([z.string(), z.boolean()]),
  options: z.array(z.union([option, z.object({ groupId: z.string(), options: z.array(option) })])).nullish(),
})

export const promptResponse = z.object({ messageId: z.string() })

export const userMessage = z.object({
  sessionUpdate: z.enum(['user_message', 'user_message_chunk']),
  messageId: z.string(),
})

const present = z.unknown()

export const initializeResponse = z.object({
  protocolVersion: z.literal(2),
  _meta: extensions,
  info: z.object({ name: z.string(), version: text }),
  authMethods: z.array(z.object({ methodId: z.string(), name: text })).nullish(),
  capabilities: z
    .object({
      session: z
        .object({
          prompt: z.object({ image: present, audio: present, embeddedContext: present }).partial().nullish(),
          fork: present.optional(),
          mcp: z.object({ http: present }).partial().nullish(),
        })
        .nullish(),
    })
    .nullish(),
})
