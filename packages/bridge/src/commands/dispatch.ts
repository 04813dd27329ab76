import type { Actor } from '@reply/sink'
import type { BridgeCommand } from '@reply/sink/internal'
import type { SavedGrants } from '../asks/saved-grants.ts'
import type { Right } from '../config/schema.ts'
import type { Person } from '../people/people.ts'
import type { ChatPlace } from '../place.ts'
import type { Backlog } from '../runs/backlog.ts'
import type { QueuedPrompt } from '../state/queued-prompt.ts'
import { isTried } from '../state/tried.ts'
import type { Write } from '../store/store.ts'
import { texts } from '../texts.ts'
import { allowedCommand } from './allowed.ts'
import { createPressHandler, type HandlePress } from './buttons.ts'
import { type Command, type CommandServices, postReply, replyOrErrorText, targetOf } from './command.ts'
import type { RequireDue } from './late-press.ts'
import { commandNameIn, commandPattern, isOwnCommand } from './names.ts'
import { registerCommands } from './register.ts'
import { stopAgain, stopRuns } from './stop-cancel-interrupt.ts'

/** The bridge's own commands and buttons. */
export interface Commands {
  /** Whether a text is one of the bridge's commands, with or without arguments. */
  isOwnCommand(text: string): boolean
  /** Whether a text is `/stop`, `/cancel` or `/interrupt`, with or without arguments. */
  isStopCommand(text: string): boolean
  /** The commands for the platforms' menus. */
  readonly menu: readonly BridgeCommand[]
  /**
   * Runs a command of a person, commits `removal`, which removes it from the inbox, and posts the reply. Ignores an unknown
   * command.
   */
  runCommand(entry: QueuedPrompt, person: Person, removal: readonly Write[]): Promise<void>
  /** Does what one of the bridge's own buttons says, and answers the press. */
  readonly handlePress: HandlePress
  /**
   * Stops the runs of the place for a press of the platform's own Stop button, and posts the result. Rejects with a
   * `LatePressError` if it is too late. `firstAgoMs`: if it was received before, how long ago that was, in ms. It then stops
   * only what ran at that time.
   */
  handleStop(
    place: ChatPlace,
    person: Person,
    actor: Actor,
    requireDue: RequireDue,
    firstAgoMs?: () => number,
  ): Promise<void>
}

const stops: ReadonlySet<string> = new Set(['stop', 'cancel', 'interrupt'])

/** Runs the commands of `register.ts`, and handles the buttons of the bridge's messages. */
export function createCommands(services: CommandServices, backlog: Backlog, grants: SavedGrants): Commands {
  const { state, channels, onError } = services
  const allowed = allowedCommand(services, grants)
  const all = registerCommands(services, allowed)
  const byName: ReadonlyMap<string, Command> = new Map(all.map((command) => [command.name, command]))
  const menu = all.map(({ name, description }) => ({ name, description }))
  const isStopCommand = (text: string): boolean => stops.has(commandNameIn(text))
  return {
    isOwnCommand,
    isStopCommand,
    menu,
    runCommand,
    handlePress: createPressHandler(services, backlog, allowed),
    handleStop,
  }

  /**
   * Runs a command, commits `removal` with retries, and then posts the reply without waiting for it. Does not run a command if
   * the person lacks its right, nor one that is not idempotent and was tried before a restart: the reply says so. Ignores an
   * unknown command, without committing.
   */
  async function runCommand(entry: QueuedPrompt, person: Person, removal: readonly Write[]): Promise<void> {
    const command = byName.get(commandNameIn(entry.text))
    const rest = commandPattern.exec(entry.text)?.[2]?.trim() ?? ''
    if (!command) return
    const lacking = missingRight(person, command)
    const call = { entry, place: entry, person, rest, target: async () => await targetOf(services, entry) }
    const reply = lacking
      ? { text: texts.mayNot(lacking) }
      : isTried(entry) && command.isOnce
        ? { text: texts.restartedCommand(`/${command.name}`) }
        : await replyOrErrorText(async () => await command.run(call), onError)
    await state.withRetries(() => state.commit(removal))
    // Not awaited: posting a long text takes a while, and must not delay the next message.
    if (reply) void postReply(channels, entry, { replyTo: entry.messageRef, ...reply })
  }

  /** Stops the runs of the place that the person may stop, and waits until the result is posted. */
  async function handleStop(
    ...[place, person, actor, requireDue, firstAgoMs]: Parameters<Commands['handleStop']>
  ): Promise<void> {
    const request = { place, person, actor, requireDue }
    const reply = firstAgoMs ? await stopAgain(services, request, firstAgoMs) : await stopRuns(services, request)
    if (reply) await postReply(channels, place, reply)
  }
}

/**
 * Returns the right that a person lacks for a command. Undefined if the person may use it. `admin` replaces `prompt` for a
 * command that does not start the agent, and so does `approve` for one that chooses the session.
 */
function missingRight({ may }: Person, command: Command): Right | undefined {
  if (command.isForAll) return undefined
  if (command.isApproving) return may.has('approve') ? undefined : 'approve'
  if (command.isChoosing && may.has('approve')) return undefined
  return may.has('prompt') || (may.has('admin') && !command.isPrompting) ? undefined : 'prompt'
}
