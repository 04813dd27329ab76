import type { Person } from '../people/people.ts'
import { plain, texts } from '../texts.ts'
import type { Command } from './command.ts'

/** Shows the welcome with the rights of the person. */
export const startCommand: Command = {
  name: 'start',
  description: 'what this bot does',
  isForAll: true,
  run: async ({ person }) => ({ text: welcomeText(person) }),
}

/** Shows the welcome, and the usage of each command that `commands` returns. */
export function helpCommand(commands: () => readonly Command[]): Command {
  return {
    name: 'help',
    description: 'the commands',
    isForAll: true,
    run: async ({ person }) => ({ text: `${welcomeText(person)}\n\n${helpText(commands())}` }),
  }
}

/** Returns the welcome with the person's rights, or `–` for a person without rights. */
function welcomeText({ may }: Person): string {
  return texts.welcome([...may].join(', ') || '–')
}

/** Returns one line for each command: its usage and description. */
function helpText(commands: readonly Command[]): string {
  const lines = commands.map(({ name, usage, description }) => {
    return `- ${plain(`/${name}${usage === undefined ? '' : ` ${usage}`}`)}: ${description}`
  })
  return lines.join('\n')
}
