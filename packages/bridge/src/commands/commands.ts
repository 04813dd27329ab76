import { escapeDeceptive } from '@reply/core'
import type { Actor, Inbound } from '@reply/sink'
import { type BridgeCommand, oneLine } from '@reply/sink/internal'
import type { GrantList, SavedGrants } from '../asks/saved-grants.ts'
import { inRows } from '../chats/channels.ts'
import type { Right } from '../config/schema.ts'
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
  isOwn(text: string): boolean
  /** Whether a text is a command that stops a run. */
  isStop(text: string): boolean
  /** The commands for the platforms' menus. */
  readonly menu: readonly BridgeCommand[]
  /** Runs a command. `taken` are the writes that remove it from the inbox. */
  run(given: GivenCommand): Promise<void>
  /** Handles a press of one of the bridge's own buttons. */
  press(given: GivenPress): Promise<void>
  /** Handles the platform's own Stop button. */
  stop(place: ChatPlace, person: Person, actor: Actor): Promise<void>
}

export interface GivenCommand {
  readonly entry: QueuedPrompt
  readonly person: Person
  readonly taken: readonly Write[]
}

export interface GivenPress {
  readonly place: ChatPlace
  readonly person: Person
  readonly press: Extract<Inbound, { type: 'press' }>
}

const stops: ReadonlySet<string> = new Set(['stop', 'cancel', 'interrupt'])

/** Matches a command and its arguments. `/statusx` is not `/status`. */
const pattern = /^\s*\/([a-z]+)(?:@\S+)?(?:\s+([\s\S]*))?$/i

export function createCommands(context: CommandContext, backlog: Backlog, allowed: SavedGrants): Commands {
  const { state, channels, routes, people, runner, servers, onError } = context
  const sessions = sessionCommands(context)
  const always = allowedCommands(context, allowed)
  const all: readonly Command[] = [
    { name: 'start', description: 'what this bot does', run: async ({ person }) => ({ text: welcome(person) }) },
    {
      name: 'help',
      description: 'the commands',
      run: async ({ person }) => ({ text: `${welcome(person)}\n\n${help()}` }),
    },
    ...sessions.list,
    ...runCommands(context),
    ...queueCommands(context),
    ...agentCommands(context),
    ...always.list,
  ]
  const byName = new Map(all.map((command) => [command.name, command]))
  const menu = all.map(({ name, description }) => ({ name, description }))
  const isStop = (text: string): boolean => stops.has(nameIn(text))
  return { isOwn: (text) => byName.has(nameIn(text)), isStop, menu, run, press, stop }

  async function run({ entry, person, taken }: GivenCommand): Promise<void> {
    const command = byName.get(nameIn(entry.text))
    const rest = pattern.exec(entry.text)?.[2]?.trim() ?? ''
    if (!command) return
    const lacking = lackedBy(person, command)
    const call = { entry, place: entry, person, rest, target: async () => await targetOf(entry) }
    const reply = lacking
      ? { text: texts.mayNot(lacking) }
      : entry.isTried && command.isOnce
        ? { text: texts.restartedCommand(`/${command.name}`) }
        : await attempt(async () => await command.run(call))
    await state.persist(() => state.commit(taken))
    // Not awaited: posting a long text takes a while, and must not delay the next message.
    if (reply) void post(entry, { replyTo: entry.messageRef, ...reply })
  }

  async function attempt(work: () => Promise<CommandReply | undefined>): Promise<CommandReply | undefined> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof CommandRefusal) return { text: error.message }
      onError(error instanceof Error ? error : new Error(String(error)))
      const isMissing = error instanceof Error && 'type' in error && error.type === 'unsupported'
      const why = plain(chatMessageOf(error))
      return { text: isMissing ? texts.unsupported(why) : texts.failed(why) }
    }
  }

  async function post(place: ChatPlace, { session, ...message }: CommandReply): Promise<void> {
    await channels.notify(place, message, session)
  }

  async function targetOf(place: ChatPlace): Promise<Target> {
    const route = await routes.of(place)
    const opencode = route && servers.get(route.server)
    if (route && opencode) return { route, opencode }
    throw new CommandRefusal(texts.noRoute(`${place.channel}:${place.chat.id}`))
  }

  async function press({ place, person, press: { token, actor, answer, messageRef } }: GivenPress): Promise<void> {
    const [, verb, value = ''] = /^b\/(\w+)(?:\/(.*))?$/.exec(token) ?? []
    if (!(await channels.hasButton(place, messageRef, token))) return await answer(texts.buttonGone)
    const right = verb === 'revoke' ? 'approve' : 'prompt'
    if (!person.may.has(right)) return await answer(texts.mayNot(right))
    const who = { channel: place.channel, actor }
    const isOwn = (prompt: QueuedPrompt): boolean => people.isSame(prompt, who) || person.may.has('admin')
    switch (verb) {
      case 'page':
        return await replaceWith(
          await attempt(async () => await sessions.page({ place, person, ...(await targetOf(place)) }, Number(value))),
        )
      case 'switch':
        return await replaceWith(
          await attempt(async () => await sessions.switchTo({ place, person, ...(await targetOf(place)) }, value)),
        )
      case 'revoke':
        await answer()
        return await post(
          place,
          (await attempt(async () => await always.revoke(await targetOf(place), value))) ?? { text: texts.buttonGone },
        )
      case 'run':
        return await answer((await backlog.run(place, value, isOwn)) ? texts.runsAgain : texts.backlogGone)
      case 'drop':
        return await drop()
      case 'again':
        return await decide(value, true)
      case 'leave':
        return await decide(value, false)
      default:
        return await answer(texts.buttonGone)
    }

    /** Replaces the message that has the button with the result. */
    async function replaceWith(reply: CommandReply | undefined): Promise<void> {
      await answer()
      if (!reply) return
      const { session: _, ...message } = reply
      await channels.edit(place, messageRef, message).catch(async () => await post(place, reply))
    }

    async function drop(): Promise<void> {
      const { dropped, list } = await backlog.drop(place, isOwn)
      if (dropped === 0 && list) return await answer(texts.othersBacklog)
      await replaceWith(list ?? { text: texts.left })
    }

    /** Runs a prompt that may have run already, or discards it. */
    async function decide(id: string, isAgain: boolean): Promise<void> {
      const key = unknownRunKey(place, id)
      const stored = await state.read(key)
      if (stored === undefined) return await answer(texts.buttonGone)
      const prompt = toQueuedPrompt(stored)
      if (!isOwn(prompt)) return await answer(texts.othersRun(prompt.actor.name))
      const once = { type: 'compare-and-set', key, expected: stored, value: undefined } as const
      if (!(await state.commit([once, ...(isAgain ? [runner.enqueue(prompt)] : [])])))
        return await answer(texts.buttonGone)
      void context.failed.count().catch(onError)
      if (isAgain) runner.kick(place)
      await replaceWith({ text: isAgain ? texts.runsAgain : texts.left })
    }
  }

  async function stop(place: ChatPlace, person: Person, actor: Actor): Promise<void> {
    await post(place, await stopRuns(context, { place, person, actor }))
  }

  function welcome({ may }: Person): string {
    return texts.welcome([...may].join(', ') || '–')
  }

  function help(): string {
    const lines = all.map(({ name, usage, description }) => {
      return `- ${plain(`/${name}${usage === undefined ? '' : ` ${usage}`}`)}: ${description}`
    })
    return lines.join('\n')
  }
}

/** The right that a person lacks for a command. Undefined if the person may use it. */
function lackedBy({ may }: Person, command: Command): Right | undefined {
  if (isHelp(command)) return undefined
  if (command.isApproving) return may.has('approve') ? undefined : 'approve'
  return may.has('prompt') || (may.has('admin') && !command.isPrompting) ? undefined : 'prompt'
}

const isHelp = ({ name }: Command): boolean => name === 'start' || name === 'help'

function nameIn(text: string): string {
  return pattern.exec(text)?.[1]?.toLowerCase() ?? ''
}

/** How many grants are listed, newest last. */
const mostListed = 10
/** How much of the patterns of a grant is listed, in UTF-16 units. */
const patternLength = 200

/** The permissions that were always allowed on the server of the chat. */
interface AllowedCommands {
  readonly list: readonly Command[]
  /** Revokes the grant of a button, by its id. */
  revoke(target: Target, id: string): Promise<CommandReply>
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
        const listed = await allowed.of(route.server)
        if (rest === '') return listOf(route.server, listed)
        if (number === undefined) return { text: plain(texts.allowedHelp) }
        const grant = shownOf(listed)[Number(number) - 1]
        if (!grant) throw new CommandRefusal(texts.notAllowed(plain(number)))
        return await revokeOne(grant, listed)
      },
    },
  ]
  return { list, revoke }

  async function revoke({ route }: Target, id: string): Promise<CommandReply> {
    const listed = await allowed.of(route.server)
    const grant = listed.grants.find((one) => one.id === id)
    if (!grant) throw new CommandRefusal(texts.notAllowed(plain(id)))
    return await revokeOne(grant, listed)
  }

  async function revokeOne(grant: Grant, { canRevoke }: GrantList): Promise<CommandReply> {
    if (!canRevoke) throw new CommandRefusal(whyNotRevocable(grant.server))
    await allowed.revoke(grant)
    return { text: texts.revoked(patternsOf(grant)) }
  }

  function listOf(server: string, listed: GrantList): CommandReply {
    const shown = shownOf(listed)
    if (shown.length === 0) return { text: texts.nothingAllowed }
    const lines = shown.map((grant, index) => {
      const at = `${new Date(grant.at).toISOString().slice(0, 16).replace('T', ' ')} UTC`
      const doubt = grant.isConfirmed || listed.canRevoke ? '' : ` · ${texts.allowedUnsure}`
      return `${index + 1}. ${patternsOf(grant)} · ${plain(grant.permission)} · ${plain(grant.by.name)} · ${at}${doubt}`
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

  function patternsOf({ patterns }: Grant): string {
    return plain(oneLine(escapeDeceptive(patterns.join(', ')), patternLength))
  }
}

function shownOf({ grants }: GrantList): readonly Grant[] {
  return grants.slice(-mostListed)
}
