import type { Person } from '../people/people.ts'
import { plain, texts } from '../texts.ts'
import type { AllowedCommand } from './allowed.ts'
import type { Command, CommandServices } from './command.ts'
import { diffCommand } from './diff.ts'
import { followCommand } from './follow.ts'
import { listCommand, logsCommand, resendCommand, statusCommand } from './list-status-logs-resend.ts'
import { agentCommand, commandsCommand, modelCommand, verboseCommand } from './model-agent-verbose-commands.ts'
import {
  currentCommand,
  forkCommand,
  newCommand,
  sessionsCommand,
  switchCommand,
} from './new-sessions-switch-current-fork.ts'
import { editCommand, queueCommand, steerCommand } from './queue-steer.ts'
import { interruptCommand, stopCommand } from './stop-cancel-interrupt.ts'
import { compactCommand, undoCommand } from './undo-compact.ts'

/** Returns all of the bridge's own commands, in the order of `/help` and of the platforms' menus. */
export function registerCommands(services: CommandServices, allowed: AllowedCommand): readonly Command[] {
  const all: readonly Command[] = [
    startCommand,
    helpCommand(() => all),
    newCommand(services),
    sessionsCommand(services),
    switchCommand(services),
    currentCommand(services),
    forkCommand(services),
    statusCommand(services),
    logsCommand(services),
    resendCommand(services),
    diffCommand,
    listCommand(services),
    stopCommand('cancel', services),
    stopCommand('stop', services),
    interruptCommand(services),
    queueCommand(services),
    editCommand(services),
    steerCommand(services),
    modelCommand(services),
    agentCommand(services),
    commandsCommand,
    verboseCommand(services),
    undoCommand(services),
    compactCommand(services),
    allowed,
    followCommand(services),
  ]
  return all
}

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
