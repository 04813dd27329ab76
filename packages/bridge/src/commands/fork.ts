import { plain, texts } from '../texts.ts'
import type { Command, CommandServices } from './command.ts'

/** Copies the session of the chat, and switches the chat to the copy. */
export function forkCommand({ state, routes }: CommandServices): Command {
  return {
    name: 'fork',
    description: 'go on in a copy of the session',
    isOnce: true,
    isPrompting: true,
    run: async ({ place, target }) => {
      const { route, client } = await target()
      if (route.sessionID === undefined) return { text: texts.noSession }
      const { sessionID, title } = await client.fork(route.sessionID)
      await state.commit(routes.writeSwitch(place, { ...route, sessionID }))
      return { text: texts.forked(plain(title ?? texts.untitled)), session: { server: route.server, sessionID } }
    },
  }
}
