import { plain, texts } from '../texts.ts'
import type { Command, CommandServices } from './command.ts'

/** Only the route changes. The next prompt starts the session, with the title if one is given. */
export function newCommand({ state, routes }: CommandServices): Command {
  return {
    name: 'new',
    usage: '[title]',
    description: 'begin a new session',
    run: async ({ place, rest, target }) => {
      const { route } = await target()
      const title = rest === '' ? undefined : rest
      await state.commit(routes.writeRoute(place, { ...route, sessionID: undefined, title }))
      return { text: texts.newSession(title && plain(title)) }
    },
  }
}
