import * as z from 'zod'
import type { AgentInfo, CommandInfo, ModelInfo } from '../../port.ts'

const modelInfoSchema = z.looseObject({
  providerID: z.string(),
  modelID: z.string().optional(),
  id: z.string(),
  name: z.string().optional(),
  enabled: z.boolean().optional(),
  limit: z.looseObject({ context: z.number() }).optional(),
  variants: z.array(z.looseObject({ id: z.string().optional(), name: z.string().optional() })).optional(),
})

export function toReadModels(items: readonly unknown[]): readonly ModelInfo[] {
  return items.flatMap((item) => {
    const model = modelInfoSchema.safeParse(item)
    if (!model.success || model.data.enabled === false) return []
    const { providerID, id: modelID, name = modelID, limit, variants = [] } = model.data
    const contextLimit = limit && limit.context > 0 ? limit.context : undefined
    return [{ providerID, modelID, name, contextLimit, variants: variants.flatMap((one) => one.id ?? one.name ?? []) }]
  })
}

const agentSchema = z.looseObject({
  id: z.string(),
  description: z.string().nullish(),
  mode: z.string(),
  hidden: z.boolean().optional(),
})

export function toReadAgents(items: readonly unknown[]): readonly AgentInfo[] {
  return items.flatMap((item) => {
    const agent = agentSchema.safeParse(item)
    if (!agent.success || agent.data.hidden === true) return []
    const { id: name, description, mode } = agent.data
    return [{ name, description: description ?? undefined, isPrimary: mode !== 'subagent' }]
  })
}

const commandSchema = z.looseObject({
  name: z.string(),
  description: z.string().nullish(),
  template: z.string().nullish().catch(undefined),
})

export function toReadCommands(items: readonly unknown[]): readonly CommandInfo[] {
  return items.flatMap((item) => {
    const command = commandSchema.safeParse(item)
    if (!command.success) return []
    const { name, description, template } = command.data
    return [{ name, description: description ?? undefined, template: template ?? undefined }]
  })
}
