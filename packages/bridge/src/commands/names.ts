/** The names of the bridge's own commands, in the order of `/help` and of the platforms' menus. */
export const commandNames = [
  'start',
  'help',
  'new',
  'sessions',
  'switch',
  'current',
  'fork',
  'status',
  'logs',
  'resend',
  'diff',
  'list',
  'cancel',
  'stop',
  'interrupt',
  'queue',
  'edit',
  'steer',
  'model',
  'agent',
  'commands',
  'verbose',
  'undo',
  'compact',
  'allowed',
  'follow',
] as const

/** The name of one of the bridge's own commands. */
export type CommandName = (typeof commandNames)[number]

const names: ReadonlySet<string> = new Set(commandNames)

/** Matches a command and its arguments. `/statusx` is not `/status`. */
export const commandPattern = /^\s*\/([a-z]+)(?:@\S+)?(?:\s+([\s\S]*))?$/i

/** Returns the name of a command in lower case. Empty for any other text. */
export function commandNameIn(text: string): string {
  return commandPattern.exec(text)?.[1]?.toLowerCase() ?? ''
}

/** Whether a text is one of the bridge's commands, with or without arguments. */
export function isOwnCommand(text: string): boolean {
  return names.has(commandNameIn(text))
}
