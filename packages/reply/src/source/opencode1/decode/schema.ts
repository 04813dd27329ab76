import * as z from 'zod'

/**
 * The wire's shapes, as loose as its servers: unknown keys pass, and fields that some version omits are optional. Lists
 * only the fields that the reducer needs. `decode.ts` checks deltas by hand, for speed.
 */
const id = z.string().min(1)
const record = z.record(z.string(), z.unknown())
const patterns = z.union([z.string().transform((one) => [one]), z.array(z.string())])

export const failureSchema = z.looseObject({
  name: z.string().optional(),
  data: z
    .looseObject({
      message: z.string().optional(),
      statusCode: z.number().optional(),
      isRetryable: z.boolean().optional(),
    })
    .optional(),
  message: z.string().optional(),
})

const tokensSchema = z.looseObject({
  input: z.number(),
  output: z.number(),
  reasoning: z.number().optional(),
  cache: z.looseObject({ read: z.number(), write: z.number() }).optional(),
})

export const headSchema = z.looseObject({
  id,
  sessionID: id,
  role: z.enum(['user', 'assistant']),
  parentID: z.string().optional(),
  time: z.looseObject({ created: z.number().optional(), completed: z.number().optional() }).optional(),
  finish: z.string().optional(),
  error: failureSchema.optional(),
  tokens: tokensSchema.optional(),
  cost: z.number().optional(),
  /** An object in a user message (its title and diffs), a flag in an assistant's. */
  summary: z.unknown().optional(),
  /** The value of a prompt with a `format`. */
  structured: z.unknown().optional(),
  agent: z.string().optional(),
  mode: z.string().optional(),
  model: z.looseObject({ providerID: z.string(), modelID: z.string() }).optional(),
  providerID: z.string().optional(),
  modelID: z.string().optional(),
})

export const sessionSchema = z.looseObject({
  id,
  parentID: z.string().nullish(),
  title: z.string().optional(),
  directory: z.string().optional(),
  time: z.looseObject({ created: z.number().optional(), updated: z.number().optional() }).optional(),
  revert: z.looseObject({ messageID: z.string() }).nullish(),
})

const times = z.looseObject({ start: z.number().optional(), end: z.number().optional() }).optional()
const place = { id, sessionID: id, messageID: id }

export const toolStateSchema = z.looseObject({
  status: z.enum(['pending', 'running', 'completed', 'error']),
  input: record.optional(),
  title: z.string().optional(),
  output: z.string().optional(),
  error: z.string().optional(),
  metadata: record.optional(),
  time: times,
})

/** One schema per known part type. `satisfies` in the type tests keeps this list equal to the SDK's. */
export const partSchemas = {
  text: z.looseObject({
    ...place,
    text: z.string(),
    synthetic: z.boolean().optional(),
    ignored: z.boolean().optional(),
    time: times,
  }),
  reasoning: z.looseObject({ ...place, text: z.string(), time: times }),
  tool: z.looseObject({ ...place, tool: z.string(), callID: z.string(), state: toolStateSchema }),
  file: z.looseObject({ ...place, mime: z.string(), url: z.string(), filename: z.string().optional() }),
  patch: z.looseObject({ ...place, hash: z.string(), files: z.array(z.string()) }),
  'step-start': z.looseObject({ ...place, snapshot: z.string().optional() }),
  'step-finish': z.looseObject({ ...place, reason: z.string().optional(), tokens: tokensSchema, cost: z.number() }),
  snapshot: z.looseObject({ ...place, snapshot: z.string() }),
  subtask: z.looseObject({ ...place, prompt: z.string(), description: z.string(), agent: z.string() }),
  agent: z.looseObject({ ...place, name: z.string() }),
  retry: z.looseObject({ ...place, attempt: z.number(), error: failureSchema }),
  compaction: z.looseObject({ ...place, auto: z.boolean() }),
}

export const anyPartSchema = z.looseObject({ ...place, type: z.string() })

export const questionSchema = z.looseObject({
  id,
  sessionID: id,
  questions: z.array(
    z.looseObject({
      header: z.string().optional(),
      question: z.string(),
      options: z.array(z.looseObject({ label: z.string(), description: z.string().optional() })).optional(),
      multiple: z.boolean().optional(),
      custom: z.boolean().optional(),
    }),
  ),
  tool: z.looseObject({ messageID: z.string(), callID: z.string() }).optional(),
})

/** `permission.asked`. */
export const permissionSchema = z.looseObject({
  id,
  sessionID: id,
  permission: z.string(),
  patterns: z.array(z.string()),
  always: z.array(z.string()).optional(),
  metadata: record.optional(),
  tool: z.looseObject({ messageID: z.string(), callID: z.string() }).optional(),
})

/** `permission.updated`, the same thing on servers up to 1.0.223. */
export const oldPermissionSchema = z.looseObject({
  id,
  sessionID: id,
  type: z.string(),
  pattern: patterns.optional(),
  title: z.string().optional(),
  metadata: record.optional(),
  messageID: z.string().optional(),
  callID: z.string().optional(),
})

export const statusSchema = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('busy') }),
  z.looseObject({ type: z.literal('idle') }),
  z.looseObject({
    type: z.literal('retry'),
    attempt: z.number().optional(),
    message: z.string().optional(),
    next: z.number().optional(),
  }),
])

export const todoSchema = z.looseObject({
  content: z.string(),
  status: z.string(),
  priority: z.string().optional(),
})

const todosSchema = z.array(todoSchema)

export const permissionReplySchema = z.enum(['once', 'always', 'reject'])

const sessionID = id

/** The properties of each known event. */
export const eventSchemas = {
  'session.created': z.looseObject({ info: sessionSchema }),
  'session.updated': z.looseObject({ info: sessionSchema }),
  'session.deleted': z.looseObject({ info: sessionSchema }),
  'session.status': z.looseObject({ sessionID, status: statusSchema }),
  'session.idle': z.looseObject({ sessionID }),
  'session.error': z.looseObject({ sessionID: z.string().optional(), error: failureSchema.optional() }),
  'session.compacted': z.looseObject({ sessionID }),
  'message.updated': z.looseObject({ info: headSchema }),
  'message.removed': z.looseObject({ sessionID, messageID: id }),
  /** The part is validated by its own schema. */
  'message.part.updated': z.looseObject({ part: z.unknown() }),
  'message.part.removed': z.looseObject({ sessionID, messageID: id, partID: id }),
  'todo.updated': z.looseObject({ sessionID, todos: todosSchema }),
  'question.asked': questionSchema,
  'question.replied': z.looseObject({ sessionID, requestID: id, answers: z.array(z.array(z.string())) }),
  'question.rejected': z.looseObject({ sessionID, requestID: id }),
  'permission.asked': permissionSchema,
  'permission.updated': oldPermissionSchema,
  'permission.replied': z.union([
    z.looseObject({ sessionID, requestID: id, reply: permissionReplySchema }),
    z.looseObject({ sessionID, permissionID: id, response: permissionReplySchema }),
  ]),
  'server.instance.disposed': z.looseObject({ directory: z.string().optional() }),
}
