import { oneLine } from '@reply/sink/internal'
import { texts } from '../texts.ts'
import type { Command } from './command.ts'
import { namesReply } from './names-reply.ts'

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
