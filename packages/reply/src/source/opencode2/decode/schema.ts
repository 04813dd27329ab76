import * as z from 'zod/mini'

/** The shapes of the wire under the names of 2.0, as loose as the servers: unknown keys pass. */
const id = z.string().check(z.minLength(1))
const record = z.record(z.string(), z.unknown())
const session = { sessionID: id }
const message = { ...session, assistantMessageID: id }
const part = { ...message, ordinal: z.number() }
const call = { ...message, id }

const cacheSchema = z.looseObject({ read: z.number(), write: z.number() })
export const tokensSchema = z.looseObject({
  input: z.number(),
  output: z.number(),
  reasoning: z.optional(z.number()),
  cache: z.optional(cacheSchema),
})

export const errorSchema = z.looseObject({
  type: z.optional(z.string()),
  message: z.optional(z.string()),
  status: z.optional(z.number()),
})

export const modelSchema = z.looseObject({ id: z.string(), providerID: z.string(), variant: z.optional(z.string()) })

const locationSchema = z.looseObject({ directory: z.optional(z.string()) })

export const sessionSchema = z.looseObject({
  id,
  parentID: z.nullish(z.string()),
  title: z.nullish(z.string()),
  location: z.optional(locationSchema),
  time: z.optional(z.looseObject({ created: z.optional(z.number()), updated: z.optional(z.number()) })),
  revert: z.nullish(z.looseObject({ messageID: z.string() })),
  cost: z.optional(z.unknown()),
  tokens: z.optional(z.unknown()),
})

/** The same with all fields optional. */
export const sessionFieldsSchema = z.partial(sessionSchema)

const fileSchema = z.looseObject({
  mime: z.optional(z.string()),
  name: z.nullish(z.string()),
  uri: z.optional(z.string()),
  data: z.optional(z.string()),
  source: z.optional(z.looseObject({ uri: z.optional(z.string()) })),
})

/** A sub-agent that a prompt names. */
const agentSchema = z.looseObject({ name: z.string() })

const payloadSchema = z.looseObject({
  text: z.optional(z.string()),
  files: z.optional(z.array(fileSchema)),
  agents: z.optional(z.array(agentSchema)),
  metadata: z.nullish(record),
})

/** A waiting input, under the names of 2.0. */
export const inboxSchema = z.looseObject({
  id,
  type: z.string(),
  payload: z.optional(payloadSchema),
  time: z.optional(z.looseObject({ created: z.number() })),
})

const contentSchema = z.array(
  z.looseObject({
    type: z.string(),
    text: z.optional(z.string()),
    uri: z.optional(z.string()),
    mime: z.optional(z.string()),
    name: z.nullish(z.string()),
  }),
)

export const permissionSchema = z.looseObject({
  id,
  sessionID: id,
  action: z.string(),
  resources: z.array(z.string()),
  save: z.optional(z.array(z.string())),
  metadata: z.optional(record),
  message: z.nullish(z.string()),
  source: z.nullish(z.looseObject({ messageID: z.optional(z.string()), id: z.optional(z.string()) })),
})

export const fieldSchema = z.looseObject({
  key: z.string(),
  title: z.optional(z.string()),
  description: z.optional(z.string()),
  type: z.string(),
  options: z.optional(
    z.array(z.looseObject({ value: z.unknown(), label: z.optional(z.string()), description: z.optional(z.string()) })),
  ),
  custom: z.optional(z.boolean()),
})

export const formSchema = z.looseObject({
  id,
  sessionID: id,
  title: z.optional(z.string()),
  fields: z.array(fieldSchema),
  metadata: z.optional(
    z.looseObject({
      tool: z.optional(z.looseObject({ messageID: z.optional(z.string()), id: z.optional(z.string()) })),
    }),
  ),
})

export type WirePrompt = z.infer<typeof payloadSchema>
export type WireContent = z.infer<typeof contentSchema>
export type WireForm = z.infer<typeof formSchema>
export type WireMessage = z.infer<typeof messageSchema>
export type WireTool = Extract<z.infer<typeof contentItemSchema>, { type: 'tool' }>

export const toolStateSchema = z.looseObject({
  status: z.enum(['streaming', 'running', 'completed', 'error']),
  input: z.optional(z.union([record, z.string()])),
  content: z.optional(contentSchema),
  metadata: z.optional(record),
  error: z.optional(errorSchema),
})

const times = z.looseObject({
  created: z.optional(z.number()),
  ran: z.optional(z.number()),
  completed: z.optional(z.number()),
})

const contentItemSchema = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.literal('reasoning'), text: z.string(), time: z.optional(times) }),
  z.looseObject({
    type: z.literal('tool'),
    id,
    name: z.string(),
    state: toolStateSchema,
    time: z.optional(times),
  }),
])

export const messageSchema = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('user'),
    id,
    time: z.optional(times),
    text: z.optional(z.string()),
    files: z.optional(z.array(fileSchema)),
    agents: z.optional(z.array(agentSchema)),
  }),
  z.looseObject({
    type: z.literal('synthetic'),
    id,
    time: z.optional(times),
    text: z.string(),
    metadata: z.nullish(z.looseObject({ source: z.optional(z.string()) })),
  }),
  z.looseObject({
    type: z.literal('assistant'),
    id,
    time: z.optional(times),
    agent: z.optional(z.string()),
    model: z.optional(modelSchema),
    content: z.array(contentItemSchema),
    finish: z.nullish(z.string()),
    cost: z.nullish(z.number()),
    tokens: z.nullish(tokensSchema),
    error: z.nullish(errorSchema),
    retry: z.nullish(z.looseObject({ attempt: z.number(), at: z.number(), error: z.optional(errorSchema) })),
  }),
])

/** The data of each event that concerns a reply. */
export const eventSchemas = {
  'session.created': z.looseObject({ ...session, ...sessionFieldsSchema.shape }),
  'session.forked': z.looseObject({ ...session, parentID: z.optional(z.string()) }),
  'session.renamed': z.looseObject({ ...session, title: z.string() }),
  'session.deleted': z.looseObject(session),
  'session.inbox.enqueued': z.looseObject({
    ...session,
    inboxID: id,
    item: z.looseObject({ type: z.string(), payload: z.optional(payloadSchema), delivery: z.optional(z.string()) }),
  }),
  'session.inbox.delivered': z.looseObject({ ...session, inboxID: id }),
  'session.inbox.cancelled': z.looseObject({ ...session, inboxID: id }),
  'session.execution.started': z.looseObject(session),
  'session.execution.succeeded': z.looseObject(session),
  'session.execution.failed': z.looseObject({ ...session, error: z.optional(errorSchema) }),
  'session.execution.interrupted': z.looseObject({ ...session, reason: z.string() }),
  'session.step.started': z.looseObject({
    ...message,
    agent: z.optional(z.string()),
    model: z.optional(modelSchema),
    started: z.optional(z.number()),
  }),
  'session.step.ended': z.looseObject({
    ...message,
    finish: z.optional(z.string()),
    cost: z.optional(z.number()),
    tokens: z.optional(tokensSchema),
  }),
  'session.step.failed': z.looseObject({
    ...message,
    error: z.optional(errorSchema),
    finish: z.optional(z.string()),
    cost: z.optional(z.number()),
    tokens: z.optional(tokensSchema),
  }),
  'session.text.started': z.looseObject(part),
  'session.text.ended': z.looseObject({ ...part, text: z.string() }),
  'session.reasoning.started': z.looseObject(part),
  'session.reasoning.ended': z.looseObject({ ...part, text: z.string() }),
  'session.tool.input.started': z.looseObject({ ...call, name: z.string() }),
  'session.tool.called': z.looseObject({ ...call, input: record }),
  'session.tool.progress': z.looseObject({ ...call, metadata: z.optional(record) }),
  'session.tool.success': z.looseObject({ ...call, content: z.optional(contentSchema), metadata: z.optional(record) }),
  'session.tool.failed': z.looseObject({
    ...call,
    error: z.optional(errorSchema),
    content: z.optional(contentSchema),
    metadata: z.optional(record),
  }),
  'session.retry.scheduled': z.looseObject({
    ...session,
    attempt: z.number(),
    at: z.number(),
    error: z.optional(errorSchema),
  }),
  'session.usage.updated': z.looseObject({ ...session, cost: z.number(), tokens: tokensSchema }),
  'session.compaction.started': z.looseObject({
    ...session,
    reason: z.optional(z.string()),
    inputID: z.optional(z.string()),
  }),
  'session.compaction.ended': z.looseObject(session),
  'session.compaction.failed': z.looseObject(session),
  'session.revert.staged': z.looseObject({ ...session, revert: z.looseObject({ messageID: id }) }),
  'session.revert.cleared': z.looseObject(session),
  'session.revert.committed': z.looseObject({ ...session, to: id }),
  'permission.asked': permissionSchema,
  'permission.replied': z.looseObject({
    ...session,
    requestID: id,
    reply: z.enum(['once', 'always', 'reject']),
  }),
  'form.created': z.looseObject({ form: formSchema }),
  'form.replied': z.looseObject({ id, sessionID: id, answer: record }),
  'form.cancelled': z.looseObject({ id, sessionID: id }),
} as const

/** The type of an event that concerns a reply. */
export type EventType = keyof typeof eventSchemas
/** The data of one type of event. */
export type EventData<T extends EventType> = z.infer<(typeof eventSchemas)[T]>
