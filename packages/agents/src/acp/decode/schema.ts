import { z } from 'zod'
import { formSchema } from '../../forms/decode.ts'

/** The shapes that both versions of the protocol have. Fields that are absent or null become undefined. */
export const text = z.string().nullish()
const fields = z.record(z.string(), z.unknown())

export const content = z.looseObject({ type: z.string() })

/** A tool call, or what has changed of it. */
export const toolFields = {
  toolCallId: z.string(),
  title: text,
  name: text,
  kind: text,
  status: text,
  content: z.array(z.unknown()).nullish(),
  locations: z.array(z.unknown()).nullish(),
  rawInput: z.unknown().optional(),
  rawOutput: z.unknown().optional(),
  _meta: fields.nullish(),
}

const toolUpdate = z.object(toolFields)
export type ToolUpdate = z.infer<typeof toolUpdate>

export const todoInput = z.object({
  todos: z.array(z.object({ content: z.string(), status: z.string(), priority: z.string().optional() })),
})

export const notification = z.object({ sessionId: z.string(), update: z.looseObject({ sessionUpdate: z.string() }) })

export const block = {
  text: z.object({ text: z.string() }),
  image: z.object({ data: z.string(), mimeType: z.string(), uri: text }),
  audio: z.object({ data: z.string(), mimeType: z.string(), uri: text }),
  resource_link: z.object({
    uri: z.string(),
    name: text,
    description: text,
    mimeType: text,
    size: z.number().nullish(),
  }),
  resource: z.object({ resource: z.object({ uri: z.string(), mimeType: text, text, blob: text }) }),
} as const

/** A file in the metadata of OpenCode's own result. */
export const openCodeFile = z.object({
  mime: z.string(),
  url: z.string(),
  filename: z.string().optional(),
  size: z.number().optional(),
  caption: z.string().optional(),
})

/** One item of a tool call's content. Version 1 has one file in a diff, version 2 a list of changes with a patch. */
export const toolContent = z.union([
  z.object({ type: z.literal('content'), content }),
  z.object({ type: z.literal('diff'), path: z.string(), oldText: text, newText: z.string() }),
  z.object({
    type: z.literal('diff'),
    changes: z.array(z.unknown()),
    patch: z.object({ format: z.string(), text: z.string() }).nullish(),
  }),
  z.object({ type: z.literal('terminal'), terminalId: z.string() }),
])

/** The tokens of a turn. A draft of version 1, and a part of version 2. */
export const tokenCounts = z.object({
  inputTokens: z.number(),
  outputTokens: z.number(),
  thoughtTokens: z.number().nullish(),
  cachedReadTokens: z.number().nullish(),
  cachedWriteTokens: z.number().nullish(),
})
export type TokenCounts = z.infer<typeof tokenCounts>

export const elicitationRequest = z.object({
  mode: text,
  message: z.string(),
  sessionId: text,
  toolCallId: text,
  requestedSchema: formSchema.nullish(),
})
export type ElicitationRequest = z.infer<typeof elicitationRequest>

/** Extensions that an agent declares beside its capabilities. */
export const extensions = z
  .object({ steering: z.object({ supported: z.boolean() }) })
  .partial()
  .nullish()
  .catch(undefined)

export const steeringResponse = z.object({ outcome: z.string() })

export const initializeResponse = z.object({
  protocolVersion: z.number(),
  _meta: extensions,
  agentInfo: z.object({ name: z.string(), version: text }).nullish(),
  authMethods: z.array(z.object({ id: z.string(), name: text })).nullish(),
  agentCapabilities: z
    .object({
      _meta: z
        .object({ claudeCode: z.object({ promptQueueing: z.boolean().optional() }) })
        .partial()
        .nullish()
        .catch(undefined),
      loadSession: z.boolean().nullish(),
      sessionCapabilities: z.object({ list: z.unknown(), fork: z.unknown() }).partial().nullish(),
      mcpCapabilities: z.object({ http: z.boolean().nullish() }).nullish(),
      promptCapabilities: z
        .object({ image: z.boolean().nullish(), audio: z.boolean().nullish(), embeddedContext: z.boolean().nullish() })
        .nullish(),
    })
    .nullish(),
})

export const sessionID = z.object({ sessionId: z.string() })

export const sessionList = z.object({
  sessions: z.array(z.object({ sessionId: z.string(), cwd: z.string(), title: text, updatedAt: text })),
  nextCursor: text,
})
