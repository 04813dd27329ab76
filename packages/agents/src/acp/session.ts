import type { AgentInfo, CommandInfo, ModelInfo } from '@reply/core/source'

/** A mode that an agent offers, for example `plan`. */
export interface AcpMode {
  /** Pass it as `PromptInput.agent`. */
  readonly id: string
  /** The display name. */
  readonly name: string
  /** Its purpose. Absent if the agent gives none. */
  readonly description?: string | undefined
}

/** A slash command that an agent offers. */
export interface AcpCommand {
  /** Without the slash. */
  readonly name: string
  /** A description. Absent if the agent gives none. */
  readonly description?: string | undefined
}

/** A setting of a session that the agent lets its client change. */
export interface AcpConfigOption {
  /** The agent's id for it. */
  readonly id: string
  /** The display name. */
  readonly name: string
  /** A description. Absent if the agent gives none. */
  readonly description?: string | undefined
  /** `mode`, `model`, `thought_level`, or a category of the agent's own. Absent if it has none. */
  readonly category?: string | undefined
  /** The current value. */
  readonly value: string | boolean
  /** The possible values, with groups flattened. Empty for a switch. */
  readonly choices: readonly { readonly value: string; readonly name: string }[]
}

/** Modes, commands and settings of a session, as the agent reported them. */
export interface AcpSession {
  /** The session's id. */
  readonly sessionID: string
  /** Empty until the agent lists them. The agent may change the list at any time. */
  readonly commands: readonly AcpCommand[]
  /** Empty if it has none, or only a setting of the category `mode`. */
  readonly modes: readonly AcpMode[]
  /** The id of the current mode. Absent if it has no modes. */
  readonly modeID?: string | undefined
  /** Its settings. Empty if it has none. */
  readonly config: readonly AcpConfigOption[]
}

export function emptySession(sessionID: string): AcpSession {
  return { sessionID, commands: [], modes: [], config: [] }
}

/** The commands of all these sessions, without duplicates. */
export function commandsIn(sessions: readonly AcpSession[]): readonly CommandInfo[] {
  return uniqueBy(sessions.flatMap(({ commands }) => commands))
}

/** The modes of all these sessions, without duplicates. A prompt selects one by its `agent`. */
export function agentsIn(sessions: readonly AcpSession[]): readonly AgentInfo[] {
  return uniqueBy(sessions.flatMap(modesOf)).map((mode) => ({ ...mode, isPrimary: true }))
}

function modesOf({ modes, config }: AcpSession) {
  const setting = config.find(({ category }) => category === 'mode')?.choices ?? []
  const listed = modes.map(({ id, description }) => ({ name: id, description }))
  return [...listed, ...setting.map(({ value }) => ({ name: value, description: undefined }))]
}

function uniqueBy<T extends { readonly name: string }>(items: readonly T[]): readonly T[] {
  return [...new Map(items.map((item) => [item.name, item])).values()]
}

/** The models of all these sessions. An id without `provider/` gets the agent's name as its provider. */
export function modelsIn(sessions: readonly AcpSession[], name: string): readonly ModelInfo[] {
  const choices = sessions.flatMap(({ config }) => config.find(({ category }) => category === 'model')?.choices ?? [])
  const models = choices.map((choice): ModelInfo => {
    const at = choice.value.indexOf('/')
    const providerID = at === -1 ? name : choice.value.slice(0, at)
    return { providerID, modelID: choice.value.slice(at + 1), name: choice.name, variants: [] }
  })
  return [...new Map(models.map((model) => [`${model.providerID}/${model.modelID}`, model])).values()]
}
