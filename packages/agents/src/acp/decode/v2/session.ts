import { type AcpCommand, type AcpConfigOption, type AcpSession, toConfigOption } from '../session.ts'
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
    return [toConfigOption(data.configId, data)]
  })
}

/** Returns the commands. An absent or null description becomes undefined. */
export function commandsOf(
  commands: readonly { readonly name: string; readonly description?: string | null | undefined }[],
): readonly AcpCommand[] {
  return commands.map(({ name, description }) => ({ name, description: description ?? undefined }))
}
