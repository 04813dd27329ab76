import { agentCommand } from './agent.ts'
import type { AllowedCommand } from './allowed.ts'
import type { Command, CommandServices } from './command.ts'
import { commandsCommand } from './commands.ts'
import { currentCommand } from './current.ts'
import { forkCommand } from './fork.ts'
import { listCommand } from './list.ts'
import { logsCommand } from './logs.ts'
import { modelCommand } from './model.ts'
import { newCommand } from './new.ts'
import { queueCommand } from './queue.ts'
import { resendCommand } from './resend.ts'
import { sessionsCommand, switchCommand } from './sessions-switch.ts'
import { helpCommand, startCommand } from './start-help.ts'
import { statusCommand } from './status.ts'
import { steerCommand } from './steer.ts'
import { interruptCommand, stopCommand } from './stop-cancel-interrupt.ts'
import { compactCommand, undoCommand } from './undo-compact.ts'
import { verboseCommand } from './verbose.ts'

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
    listCommand(services),
    stopCommand('cancel', services),
    stopCommand('stop', services),
    interruptCommand(services),
    queueCommand(services),
    steerCommand(services),
    modelCommand(services),
    agentCommand(services),
    commandsCommand,
    verboseCommand(services),
    undoCommand(services),
    compactCommand(services),
    allowed,
  ]
  return all
}
