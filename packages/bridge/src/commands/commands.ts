import { escapeDeceptive } from '@reply/core'
import type { Actor, Inbound } from '@reply/sink'
import { type BridgeCommand, oneLine } from '@reply/sink/internal'
import type { GrantList, SavedGrants } from '../asks/saved-grants.ts'
import { inRows } from '../chats/channels.ts'
import type { Right } from '../config/schema.ts'
import { errorTypeOf, toError } from '../error.ts'
import { unknownRunKey } from '../failed/failure-rows.ts'
import type { Person } from '../people/people.ts'
import type { ChatPlace } from '../place.ts'
import type { Backlog } from '../runs/backlog.ts'
import { type Grant, toQueuedPrompt } from '../state/decode.ts'
import type { QueuedPrompt } from '../state/queued-prompt.ts'
import type { Write } from '../store/store.ts'
import { chatMessageOf, plain, texts } from '../texts.ts'
import { agentCommands } from './agent-commands.ts'
import { type Command, type CommandContext, CommandRefusal, type CommandReply, type Target } from './command.ts'
import { queueCommands } from './queue-commands.ts'
import { runCommands, stopRuns } from './run-commands.ts'
import { sessionCommands } from './session-commands.ts'

/** The bridge's own commands and buttons. */
export interface Commands {
  /** Whether a text starts with one of the bridge's commands. */
  isOwnCommand(text: string): boolean
  /** Whether a text is a command that stops a run. */
  isStopCommand(text: string): boolean
  /** The commands for the platforms' menus. */
  readonly menu: readonly BridgeCommand[]
  /** Runs a command. `taken` are the writes that remove it from the inbox. */
  runCommand(received: ReceivedCommand): Promise<void>
  /** Handles a press of one of the bridge's own buttons. */
  handlePress(received: ReceivedPress): Promise<void>
  /** Handles the platform's own Stop button. */
  handleStop(place: ChatPlace, person: Person, actor: Actor): Promise<void>
}

/** A command, and who sent it. */
export interface ReceivedCommand {
  readonly entry: QueuedPrompt
  readonly person: Person
  /** The writes that remove it from the inbox. */
  readonly removal: readonly Write[]
}

/** A press of one of the bridge's own buttons, and who made it. */
export interface ReceivedPress {
  readonly place: ChatPlace
  readonly person: Person
  readonly press: Extract<Inbound, { type: 'press' }>
}

const stops: ReadonlySet<string> = new Set(['stop', 'cancel', 'interrupt'])

/** Matches a command and its arguments. `/statusx` is not `/status`. */
const pattern = /^\s*\/([a-z]+)(?:@\S+)?(?:\s+([\s\S]*))?$/i

/** Creates the bridge's own commands, and handles the buttons of its messages. */
export function createCommands(context: CommandContext, backlog: Backlog, allowed: SavedGrants): Commands {
  const { state, channels, routes, people, runner, servers, onError } = context
  const sessions = sessionCommands(context)
  const allowedCommandsHere = allowedCommands(context, allowed)
  const all: readonly Command[] = [
    { name: 'start', description: 'what this bot does', run: async ({ person }) => ({ text: welcomeText(person) }) },
    {
      name: 'help',
      description: 'the commands',
      run: async ({ person }) => ({ text: `${welcomeText(person)}\n\n${helpText()}` }),
    },
    ...sessions.list,
    ...runCommands(context),
    ...queueCommands(context),
    ...agentCommands(context),
    ...allowedCommandsHere.list,
  ]
  const byName = new Map(all.map((command) => [command.name, command]))
  const menu = all.map(({ name, description }) => ({ name, description }))
  const isStopCommand = (text: string): boolean => stops.has(commandNameIn(text))
  return {
    isOwnCommand: (text) => byName.has(commandNameIn(text)),
    isStopCommand,
    menu,
    runCommand,
    handlePress,
    handleStop,
  }

  /**
   * Runs a command, commits the writes of `removal`, and then posts the reply without waiting for it. Ignores an unknown
   * command.
   */
  async function runCommand({ entry, person, removal }: ReceivedCommand): Promise<void> {
    const command = byName.get(commandNameIn(entry.text))
    const rest = pattern.exec(entry.text)?.[2]?.trim() ?? ''
    if (!command) return
    const lacking = missingRight(person, command)
    const call = { entry, place: entry, person, rest, target: async () => await targetOf(entry) }
    const reply = lacking
      ? { text: texts.mayNot(lacking) }
      : entry.isTried && command.isOnce
        ? { text: texts.restartedCommand(`/${command.name}`) }
        : await replyOrErrorText(async () => await command.run(call))
    await state.withRetries(() => state.commit(removal))
    // Not awaited: posting a long text takes a while, and must not delay the next message.
    if (reply) void postReply(entry, { replyTo: entry.messageRef, ...reply })
  }

  /**
   * Returns the reply of a command. An error becomes a reply, and one that is not meant for people also goes to `onError`.
   */
  async function replyOrErrorText(work: () => Promise<CommandReply | undefined>): Promise<CommandReply | undefined> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof CommandRefusal) return { text: error.message }
      onError(toError(error))
      const isMissing = errorTypeOf(error) === 'unsupported'
      const why = plain(chatMessageOf(error))
      return { text: isMissing ? texts.unsupported(why) : texts.failed(why) }
    }
  }

  async function postReply(place: ChatPlace, { session, ...message }: CommandReply): Promise<void> {
    await channels.tryPost(place, message, session)
  }

  /** Returns the route and the client of a place. Throws a `CommandRefusal` if the place has no route or server. */
  async function targetOf(place: ChatPlace): Promise<Target> {
    const route = await routes.routeOf(place)
    const client = route && servers.get(route.server)
    if (route && client) return { route, client }
    throw new CommandRefusal(texts.noRoute(`${place.channel}:${place.chat.id}`))
  }

  /**
   * Does what the button says, and answers. Refuses a press if the message does not have the button, or if the person lacks
   * the right.
   */
  async function handlePress({
    place,
    person,
    press: { token, actor, answer, messageRef },
  }: ReceivedPress): Promise<void> {
    const [, verb, value = ''] = /^b\/(\w+)(?:\/(.*))?$/.exec(token) ?? []
    if (!(await channels.hasButton(place, messageRef, token))) return await answer(texts.buttonGone)
    const right = verb === 'revoke' ? 'approve' : 'prompt'
    if (!person.may.has(right)) return await answer(texts.mayNot(right))
    const who = { channel: place.channel, actor }
    const isOwn = (prompt: QueuedPrompt): boolean => people.isSamePerson(prompt, who) || person.may.has('admin')
    switch (verb) {
      case 'page':
        return await replaceWith(
          await replyOrErrorText(
            async () => await sessions.sessionPage({ place, person, ...(await targetOf(place)) }, Number(value)),
          ),
        )
      case 'switch':
        return await replaceWith(
          await replyOrErrorText(
            async () => await sessions.switchToSession({ place, person, ...(await targetOf(place)) }, value),
          ),
        )
      case 'revoke':
        await answer()
        return await postReply(
          place,
          (await replyOrErrorText(async () => await allowedCommandsHere.revokeByID(await targetOf(place), value))) ?? {
            text: texts.buttonGone,
          },
        )
      case 'run':
        return await answer((await backlog.runEntry(place, value, isOwn)) ? texts.runsAgain : texts.backlogGone)
      case 'drop':
        return await dropBacklog()
      case 'again':
        return await runOrDiscard(value, true)
      case 'leave':
        return await runOrDiscard(value, false)
      default:
        return await answer(texts.buttonGone)
    }

    /** Replaces the message that has the button with the result. Posts the result if that fails. */
    async function replaceWith(reply: CommandReply | undefined): Promise<void> {
      await answer()
      if (!reply) return
      const { session: _, ...message } = reply
      await channels.edit(place, messageRef, message).catch(async () => await postReply(place, reply))
    }

    /** Removes the person's own entries, and then shows the rest of the list. */
    async function dropBacklog(): Promise<void> {
      const { dropped, list } = await backlog.dropEntries(place, isOwn)
      if (dropped === 0 && list) return await answer(texts.othersBacklog)
      await replaceWith(list ?? { text: texts.left })
    }

    /**
     * Queues a prompt that may have run already, or discards it, and replaces the message that asks. Only the first press
     * counts.
     */
    async function runOrDiscard(id: string, isAgain: boolean): Promise<void> {
      const key = unknownRunKey(place, id)
      const stored = await state.read(key)
      if (stored === undefined) return await answer(texts.buttonGone)
      const prompt = toQueuedPrompt(stored)
      if (!isOwn(prompt)) return await answer(texts.othersRun(prompt.actor.name))
      const once = { type: 'compare-and-set', key, expected: stored, value: undefined } as const
      if (!(await state.commit([once, ...(isAgain ? [runner.enqueue(prompt)] : [])])))
        return await answer(texts.buttonGone)
      void context.failed.emitCounts().catch(onError)
      if (isAgain) runner.startQueue(place)
      await replaceWith({ text: isAgain ? texts.runsAgain : texts.left })
    }
  }

  /** Stops the runs of the place that the person may stop, and posts the result. */
  async function handleStop(place: ChatPlace, person: Person, actor: Actor): Promise<void> {
    await postReply(place, await stopRuns(context, { place, person, actor }))
  }

  function welcomeText({ may }: Person): string {
    return texts.welcome([...may].join(', ') || '–')
  }

  function helpText(): string {
    const lines = all.map(({ name, usage, description }) => {
      return `- ${plain(`/${name}${usage === undefined ? '' : ` ${usage}`}`)}: ${description}`
    })
    return lines.join('\n')
  }
}

/** Returns the right that a person lacks for a command. Undefined if the person may use it. */
function missingRight({ may }: Person, command: Command): Right | undefined {
  if (isHelp(command)) return undefined
  if (command.isApproving) return may.has('approve') ? undefined : 'approve'
  return may.has('prompt') || (may.has('admin') && !command.isPrompting) ? undefined : 'prompt'
}

const isHelp = ({ name }: Command): boolean => name === 'start' || name === 'help'

/** Returns the name in lower case, and an empty string for a text without a command. */
function commandNameIn(text: string): string {
  return pattern.exec(text)?.[1]?.toLowerCase() ?? ''
}

/** How many grants are listed, newest last. */
const mostGrants = 10
/** How much of the patterns of a grant is listed, in UTF-16 units. */
const patternLength = 200

/** The permissions that were always allowed on the server of the chat. */
interface AllowedCommands {
  readonly list: readonly Command[]
  /** Revokes the grant of a button, by its id. */
  revokeByID(target: Target, id: string): Promise<CommandReply>
}

function allowedCommands({ config }: CommandContext, allowed: SavedGrants): AllowedCommands {
  const list: readonly Command[] = [
    {
      name: 'allowed',
      usage: '[revoke <number>]',
      description: 'what was allowed for always',
      isOnce: true,
      isApproving: true,
      run: async ({ rest, target }) => {
        const { route } = await target()
        const [, number] = /^revoke\s+(\d+)$/i.exec(rest) ?? []
        const listed = await allowed.list(route.server)
        if (rest === '') return grantsReply(route.server, listed)
        if (number === undefined) return { text: plain(texts.allowedHelp) }
        const grant = newestGrants(listed)[Number(number) - 1]
        if (!grant) throw new CommandRefusal(texts.notAllowed(plain(number)))
        return await revokeGrant(grant, listed)
      },
    },
  ]
  return { list, revokeByID }

  /**
   * Revokes a grant, and returns the reply. Throws a `CommandRefusal` if the grant is no longer listed or can't be revoked.
   */
  async function revokeByID({ route }: Target, id: string): Promise<CommandReply> {
    const listed = await allowed.list(route.server)
    const grant = listed.grants.find((one) => one.id === id)
    if (!grant) throw new CommandRefusal(texts.notAllowed(plain(id)))
    return await revokeGrant(grant, listed)
  }

  /** Revokes a grant, and returns the reply. Throws a `CommandRefusal` if the server can't revoke. */
  async function revokeGrant(grant: Grant, { canRevoke }: GrantList): Promise<CommandReply> {
    if (!canRevoke) throw new CommandRefusal(whyNotRevocable(grant.server))
    await allowed.revoke(grant)
    return { text: texts.revoked(patternsText(grant)) }
  }

  /** Lists the grants, newest first, with a button to revoke each if the server can. */
  function grantsReply(server: string, listed: GrantList): CommandReply {
    const shown = newestGrants(listed)
    if (shown.length === 0) return { text: texts.nothingAllowed }
    const lines = shown.map((grant, index) => {
      const at = `${new Date(grant.at).toISOString().slice(0, 16).replace('T', ' ')} UTC`
      const doubt = grant.isConfirmed || listed.canRevoke ? '' : ` · ${texts.allowedUnsure}`
      return `${index + 1}. ${patternsText(grant)} · ${plain(grant.permission)} · ${plain(grant.by.name)} · ${at}${doubt}`
    })
    const how = listed.canRevoke ? plain(texts.allowedHelp) : whyNotRevocable(server)
    const buttons = shown.map(({ id }, index) => ({ label: texts.revoke(index + 1), data: `b/revoke/${id}` }))
    return {
      text: [texts.allowed(plain(server)), '', ...lines, '', how].join('\n'),
      ...(listed.canRevoke && { buttons: inRows(buttons) }),
    }
  }

  function whyNotRevocable(server: string): string {
    return config.servers[server]?.agent !== undefined ? texts.allowedByAgent : texts.allowedUntilRestart
  }

  /** Shortened and escaped for a message. */
  function patternsText({ patterns }: Grant): string {
    return plain(oneLine(escapeDeceptive(patterns.join(', ')), patternLength))
  }
}

/** The ones that `/allowed` lists, at most `mostListed`. */
function newestGrants({ grants }: GrantList): readonly Grant[] {
  return grants.slice(-mostGrants)
}
