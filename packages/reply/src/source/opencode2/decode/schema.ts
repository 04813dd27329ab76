import * as z from 'zod'

/** The wire's shapes under the names of 2.0, as loose as its servers: unknown keys pass. */
const id = z.string().min(1)
const record = z.record(z.string(), z.unknown())
const session = { sessionID: id }
const message = { ...session, assistantMessageID: id }
const part = { ...message, ordinal: z.number() }
const call = { ...message, id }

const cacheSchema = z.looseObject({ read: z.number(), write: z.number() })
export const tokensSchema = z.looseObject({
  input: z.number(),
  output: z.number(),
  reasoning: z.number().optional(),
  cache: cacheSchema.optional(),
})

export const errorSchema = z.looseObject({
  type: z.string().optional(),
  message: z.string().optional(),
  status: z.number().optional(),
})

export const modelSchema = z.looseObject({ id: z.string(), providerID: z.string(), variant: z.string().optional() })

const locationSchema = z.looseObject({ directory: z.string().optional() })

export const sessionSchema = z.looseObject({
  id,
  parentID: z.string().nullish(),
  title: z.string().nullish(),
  location: locationSchema.optional(),
  time: z.looseObject({ created: z.number().optional(), updated: z.number().optional() }).optional(),
  revert: z.looseObject({ messageID: z.string() }).nullish(),
})

export const fileSchema = z.looseObject({
  mime: z.string().optional(),
  name: z.string().nullish(),
  uri: z.string().optional(),
  data: z.string().optional(),
  source: z.looseObject({ uri: z.string().optional() }).optional(),
})

const payloadSchema = z.looseObject({
  text: z.string().optional(),
  files: z.array(fileSchema).optional(),
  metadata: record.nullish(),
})

/** An input that waits, under the names of 2.0. */
export const inboxSchema = z.looseObject({
  id,
  type: z.string(),
  payload: payloadSchema.optional(),
  time: z.looseObject({ created: z.number() }).optional(),
})

const contentSchema = z.array(z.looseObject({ type: z.string(), text: z.string().optional() }))

export const permissionSchema = z.looseObject({
  id,
  sessionID: id,
  action: z.string(),
  resources: z.array(z.string()),
  save: z.array(z.string()).optional(),
  metadata: record.optional(),
  message: z.string().nullish(),
  source: z.looseObject({ messageID: z.string().optional(), id: z.string().optional() }).nullish(),
})

export const fieldSchema = z.looseObject({
  key: z.string(),
  title: z.string().optional(),
  description: z.string().optional(),
  type: z.string(),
  options: z
    .array(z.looseObject({ value: z.unknown(), label: z.string().optional(), description: z.string().optional() }))
    .optional(),
  custom: z.boolean().optional(),
})

export const formSchema = z.looseObject({
  id,
  sessionID: id,
  title: z.string().optional(),
  fields: z.array(fieldSchema),
  metadata: z
    .looseObject({ tool: z.looseObject({ messageID: z.string().optional(), id: z.string().optional() }).optional() })
    .optional(),
})

export type WirePrompt = z.infer<typeof payloadSchema>
export type WireForm = z.infer<typeof formSchema>
export type WireMessage = z.infer<typeof messageSchema>
export type WireTool = Extract<z.infer<typeof contentItemSchema>, { type: 'tool' }>

export const toolStateSchema = z.looseObject({
  status: z.enum(['streaming', 'running', 'completed', 'error']),
  input: z.union([record, z.string()]).optional(),
  content: contentSchema.optional(),
  metadata: record.optional(),
  error: errorSchema.optional(),
})

const times = z.looseObject({
  created: z.number().optional(),
  ran: z.number().optional(),
  completed: z.number().optional(),
})

const contentItemSchema = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.literal('reasoning'), text: z.string(), time: times.optional() }),
  z.looseObject({
    type: z.literal('tool'),
    id,
    name: z.string(),
    state: toolStateSchema,
    time: times.optional(),
  }),
])

export const messageSchema = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('user'),
    id,
    time: times.optional(),
    text: z.string().optional(),
    files: z.array(fileSchema).optional(),
  }),
  z.looseObject({
    type: z.literal('synthetic'),
    id,
    time: times.optional(),
    text: z.string(),
    metadata: z.looseObject({ source: z.string().optional() }).nullish(),
  }),
  z.looseObject({
    type: z.literal('assistant'),
    id,
    time: times.optional(),
    agent: z.string().optional(),
    model: modelSchema.optional(),
    content: z.array(contentItemSchema),
    finish: z.string().nullish(),
    cost: z.number().nullish(),
    tokens: tokensSchema.nullish(),
    error: errorSchema.nullish(),
    retry: z.looseObject({ attempt: z.number(), at: z.number(), error: errorSchema.optional() }).nullish(),
  }),
])

/** The data of each event that concerns a reply. */
export const eventSchemas = {
  'session.created': z.looseObject({ ...session, ...sessionSchema.partial().shape }),
  'session.forked': z.looseObject({ ...session, parentID: z.string().optional() }),
  'session.renamed': z.looseObject({ ...session, title: z.string() }),
  'session.deleted': z.looseObject(session),
  'session.inbox.enqueued': z.looseObject({
    ...session,
    inboxID: id,
    item: z.looseObject({ type: z.string(), payload: payloadSchema.optional(), delivery: z.string().optional() }),
  }),
  'session.inbox.delivered': z.looseObject({ ...session, inboxID: id }),
  'session.inbox.cancelled': z.looseObject({ ...session, inboxID: id }),
  'session.execution.started': z.looseObject(session),
  'session.execution.succeeded': z.looseObject(session),
  'session.execution.failed': z.looseObject({ ...session, error: errorSchema.optional() }),
  'session.execution.interrupted': z.looseObject({ ...session, reason: z.string() }),
  'session.step.started': z.looseObject({
    ...message,
    agent: z.string().optional(),
    model: modelSchema.optional(),
    started: z.number().optional(),
  }),
  'session.step.ended': z.looseObject({
    ...message,
    finish: z.string().optional(),
    cost: z.number().optional(),
    tokens: tokensSchema.optional(),
  }),
  'session.step.failed': z.looseObject({
    ...message,
    error: errorSchema.optional(),
    finish: z.string().optional(),
    cost: z.number().optional(),
    tokens: tokensSchema.optional(),
  }),
  'session.text.started': z.looseObject(part),
  'session.text.ended': z.looseObject({ ...part, text: z.string() }),
  'session.reasoning.started': z.looseObject(part),
  'session.reasoning.ended': z.looseObject({ ...part, text: z.string() }),
  'session.tool.input.started': z.looseObject({ ...call, name: z.string() }),
  'session.tool.called': z.looseObject({ ...call, input: record }),
  'session.tool.progress': z.looseObject({ ...call, metadata: record.optional() }),
  'session.tool.success': z.looseObject({ ...call, content: contentSchema.optional(), metadata: record.optional() }),
  'session.tool.failed': z.looseObject({
    ...call,
    error: errorSchema.optional(),
    content: contentSchema.optional(),
    metadata: record.optional(),
  }),
  'session.retry.scheduled': z.looseObject({
    ...session,
    attempt: z.number(),
    at: z.number(),
    error: errorSchema.optional(),
  }),
  'session.compaction.started': z.looseObject({ ...session, reason: z.string().optional() }),
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
