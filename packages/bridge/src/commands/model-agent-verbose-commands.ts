import { oneLine } from '@reply/sink/internal'
import { plain, texts } from '../texts.ts'
import { type Command, CommandRefusal, type CommandReply, type CommandServices } from './command.ts'

/** How many names a list shows at most. */
const mostNames = 40

/** Returns a reply with a title and the first `mostNames` names, then how many more there are. */
function namesReply(title: string, names: readonly string[]): CommandReply {
  const shown = names.slice(0, mostNames).map((name) => `- ${plain(name)}`)
  const more = names.length > mostNames ? [`- … (${names.length - mostNames})`] : []
  return { text: [title, '', ...shown, ...more].join('\n') }
}

/** Lists the models of the server, sets the one for the next prompts of the chat, or resets it with `default`. */
export function modelCommand({ state, routes }: CommandServices): Command {
  return {
    name: 'model',
    usage: '[provider/model]',
    description: 'the model that answers',
    run: async ({ place, rest, target }) => {
      const { route, client } = await target()
      const models = await client.models()
      const names = models.map(({ providerID, modelID }) => `${providerID}/${modelID}`)
      const current = route.model ? `${route.model.providerID}/${route.model.modelID}` : texts.byDefault
      if (rest === '') return namesReply(texts.models(plain(current)), names)
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
  }
}

/**
 * Lists the primary agents of the server, sets the one for the next prompts of the chat, or resets it with `default`. An
 * agent that is called `default` is set instead.
 */
export function agentCommand({ state, routes }: CommandServices): Command {
  return {
    name: 'agent',
    usage: '[name]',
    description: 'the agent that answers',
    run: async ({ place, rest, target }) => {
      const { route, client } = await target()
      const names = (await client.agents()).filter(({ isPrimary }) => isPrimary).map(({ name }) => name)
      if (rest === '') return namesReply(texts.agents(plain(route.agent ?? texts.byDefault)), names)
      const isReset = rest.toLowerCase() === 'default' && !names.includes('default')
      const agent = isReset ? undefined : names.find((name) => name.toLowerCase() === rest.toLowerCase())
      if (!isReset && agent === undefined) throw new CommandRefusal(texts.noAgent(plain(rest)))
      await state.commit(routes.writeRoute(place, { ...route, agent }))
      return { text: texts.agentSet(plain(agent ?? texts.byDefault)) }
    },
  }
}

/** Sets whether the chat shows the tools' output. Without an argument, it toggles. Every argument except `on` means off. */
export function verboseCommand({ state, routes }: CommandServices): Command {
  return {
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
  }
}

/** How much of a command and its description is listed, in UTF-16 units. */
const commandLength = 120

/** Lists the commands of the agent. Those of the bridge are in `register.ts`. */
export const commandsCommand: Command = {
  name: 'commands',
  description: "the agent's own commands",
  run: async ({ target }) => {
    const { client } = await target()
    const listed = await client.commands()
    if (listed.length === 0) return { text: texts.noCommands }
    const names = listed.map(({ name, description = '' }) =>
      oneLine([`/${name}`, ...(description === '' ? [] : [description])].join(': '), commandLength),
    )
    return namesReply(texts.commands, names)
  },
}
