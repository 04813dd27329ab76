import { plain, texts } from '../texts.ts'
import { type Command, CommandRefusal, type CommandServices } from './command.ts'
import { namesReply } from './names-reply.ts'

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
