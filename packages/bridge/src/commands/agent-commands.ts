import { oneLine } from '@reply/sink/internal'
import { toError } from '../error.ts'
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
        const { route, client } = await target()
        const models = await client.models()
        const names = models.map(({ providerID, modelID }) => `${providerID}/${modelID}`)
        const current = route.model ? `${route.model.providerID}/${route.model.modelID}` : texts.byDefault
        if (rest === '') return listReply(texts.models(plain(current)), names)
        if (rest.toLowerCase() === 'default') {
          await state.commit(routes.writeRoute(place, { ...route, model: undefined }))
          return { text: texts.modelSet(texts.byDefault) }
        }
        const index = names.findIndex((name) => name.toLowerCase() === rest.toLowerCase())
        const model = models[index]
        if (!model) throw new CommandRefusal(texts.noModel(plain(rest)))
        const { providerID, modelID } = model
        await state.commit(routes.writeRoute(place, { ...route, model: { providerID, modelID } }))
        return { text: texts.modelSet(plain(names[index] ?? rest)) }
      },
    },
    {
      name: 'agent',
      usage: '[name]',
      description: 'the agent that answers',
      run: async ({ place, rest, target }) => {
        const { route, client } = await target()
        const names = (await client.agents()).filter(({ isPrimary }) => isPrimary).map(({ name }) => name)
        if (rest === '') return listReply(texts.agents(plain(route.agent ?? texts.byDefault)), names)
        const isReset = rest.toLowerCase() === 'default' && !names.includes('default')
        const agent = isReset ? undefined : names.find((name) => name.toLowerCase() === rest.toLowerCase())
        if (!isReset && agent === undefined) throw new CommandRefusal(texts.noAgent(plain(rest)))
        await state.commit(routes.writeRoute(place, { ...route, agent }))
        return { text: texts.agentSet(plain(agent ?? texts.byDefault)) }
      },
    },
    {
      name: 'commands',
      description: "the agent's own commands",
      run: async ({ target }) => {
        const { client } = await target()
        const listed = await client.commands()
        if (listed.length === 0) return { text: texts.noCommands }
        const names = listed.map(({ name, description = '' }) =>
          oneLine([`/${name}`, ...(description === '' ? [] : [description])].join(': '), commandLength),
        )
        return listReply(texts.commands, names)
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
        await state.commit(routes.writeRoute(place, { ...route, isVerbose }))
        return { text: texts.verbose(isVerbose) }
      },
    },
    {
      name: 'undo',
      description: 'take back the last prompt and its changes',
      isOnce: true,
      run: async ({ place, person, entry, target }) => {
        const { route, client } = await target()
        if (route.sessionID === undefined) return { text: texts.noSession }
        refuseWhileBusy(place, route.sessionID)
        const last = (await client.reply(route.sessionID))?.promptIDs[0]
        if (last === undefined) return { text: texts.nothingToUndo }
        await refuseOthers(last, entry, person)
        await client.revert(route.sessionID, last)
        return { text: texts.undone, session: { server: route.server, sessionID: route.sessionID } }
      },
    },
    {
      name: 'compact',
      description: "replace the session's history by a summary",
      isOnce: true,
      isPrompting: true,
      run: async ({ place, person, entry, target }) => {
        const { route, client } = await target()
        const { sessionID, server } = route
        if (sessionID === undefined) return { text: texts.noSession }
        refuseWhileBusy(place, sessionID)
        const last =
          place.chat.kind === 'private' && mirrors.others(place).length === 0
            ? undefined
            : (await client.reply(sessionID))?.promptIDs[0]
        if (last !== undefined) await refuseOthers(last, entry, person)
        // Not awaited: it may take minutes, and must not delay other commands.
        void client.compact(sessionID, route.model).catch(async (error) => {
          onError(toError(error))
          await channels.tryPost(place, { text: texts.failed(plain(chatMessageOf(error))) })
        })
        return { text: texts.compactStarted, session: { server, sessionID } }
      },
    },
  ]

  /** Throws if a run is active in the place or in the session. */
  function refuseWhileBusy(place: ChatPlace, sessionID: string): void {
    if (runs.active(place).length > 0 || runs.isSessionBusy(sessionID)) throw new CommandRefusal(texts.busyNow)
  }

  /** Throws a `CommandRefusal` if another person sent the prompt, unless this person is an admin. */
  async function refuseOthers(promptID: string, entry: QueuedPrompt, person: Person): Promise<void> {
    if (person.may.has('admin')) return
    const author = await routes.authorOf(promptID)
    if (author && people.isSamePerson(author, entry)) return
    throw new CommandRefusal(texts.mayNot('admin'))
  }

  /** Lists at most `mostNames` names, then how many more there are. */
  function listReply(title: string, names: readonly string[]): CommandReply {
    const shown = names.slice(0, mostNames).map((name) => `- ${plain(name)}`)
    const more = names.length > mostNames ? [`- … (${names.length - mostNames})`] : []
    return { text: [title, '', ...shown, ...more].join('\n') }
  }
}
