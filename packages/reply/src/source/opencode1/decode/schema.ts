import * as z from 'zod/mini'

/**
 * The shapes of the wire, as loose as the servers: unknown keys pass, and fields that some version omits are optional.
 * Contains only the fields that the reducer needs. `decode.ts` checks deltas by hand, for speed.
 */
const id = z.string().check(z.minLength(1))
const record = z.record(z.string(), z.unknown())
const patterns = z.union([
  z.pipe(
    z.string(),
    z.transform((one) => [one]),
  ),
  z.array(z.string()),
])

export const failureSchema = z.looseObject({
  name: z.optional(z.string()),
  data: z.optional(
    z.looseObject({
      message: z.optional(z.string()),
      statusCode: z.optional(z.number()),
      isRetryable: z.optional(z.boolean()),
    }),
  ),
  message: z.optional(z.string()),
})

const tokensSchema = z.looseObject({
  input: z.number(),
  output: z.number(),
  reasoning: z.optional(z.number()),
  cache: z.optional(z.looseObject({ read: z.number(), write: z.number() })),
})

export const headSchema = z.looseObject({
  id,
  sessionID: id,
  role: z.enum(['user', 'assistant']),
  parentID: z.optional(z.string()),
  time: z.optional(z.looseObject({ created: z.optional(z.number()), completed: z.optional(z.number()) })),
  finish: z.optional(z.string()),
  error: z.optional(failureSchema),
  tokens: z.optional(tokensSchema),
  cost: z.optional(z.number()),
  /** In a user message an object with its title and diffs, in an assistant's a flag. */
  summary: z.optional(z.unknown()),
  /** The value of a prompt with a `format`. */
  structured: z.optional(z.unknown()),
  agent: z.optional(z.string()),
  mode: z.optional(z.string()),
  model: z.optional(z.looseObject({ providerID: z.string(), modelID: z.string() })),
  providerID: z.optional(z.string()),
  modelID: z.optional(z.string()),
})

export const sessionSchema = z.looseObject({
  id,
  parentID: z.nullish(z.string()),
  title: z.optional(z.string()),
  directory: z.optional(z.string()),
  time: z.optional(z.looseObject({ created: z.optional(z.number()), updated: z.optional(z.number()) })),
  revert: z.nullish(z.looseObject({ messageID: z.string() })),
})

const times = z.optional(z.looseObject({ start: z.optional(z.number()), end: z.optional(z.number()) }))
const place = { id, sessionID: id, messageID: id }
const file = { mime: z.string(), url: z.string(), filename: z.optional(z.string()) }

export const toolStateSchema = z.looseObject({
  status: z.enum(['pending', 'running', 'completed', 'error']),
  input: z.optional(record),
  title: z.optional(z.string()),
  output: z.optional(z.string()),
  error: z.optional(z.string()),
  metadata: z.optional(record),
  attachments: z.optional(z.array(z.looseObject(file))),
  time: times,
})

/**
 * A file in the metadata of a call. The server drops links from the results of MCP servers, and passes on their own `metadata`:
 * `send_file` of `@reply/tools` puts its file there.
 */
export const linkedFileSchema = z.looseObject({
  type: z.literal('file'),
  ...file,
  size: z.optional(z.number()),
  caption: z.optional(z.string()),
})

/** One schema per known part type. `satisfies` in the type tests keeps this list equal to the SDK's. */
export const partSchemas = {
  text: z.looseObject({
    ...place,
    text: z.string(),
    synthetic: z.optional(z.boolean()),
    ignored: z.optional(z.boolean()),
    time: times,
  }),
  reasoning: z.looseObject({ ...place, text: z.string(), time: times }),
  tool: z.looseObject({ ...place, tool: z.string(), callID: z.string(), state: toolStateSchema }),
  file: z.looseObject({ ...place, ...file }),
  patch: z.looseObject({ ...place, hash: z.string(), files: z.array(z.string()) }),
  'step-start': z.looseObject({ ...place, snapshot: z.optional(z.string()) }),
  'step-finish': z.looseObject({ ...place, reason: z.optional(z.string()), tokens: tokensSchema, cost: z.number() }),
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
      header: z.optional(z.string()),
      question: z.string(),
      options: z.optional(z.array(z.looseObject({ label: z.string(), description: z.optional(z.string()) }))),
      multiple: z.optional(z.boolean()),
      custom: z.optional(z.boolean()),
    }),
  ),
  tool: z.optional(z.looseObject({ messageID: z.string(), callID: z.string() })),
})

/** `permission.asked`. */
export const permissionSchema = z.looseObject({
  id,
  sessionID: id,
  permission: z.string(),
  patterns: z.array(z.string()),
  always: z.optional(z.array(z.string())),
  metadata: z.optional(record),
  tool: z.optional(z.looseObject({ messageID: z.string(), callID: z.string() })),
})

/** `permission.updated`, its name on servers up to 1.0.223. */
export const oldPermissionSchema = z.looseObject({
  id,
  sessionID: id,
  type: z.string(),
  pattern: z.optional(patterns),
  title: z.optional(z.string()),
  metadata: z.optional(record),
  messageID: z.optional(z.string()),
  callID: z.optional(z.string()),
})

export const statusSchema = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('busy') }),
  z.looseObject({ type: z.literal('idle') }),
  z.looseObject({
    type: z.literal('retry'),
    attempt: z.optional(z.number()),
    message: z.optional(z.string()),
    next: z.optional(z.number()),
  }),
])

export const todoSchema = z.looseObject({
  content: z.string(),
  status: z.string(),
  priority: z.optional(z.string()),
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
  'session.error': z.looseObject({ sessionID: z.optional(z.string()), error: z.optional(failureSchema) }),
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
  'server.instance.disposed': z.looseObject({ directory: z.optional(z.string()) }),
}
