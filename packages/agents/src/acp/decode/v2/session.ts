import type { AcpCommand, AcpConfigOption, AcpSession } from '../session.ts'
import { configOption, sessionResponse } from './schema.ts'

/** The commands and settings in the response to a new or resumed session. */
export function readSession(response: unknown): Partial<AcpSession> {
  const { configOptions, availableCommands } = sessionResponse.safeParse(response).data ?? {}
  return {
    ...(configOptions && { config: readConfig(configOptions) }),
    ...(availableCommands && { commands: commandsOf(availableCommands) }),
  }
}

/** Settings of a session. Those of types that protocol 2 doesn't have are left out. */
export function readConfig(options: readonly unknown[]): readonly AcpConfigOption[] {
  return options.flatMap((option): AcpConfigOption[] => {
    const { data } = configOption.safeParse(option)
    if (!data || (data.type !== 'select' && data.type !== 'boolean')) return []
    const choices = (data.options ?? []).flatMap((one) => ('options' in one ? one.options : [one]))
    return [
      {
        id: data.configId,
        name: data.name,
        description: data.description ?? undefined,
        category: data.category ?? undefined,
        value: data.currentValue,
        choices: choices.map(({ value, name }) => ({ value, name })),
      },
    ]
  })
}

export function commandsOf(
  commands: readonly { readonly name: string; readonly description?: string | null | undefined }[],
): readonly AcpCommand[] {
  return commands.map(({ name, description }) => ({ name, description: description ?? undefined }))
}
