import { followModes } from '../config/schema.ts'
import { plain, texts } from '../texts.ts'
import { type Command, CommandRefusal, type CommandServices } from './command.ts'

/** Shows what the chat shows of runs that were started elsewhere, or changes it. */
export function followCommand({ state, routes, config }: CommandServices): Command {
  return {
    name: 'follow',
    usage: '[asks | all | none]',
    description: 'what this chat shows of runs that were started elsewhere',
    isApproving: true,
    run: async ({ place, rest, target }) => {
      const { route } = await target()
      const chosen = rest.toLowerCase()
      if (chosen === '') {
        const follow = route.follow ?? config.servers[route.server]?.follow ?? 'asks'
        return { text: `${texts.follow[follow]}\n\n${plain(texts.followHelp)}` }
      }
      const follow = followModes.find((mode) => mode === chosen)
      if (!follow) throw new CommandRefusal(texts.followWhat(plain(rest)))
      await state.commit(routes.writeRoute(place, { ...route, follow }))
      return { text: texts.follow[follow] }
    },
  }
}
