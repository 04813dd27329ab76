import { texts } from '../texts.ts'
import type { Command, CommandServices } from './command.ts'

/** Without an argument, it toggles. Every argument except `on` means off. */
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
