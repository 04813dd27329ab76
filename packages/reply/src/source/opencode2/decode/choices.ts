import * as z from 'zod/mini'
import type { Model } from '../../../reply.ts'
import { inEnglish } from '../../decode/check.ts'
import { takenKinds } from '../../file-type.ts'
import type { PermissionRule } from '../../guard-rules.ts'
import type { AgentInfo, CommandInfo, ModelInfo, SavedRule } from '../../port.ts'

const modelInfoSchema = z.looseObject({
  providerID: z.string(),
  modelID: z.optional(z.string()),
  id: z.string(),
  name: z.optional(z.string()),
  enabled: z.optional(z.boolean()),
  limit: z.optional(z.looseObject({ context: z.number() })),
  capabilities: z.catch(z.optional(z.looseObject({ input: z.array(z.string()) })), undefined),
  variants: z.optional(z.array(z.looseObject({ id: z.optional(z.string()), name: z.optional(z.string()) }))),
})

/**
 * Converts a list of models. Drops disabled and malformed ones. A model without a name has its id, one with a context
 * limit of 0 has none, and a variant is named by its id, else by its name.
 */
export function toReadModels(items: readonly unknown[]): readonly ModelInfo[] {
  return items.flatMap((item) => {
    const model = modelInfoSchema.safeParse(item, inEnglish)
    if (!model.success || model.data.enabled === false) return []
    const { providerID, id: modelID, name = modelID, limit, variants = [], capabilities } = model.data
    const contextLimit = limit && limit.context > 0 ? limit.context : undefined
    const variantNames = variants.flatMap((one) => one.id ?? one.name ?? [])
    const takes = capabilities && takenKinds((kind) => capabilities.input.includes(kind))
    return [{ providerID, modelID, name, contextLimit, variants: variantNames, takes }]
  })
}

const chosenSchema = z.looseObject({ model: z.optional(z.looseObject({ providerID: z.string(), id: z.string() })) })

/** Returns the model that a session, or an agent's settings, name. Undefined if they name none. */
export function toChosenModel(value: unknown): Model | undefined {
  const model = chosenSchema.safeParse(value, inEnglish).data?.model
  return model && { providerID: model.providerID, modelID: model.id }
}

const agentSchema = z.looseObject({
  id: z.string(),
  description: z.nullish(z.string()),
  mode: z.string(),
  hidden: z.optional(z.boolean()),
})

/** Converts a list of agents. Drops hidden and malformed ones. */
export function toReadAgents(items: readonly unknown[]): readonly AgentInfo[] {
  return items.flatMap((item) => {
    const agent = agentSchema.safeParse(item, inEnglish)
    if (!agent.success || agent.data.hidden === true) return []
    const { id: name, description, mode } = agent.data
    return [{ name, description: description ?? undefined, isPrimary: mode !== 'subagent' }]
  })
}

const ruledSchema = z.looseObject({
  id: z.string(),
  permissions: z.catch(
    z.array(z.object({ action: z.string(), resource: z.string(), effect: z.enum(['allow', 'ask', 'deny']) })),
    [],
  ),
})

/**
 * Returns all agents with their rules, including hidden ones. An agent whose rules can't be read has none, so it counts
 * as one that doesn't ask. Empty if any item isn't an agent.
 */
export function toReadAgentRules(
  items: readonly unknown[],
): readonly { readonly name: string; readonly rules: readonly PermissionRule[] }[] {
  return (z.array(ruledSchema).safeParse(items, inEnglish).data ?? []).map(({ id, permissions }) => ({
    name: id,
    rules: permissions.map(({ action, resource, effect }) => ({
      permission: action,
      pattern: resource,
      action: effect,
    })),
  }))
}

const commandSchema = z.looseObject({
  name: z.string(),
  description: z.nullish(z.string()),
  template: z.catch(z.nullish(z.string()), undefined),
})

/** Converts a list of commands. Drops malformed ones. */
export function toReadCommands(items: readonly unknown[]): readonly CommandInfo[] {
  return items.flatMap((item) => {
    const command = commandSchema.safeParse(item, inEnglish)
    if (!command.success) return []
    const { name, description, template } = command.data
    return [{ name, description: description ?? undefined, template: template ?? undefined }]
  })
}

const ruleSchema = z.looseObject({ id: z.string(), action: z.string(), resource: z.string() })

/** Converts a list of saved rules. Drops malformed ones. */
export function toReadRules(items: readonly unknown[]): readonly SavedRule[] {
  return items.flatMap((item) => {
    const rule = ruleSchema.safeParse(item, inEnglish)
    return rule.success ? [{ id: rule.data.id, permission: rule.data.action, pattern: rule.data.resource }] : []
  })
}
