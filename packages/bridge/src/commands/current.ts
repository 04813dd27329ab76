import { plain, texts } from '../texts.ts'
import type { Command, CommandServices } from './command.ts'

/** Shows the session, server, agent and model of the chat. A session that the server does not list is untitled. */
export function currentCommand({ config }: CommandServices): Command {
  return {
    name: 'current',
    description: 'the session of this chat',
    run: async ({ target }) => {
      const { route, client } = await target()
      const { sessionID, server, agent, model } = route
      if (sessionID === undefined) return { text: texts.noSession }
      const sessions = await client.sessions({ directory: config.servers[server]?.directory })
      const facts = {
        title: plain(sessions.find((one) => one.sessionID === sessionID)?.title ?? texts.untitled),
        id: sessionID,
        server: plain(server),
        agent: plain(agent ?? texts.byDefault),
        model: plain(model ? `${model.providerID}/${model.modelID}` : texts.byDefault),
      }
      return { text: texts.current(facts), session: { server, sessionID } }
    },
  }
}
