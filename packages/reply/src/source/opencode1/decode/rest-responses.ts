import * as z from 'zod/mini'
import type { PermissionAsk, QuestionAsk } from '../../../ask.ts'
import { type OnError, ReplyError } from '../../../error.ts'
import type { Part } from '../../../part.ts'
import type { Model, Todo } from '../../../reply.ts'
import { sentenceOf } from '../../../text/sentence.ts'
import { inEnglish } from '../../decode/check.ts'
import { takenKinds } from '../../file-type.ts'
import type { PermissionRule } from '../../guard-rules.ts'
import type { AgentInfo, CommandInfo, MessageRead, ModelInfo, SessionInfo, WorkStatus } from '../../port.ts'
import { type AskOrigin, toPermission, toQuestion } from './ask.ts'
import { toHead, toSessionFields } from './message.ts'
import { toPart } from './part.ts'
import { headSchema, permissionSchema, questionSchema, sessionSchema, statusSchema, todoSchema } from './schema.ts'

/** Converts REST responses to the model. Reports and drops malformed items of a list, and keeps the rest. */

const readMessageSchema = z.looseObject({ info: z.unknown(), parts: z.array(z.unknown()) })

/**
 * Converts a list of messages. Reports and drops malformed messages and parts. Reports a value that isn't a list, and
 * returns an empty one.
 */
export function toReadMessages(value: unknown, onError: OnError): readonly MessageRead[] {
  if (!Array.isArray(value)) reportMalformed('list of messages', undefined, onError)
  return itemsOf(value).flatMap((item) => {
    const read = readMessageSchema.safeParse(item, inEnglish)
    const head = read.success ? headSchema.safeParse(read.data.info, inEnglish) : read
    if (!read.success || !head.success) {
      reportMalformed('message', head.error, onError)
      return []
    }
    return [{ head: toHead(head.data), parts: read.data.parts.flatMap((part) => toReadPart(part, onError)) }]
  })
}

/** Converts a part, as a list of one. Reports a malformed one and returns an empty list. */
function toReadPart(value: unknown, onError: OnError): Part[] {
  const decoded = toPart(value)
  if (!('issues' in decoded)) return [decoded.part]
  reportMalformed('part', decoded, onError)
  return []
}

/** Converts a session in a response. Undefined if it isn't one. */
export function toReadSession(value: unknown): SessionInfo | undefined {
  const session = sessionSchema.safeParse(value, inEnglish)
  if (!session.success) return undefined
  return { sessionID: session.data.id, ...toSessionFields(session.data), updatedAt: session.data.time?.updated }
}

/** Converts a list of sessions. Reports and drops malformed ones. Empty for undefined. */
export function toReadSessions(value: unknown, onError: OnError): readonly SessionInfo[] {
  return validItems(value, sessionSchema, 'session', onError).map((session) => ({
    sessionID: session.id,
    ...toSessionFields(session),
    updatedAt: session.time?.updated,
  }))
}

/** Converts a to-do list. Reports and drops malformed items. Empty for undefined. */
export function toReadTodos(value: unknown, onError: OnError): readonly Todo[] {
  return validItems(value, todoSchema, 'checklist item', onError).map(({ content, status, priority }) => ({
    content,
    status,
    priority,
  }))
}

/** Converts a list of questions. Reports and drops malformed ones. Empty for undefined. */
export function toReadQuestions(value: unknown, origin: AskOrigin, onError: OnError): readonly QuestionAsk[] {
  return validItems(value, questionSchema, 'question', onError).map((question) => toQuestion(question, origin))
}

/** Converts a list of permissions. Reports and drops malformed ones. Empty for undefined. */
export function toReadPermissions(value: unknown, origin: AskOrigin, onError: OnError): readonly PermissionAsk[] {
  return validItems(value, permissionSchema, 'permission', onError).map((permission) =>
    toPermission(permission, origin),
  )
}

/**
 * Returns the sessions that are not idle. Reports an unknown status, which counts as busy. Reports a value that isn't
 * an object, and returns an empty table.
 */
export function toReadStatuses(value: unknown, onError: OnError): ReadonlyMap<string, WorkStatus> {
  const isTable = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isTable) reportMalformed('table of statuses', undefined, onError)
  const entries = isTable ? Object.entries(value) : []
  return new Map(
    entries.flatMap(([id, wire]): [string, WorkStatus][] => {
      const status = statusSchema.safeParse(wire, inEnglish)
      if (!status.success) reportMalformed('status', status.error, onError)
      if (status.data?.type === 'idle') return []
      if (status.data === undefined || status.data.type === 'busy') return [[id, { status: 'busy' }]]
      const { attempt, message = '', next: nextAt } = status.data
      return [[id, { status: 'retry', retry: { attempt, message: sentenceOf(message), nextAt } }]]
    }),
  )
}

const pathSchema = z.looseObject({ directory: z.string().check(z.minLength(1)) })

/** Returns the directory in the response to `GET /path`. Undefined if it has none. */
export function toReadDirectory(value: unknown): string | undefined {
  const path = pathSchema.safeParse(value, inEnglish)
  return path.success ? path.data.directory : undefined
}

const projectSchema = z.looseObject({ worktree: z.string().check(z.minLength(1)) })

/**
 * Returns the worktrees in a list of projects. Drops malformed projects without a report. Empty if the value isn't a
 * list.
 */
export function toReadWorktrees(value: unknown): readonly string[] {
  return itemsOf(value).flatMap((item) => {
    const project = projectSchema.safeParse(item, inEnglish)
    return project.success ? [project.data.worktree] : []
  })
}

const healthSchema = z.looseObject({ version: z.string() })

/** Returns the version in the response to `GET /global/health`. Undefined if it has none. */
export function toReadVersion(value: unknown): string | undefined {
  const health = healthSchema.safeParse(value, inEnglish)
  return health.success ? health.data.version : undefined
}

const providerSchema = z.looseObject({ id: z.string(), models: z.record(z.string(), z.unknown()) })
const providersSchema = z.looseObject({ providers: z.array(z.unknown()) })
const modelSchema = z.looseObject({
  name: z.optional(z.string()),
  limit: z.optional(z.looseObject({ context: z.number() })),
  variants: z.optional(z.record(z.string(), z.unknown())),
  capabilities: z.catch(z.optional(z.object({ input: z.record(z.string(), z.unknown()) })), undefined),
})

const configSchema = z.looseObject({ model: z.optional(z.string()), default_agent: z.optional(z.string()) })

/**
 * Returns the model and the agent that the server's config names for prompts without them. The model is written as
 * `provider/model`. Without an agent, it is `build`.
 */
export function toReadDefaults(config: unknown): { readonly model: Model | undefined; readonly agent: string } {
  const { model = '', default_agent: agent = 'build' } = configSchema.safeParse(config, inEnglish).data ?? {}
  const [, providerID, modelID] = /^([^/]+)\/(.+)$/s.exec(model) ?? []
  return { model: providerID === undefined || modelID === undefined ? undefined : { providerID, modelID }, agent }
}

const namedModelSchema = z.object({ providerID: z.string(), modelID: z.string() })
const ownModelSchema = z.looseObject({ name: z.string(), model: z.catch(z.optional(namedModelSchema), undefined) })

/** Returns the model that an agent's settings name. Undefined if they name none, and for an unknown agent. */
export function toAgentModel(agents: unknown, name: string): Model | undefined {
  const { data = [] } = z.array(z.catch(z.nullable(ownModelSchema), null)).safeParse(agents, inEnglish)
  return data.find((agent) => agent?.name === name)?.model
}

/** Returns the model of the newest of these messages. Undefined without one. */
export function toLastModel(messages: unknown): Model | undefined {
  const { data = [] } = z.array(z.looseObject({ info: z.unknown() })).safeParse(messages, inEnglish)
  const info = data.at(-1)?.info
  const nested = z.looseObject({ model: namedModelSchema }).safeParse(info, inEnglish).data?.model
  return nested ?? namedModelSchema.safeParse(info, inEnglish).data
}

/**
 * Returns the models of all providers. Reports and drops malformed providers and models. Empty for a response without a
 * list of providers, which is reported. A model without a name has its id, and one with a context limit of 0 has none.
 */
export function toReadModels(value: unknown, onError: OnError): readonly ModelInfo[] {
  const read = providersSchema.safeParse(value, inEnglish)
  const providers = validItems(read.data?.providers ?? null, providerSchema, 'provider', onError)
  return providers.flatMap(({ id: providerID, models }) =>
    Object.entries(models).flatMap(([modelID, wire]) =>
      validItems([wire], modelSchema, 'model', onError).map(
        ({ name = modelID, limit, variants = {}, capabilities }) => ({
          providerID,
          modelID,
          name,
          contextLimit: limit && limit.context > 0 ? limit.context : undefined,
          variants: Object.keys(variants),
          takes: capabilities && takenKinds((kind) => capabilities.input[kind] === true),
        }),
      ),
    ),
  )
}

// 1.17.19 and 1.18.33 write null where a field is not set.
const agentSchema = z.looseObject({
  name: z.string(),
  description: z.nullish(z.string()),
  mode: z.string(),
  hidden: z.nullish(z.boolean()),
})

/**
 * Returns the agents that people can choose and those that other agents start, without the server's own helpers.
 * Reports and drops malformed ones.
 */
export function toReadAgents(value: unknown, onError: OnError): readonly AgentInfo[] {
  return validItems(value, agentSchema, 'agent', onError).flatMap(({ name, description, mode, hidden }) =>
    hidden === true ? [] : [{ name, description: description ?? undefined, isPrimary: mode !== 'subagent' }],
  )
}

const ruleSchema = z.object({ permission: z.string(), pattern: z.string(), action: z.enum(['allow', 'ask', 'deny']) })
const ruledSchema = z.looseObject({ name: z.string(), mode: z.string(), permission: z.catch(z.array(ruleSchema), []) })

/**
 * Returns all agents with their rules, including hidden ones. An agent whose rules can't be read has none, so it counts
 * as one that doesn't ask. Empty if any item isn't an agent.
 */
export function toReadAgentRules(
  value: unknown,
): readonly { readonly name: string; readonly mode: string; readonly rules: readonly PermissionRule[] }[] {
  const read = z.array(ruledSchema).safeParse(value, inEnglish)
  return (read.data ?? []).map(({ name, mode, permission }) => ({ name, mode, rules: permission }))
}

/** Returns a session's own rules. Empty if it has none or they can't be read. */
export function toReadRules(session: unknown): readonly PermissionRule[] {
  const read = z.looseObject({ permission: z.array(ruleSchema) }).safeParse(session, inEnglish)
  return read.data?.permission ?? []
}

const startSchema = z.looseObject({
  name: z.string(),
  agent: z.catch(z.optional(z.string()), undefined),
  subtask: z.catch(z.optional(z.boolean()), undefined),
})

/** Returns which agent each command starts. Undefined if that can't be read. */
export function toReadCommandStarts(value: unknown): readonly z.infer<typeof startSchema>[] | undefined {
  return z.array(startSchema).safeParse(value, inEnglish).data
}

const commandSchema = z.looseObject({
  name: z.string(),
  description: z.nullish(z.string()),
  // For a prompt of an MCP server, it is an empty object.
  template: z.catch(z.optional(z.string()), undefined),
})

/** Converts a list of commands. Reports and drops malformed ones. Empty for undefined. */
export function toReadCommands(value: unknown, onError: OnError): readonly CommandInfo[] {
  return validItems(value, commandSchema, 'command', onError).map(({ name, description, template }) => ({
    name,
    description: description ?? undefined,
    template,
  }))
}

/**
 * Returns the valid items of a list. Reports each other item. Empty for undefined, and for a value that isn't a list,
 * which is reported.
 */
function validItems<S extends z.ZodMiniType>(
  value: unknown,
  schema: S,
  kind: string,
  onError: OnError,
): readonly z.infer<S>[] {
  if (value !== undefined && !Array.isArray(value)) reportMalformed(`list of ${kind}s`, undefined, onError)
  return itemsOf(value).flatMap((item) => {
    const read = schema.safeParse(item, inEnglish)
    if (read.success) return [read.data]
    reportMalformed(kind, read.error, onError)
    return []
  })
}

/** Returns a list's items. Empty if the value isn't a list. */
function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/**
 * Reports a malformed item to `onError`, with the path and message of its first problem. Without an error, the item
 * isn't an object.
 */
function reportMalformed(what: string, error: z.core.$ZodError | undefined, onError: OnError): void {
  const issue = error?.issues[0]
  const problem = issue ? [issue.path.join('.'), issue.message].filter(Boolean).join(': ') : 'not an object'
  onError(new ReplyError('malformed', `Left out a malformed ${what} read over REST: ${problem}`))
}
