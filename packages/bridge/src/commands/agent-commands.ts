import { oneLine } from '@reply/sink/internal'
import type { Person } from '../people/people.ts'
import type { ChatPlace } from '../place.ts'
import type { QueuedPrompt } from '../state/queued-prompt.ts'
import { chatMessageOf, plain, texts } from '../texts.ts'
import { type Command, type CommandContext, CommandRefusal, type CommandReply } from './command.ts'

/** How many names a list shows at most. */
const mostNames = 40
/** How much of a command's description is listed, in UTF-16 units. */
const commandLength = 120

/** Commands about the agent: model, agent, verbosity, undo and compaction. */
export function agentCommands(context: CommandContext): readonly Command[] {
  const { state, routes, mirrors, people, runs, channels, onError } = context
  return [
    {
      name: 'model',
      usage: '[provider/model]',
      description: 'the model that answers',
      run: async ({ place, rest, target }) => {
        const { route, opencode } = await target()
        const models = await opencode.models()
        const names = models.map(({ providerID, modelID }) => `${providerID}/${modelID}`)
        const current = route.model ? `${route.model.providerID}/${route.model.modelID}` : texts.byDefault
        if (rest === '') return listing(texts.models(plain(current)), names)
        if (rest.toLowerCase() === 'default') {
          await state.commit(routes.write(place, { ...route, model: undefined }))
          return { text: texts.modelSet(texts.byDefault) }
        }
        const index = names.findIndex((name) => name.toLowerCase() === rest.toLowerCase())
        const model = models[index]
        if (!model) throw new CommandRefusal(texts.noModel(plain(rest)))
        const { providerID, modelID } = model
        await state.commit(routes.write(place, { ...route, model: { providerID, modelID } }))
        return { text: texts.modelSet(plain(names[index] ?? rest)) }
      },
    },
    {
      name: 'agent',
      usage: '[name]',
      description: 'the agent that answers',
      run: async ({ place, rest, target }) => {
        const { route, opencode } = await target()
        const names = (await opencode.agents()).filter(({ isPrimary }) => isPrimary).map(({ name }) => name)
        if (rest === '') return listing(texts.agents(plain(route.agent ?? texts.byDefault)), names)
        const isReset = rest.toLowerCase() === 'default' && !names.includes('default')
        const agent = isReset ? undefined : names.find((name) => name.toLowerCase() === rest.toLowerCase())
        if (!isReset && agent === undefined) throw new CommandRefusal(texts.noAgent(plain(rest)))
        await state.commit(routes.write(place, { ...route, agent }))
        return { text: texts.agentSet(plain(agent ?? texts.byDefault)) }
      },
    },
    {
      name: 'commands',
      description: "the agent's own commands",
      run: async ({ target }) => {
        const { opencode } = await target()
        const listed = await opencode.commands()
        if (listed.length === 0) return { text: texts.noCommands }
        const names = listed.map(({ name, description = '' }) =>
          oneLine([`/${name}`, ...(description === '' ? [] : [description])].join(': '), commandLength),
        )
        return listing(texts.commands, names)
      },
    },
    {
      name: 'verbose',
      usage: '[on | off]',
      description: "show the tools' output, or not",
      isOnce: true,
      run: async ({ place, rest, target }) => {
        const { route } = await target()
        const isVerbose = rest === '' ? !route.isVerbose : /^on$/i.test(rest)
        await state.commit(routes.write(place, { ...route, isVerbose }))
        return { text: texts.verbose(isVerbose) }
      },
    },
    {
      name: 'undo',
      description: 'take back the last prompt and its changes',
      isOnce: true,
      run: async ({ place, person, entry, target }) => {
        const { route, opencode } = await target()
        if (route.sessionID === undefined) return { text: texts.noSession }
        refuseWhileBusy(place, route.sessionID)
        const last = (await opencode.reply(route.sessionID))?.promptIDs[0]
        if (last === undefined) return { text: texts.nothingToUndo }
        await refuseOthers(last, entry, person)
        await opencode.revert(route.sessionID, last)
        return { text: texts.undone, session: { server: route.server, sessionID: route.sessionID } }
      },
    },
    {
      name: 'compact',
      description: "replace the session's history by a summary",
      isOnce: true,
      isPrompting: true,
      run: async ({ place, person, entry, target }) => {
        const { route, opencode } = await target()
        const { sessionID, server } = route
        if (sessionID === undefined) return { text: texts.noSession }
        refuseWhileBusy(place, sessionID)
        const last =
          place.chat.kind === 'private' && mirrors.others(place).length === 0
            ? undefined
            : (await opencode.reply(sessionID))?.promptIDs[0]
        if (last !== undefined) await refuseOthers(last, entry, person)
        // Not awaited: it may take minutes, and must not delay other commands.
        void opencode.compact(sessionID, route.model).catch(async (error) => {
          onError(error instanceof Error ? error : new Error(String(error)))
          await channels.notify(place, { text: texts.failed(plain(chatMessageOf(error))) })
        })
        return { text: texts.compactStarted, session: { server, sessionID } }
      },
    },
  ]

  function refuseWhileBusy(place: ChatPlace, sessionID: string): void {
    if (runs.active(place).length > 0 || runs.isAtWork(sessionID)) throw new CommandRefusal(texts.busyNow)
  }

  /** Throws if another person sent the prompt. */
  async function refuseOthers(promptID: string, entry: QueuedPrompt, person: Person): Promise<void> {
    if (person.may.has('admin')) return
    const author = await routes.authorOf(promptID)
    if (author && people.isSame(author, entry)) return
    throw new CommandRefusal(texts.mayNot('admin'))
  }

  function listing(title: string, names: readonly string[]): CommandReply {
    const shown = names.slice(0, mostNames).map((name) => `- ${plain(name)}`)
    const more = names.length > mostNames ? [`- … (${names.length - mostNames})`] : []
    return { text: [title, '', ...shown, ...more].join('\n') }
  }
}
