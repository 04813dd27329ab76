import type { Actor, Inbound } from '@reply/sink'
import type { BridgeCommand } from '@reply/sink/internal'
import type { Allowed } from '../asks/allowed.ts'
import type { Right } from '../config/schema.ts'
import { chatWordsOf } from '../error.ts'
import type { Backlog } from '../intake/backlog.ts'
import type { QueuedPrompt } from '../intake/queued-prompt.ts'
import { plain } from '../markdown.ts'
import type { Person } from '../people/people.ts'
import type { ChatPlace } from '../place.ts'
import { toQueuedPrompt } from '../registry/decode.ts'
import { unknownRunKey } from '../runs/unknown-run.ts'
import type { Write } from '../store/store.ts'
import { agentCommands } from './agent-commands.ts'
import { allowedCommands } from './allowed-commands.ts'
import { type Command, type CommandContext, CommandRefusal, type Said, type Target } from './command.ts'
import { queueCommands } from './queue-commands.ts'
import { runCommands, stopRuns } from './run-commands.ts'
import { sessionCommands } from './session-commands.ts'

/** The bridge's own commands, and the buttons of its messages. */
export interface Commands {
  /** Whether a text begins with one of the bridge's commands. */
  isOwn(text: string): boolean
  /** Whether a text is a command that stops what runs. */
  isStop(text: string): boolean
  /** For the platforms' menus. */
  readonly menu: readonly BridgeCommand[]
  /** Runs a command. `taken` are the writes that take it from the inbox. */
  run(given: GivenCommand): Promise<void>
  /** Handles a press of a button of the bridge's own. */
  press(given: GivenPress): Promise<void>
  /** The platform's own Stop button. */
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

/** The name, whatever follows it. A command is a whole word: `/statusx` is not `/status`. */
const pattern = /^\s*\/([a-z]+)(?:@\S+)?(?:\s+([\s\S]*))?$/i

export function createCommands(context: CommandContext, backlog: Backlog, allowed: Allowed): Commands {
  const { state, channels, routes, people, runner, servers, words, onError } = context
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
    const said = lacking
      ? { text: words.mayNot(lacking) }
      : entry.isTried && command.isOnce
        ? { text: words.restartedCommand(`/${command.name}`) }
        : await attempt(async () => await command.run(call))
    await state.persist(() => state.commit(taken))
    // Not awaited: a long text takes the platform a while, and what comes after must not wait for it.
    if (said) void say(entry, { replyTo: entry.messageRef, ...said })
  }

  async function attempt(work: () => Promise<Said | undefined>): Promise<Said | undefined> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof CommandRefusal) return { text: error.message }
      onError(error instanceof Error ? error : new Error(String(error)))
      const isMissing = error instanceof Error && 'type' in error && error.type === 'unsupported'
      const why = plain(chatWordsOf(error, words))
      return { text: isMissing ? words.unsupported(why) : words.failed(why) }
    }
  }

  async function say(place: ChatPlace, { session, ...saying }: Said): Promise<void> {
    await channels.say(place, saying, session)
  }

  async function targetOf(place: ChatPlace): Promise<Target> {
    const route = await routes.of(place)
    const opencode = route && servers.get(route.server)
    if (route && opencode) return { route, opencode }
    throw new CommandRefusal(words.noRoute(`${place.channel}:${place.chat.id}`))
  }

  async function press({ place, person, press: { token, actor, answer, messageRef } }: GivenPress): Promise<void> {
    const [, verb, value = ''] = /^b\/(\w+)(?:\/(.*))?$/.exec(token) ?? []
    if (!(await channels.hasButton(place, messageRef, token))) return await answer(words.unheard)
    const right = verb === 'revoke' ? 'approve' : 'prompt'
    if (!person.may.has(right)) return await answer(words.mayNot(right))
    const who = { channel: place.channel, actor }
    const isOwn = (prompt: QueuedPrompt): boolean => people.isSame(prompt, who) || person.may.has('admin')
    switch (verb) {
      case 'page':
        return await turn(
          await attempt(async () => await sessions.page({ place, person, ...(await targetOf(place)) }, Number(value))),
        )
      case 'switch':
        return await turn(
          await attempt(async () => await sessions.switchTo({ place, person, ...(await targetOf(place)) }, value)),
        )
      case 'revoke':
        await answer()
        return await say(
          place,
          (await attempt(async () => await always.revoke(await targetOf(place), value))) ?? { text: words.unheard },
        )
      case 'run':
        return await answer((await backlog.run(place, value, isOwn)) ? words.runsAgain : words.backlogGone)
      case 'drop':
        return await drop()
      case 'again':
        return await decide(value, true)
      case 'leave':
        return await decide(value, false)
      default:
        return await answer(words.unheard)
    }

    /** Shows the result in the message that was pressed. */
    async function turn(said: Said | undefined): Promise<void> {
      await answer()
      if (!said) return
      const { session: _, ...saying } = said
      await channels.edit(place, messageRef, saying).catch(async () => await say(place, said))
    }

    async function drop(): Promise<void> {
      const { dropped, list } = await backlog.drop(place, isOwn)
      if (dropped === 0 && list) return await answer(words.othersBacklog)
      await turn(list ?? { text: words.left })
    }

    /** Runs a prompt that may have run already, or leaves it. */
    async function decide(id: string, isAgain: boolean): Promise<void> {
      const key = unknownRunKey(place, id)
      const stored = await state.read(key)
      if (stored === undefined) return await answer(words.unheard)
      const prompt = toQueuedPrompt(stored)
      if (!isOwn(prompt)) return await answer(words.othersRun(prompt.actor.name))
      const once = { type: 'compare-and-set', key, expected: stored, value: undefined } as const
      if (!(await state.commit([once, ...(isAgain ? [runner.enqueue(prompt)] : [])])))
        return await answer(words.unheard)
      void context.failed.count().catch(onError)
      if (isAgain) runner.kick(place)
      await turn({ text: isAgain ? words.runsAgain : words.left })
    }
  }

  async function stop(place: ChatPlace, person: Person, actor: Actor): Promise<void> {
    await say(place, await stopRuns(context, { place, person, actor }))
  }

  function welcome({ may }: Person): string {
    return words.welcome([...may].join(', ') || '–')
  }

  function help(): string {
    const lines = all.map(({ name, usage, description }) => {
      return `- ${plain(`/${name}${usage === undefined ? '' : ` ${usage}`}`)}: ${description}`
    })
    return lines.join('\n')
  }
}

/** The right that a person lacks for a command. */
function lackedBy({ may }: Person, command: Command): Right | undefined {
  if (isHelp(command)) return undefined
  if (command.isApproving) return may.has('approve') ? undefined : 'approve'
  return may.has('prompt') || (may.has('admin') && !command.isPrompting) ? undefined : 'prompt'
}

const isHelp = ({ name }: Command): boolean => name === 'start' || name === 'help'

function nameIn(text: string): string {
  return pattern.exec(text)?.[1]?.toLowerCase() ?? ''
}
