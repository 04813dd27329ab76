import { plain, texts } from '../texts.ts'
import { type Command, CommandRefusal, type CommandServices } from './command.ts'
import { namesReply } from './names-reply.ts'

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
