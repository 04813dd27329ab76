import { ReplyError } from '../../error.ts'
import { sessionRefOf } from '../../session-ref.ts'
import { acting } from './acting.ts'
import { settled } from './listen.ts'
import { check, has, promptOf, promptsOf, rejection, type SourceDemand, takesPrompts } from './stage.ts'

export const managing = [
  {
    name: 'lists its models',
    needs: takesPrompts,
    run: async ({ source, directory }) => check((await source.models(directory)).length > 0, 'It has no models.'),
  },
  {
    name: 'lists its agents, including one to prompt',
    needs: (stage) => takesPrompts(stage) && stage.source.agents !== undefined,
    run: async ({ source, directory }) => {
      const agents = (await source.agents?.(directory)) ?? []
      check(
        agents.some((agent) => agent.isPrimary),
        `It lists ${agents.map(({ name }) => name).join(', ')}.`,
      )
    },
  },
  {
    name: 'lists its commands',
    needs: (stage) => stage.source.commands !== undefined && has('command')(stage),
    run: async (stage) => {
      const names = (await stage.source.commands?.(stage.directory))?.map(({ name }) => name) ?? []
      check(names.includes(promptOf(stage, 'command')), `It lists ${names.join(', ')}.`)
    },
  },
  {
    name: 'runs a command',
    ...acting(async (stage, listener, place) => {
      await stage.source.command(place, { command: promptOf(stage, 'command'), arguments: 'all of it' })
      const reply = await settled(listener, place)
      check(reply.prompt?.text.includes('all of it') === true, `It was asked ${JSON.stringify(reply.prompt?.text)}.`)
      check(reply.outcome === 'completed', `It ended as ${reply.outcome}.`)
    }, has('command')),
  },
  {
    name: 'forks a session with its messages',
    ...acting(
      async (stage, listener, place) => {
        const { source } = stage
        await source.prompt(place, { text: promptsOf(stage).plain.text })
        await settled(listener, place)
        const fork = await source.fork?.(place)
        check(fork !== undefined && fork.sessionID !== place.sessionID, `The fork is ${fork?.sessionID}.`)
        const copied = await source.startReading().session(sessionRefOf(fork), { messageIDs: [], since: 0 })
        check(copied.messages.length === 2, `The fork has ${copied.messages.length} messages.`)
      },
      ({ source }) => source.fork !== undefined,
    ),
  },
  {
    name: 'reverts to a message, and takes it back',
    ...acting(
      async (stage, listener, place) => {
        const { source } = stage
        await source.prompt(place, { text: promptsOf(stage).plain.text })
        const [messageID = ''] = (await settled(listener, place)).promptIDs
        await source.revert?.(place, messageID)
        const reverted = (await source.session(place)).revertedTo
        check(reverted === messageID, `It is reverted to ${reverted}.`)
        await source.unrevert?.(place)
        check((await source.session(place)).revertedTo === undefined, 'It is still reverted.')
      },
      ({ source }) => source.revert !== undefined && source.unrevert !== undefined,
    ),
  },
  {
    name: 'refuses a prompt for a session that does not exist',
    needs: takesPrompts,
    run: async ({ source, directory }) => {
      const place = { sessionID: 'ses_0000000000000000000000000', directory }
      const error = await rejection(source.prompt(place, { text: 'Hello.' }))
      check(error instanceof ReplyError && error.type !== 'unreachable', `It failed as ${String(error)}.`)
    },
  },
] as const satisfies readonly SourceDemand[]
