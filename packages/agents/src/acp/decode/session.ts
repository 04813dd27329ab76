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

interface Choice {
  readonly value: string
  readonly name: string
}

/** A setting as both versions of the protocol describe it, apart from its id. */
interface DescribedOption {
  readonly name: string
  readonly description?: string | null | undefined
  readonly category?: string | null | undefined
  readonly currentValue: string | boolean
  readonly options?: readonly (Choice | { readonly options: readonly Choice[] })[] | null | undefined
}

/** Converts a setting. The choices of its groups become one list. */
export function toConfigOption(id: string, option: DescribedOption): AcpConfigOption {
  const { name, description, category, currentValue: value, options } = option
  const choices = (options ?? []).flatMap((one) => ('options' in one ? one.options : [one]))
  return {
    id,
    name,
    description: description ?? undefined,
    category: category ?? undefined,
    value,
    choices: choices.map((choice) => ({ value: choice.value, name: choice.name })),
  }
}
