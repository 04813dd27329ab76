import { ReplyError } from '../../error.ts'
import { sessionRefOf } from '../../session-ref.ts'
import { inNewSession } from './acting.ts'
import { waitForSettled } from './listen.ts'
import { check, hasPrompt, promptOf, promptsOf, rejection, type SourceDemand, takesPrompts } from './stage.ts'

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
    needs: (stage) => stage.source.commands !== undefined && hasPrompt('command')(stage),
    run: async (stage) => {
      const names = (await stage.source.commands?.(stage.directory))?.map(({ name }) => name) ?? []
      check(names.includes(promptOf(stage, 'command')), `It lists ${names.join(', ')}.`)
    },
  },
  {
    name: 'runs a command',
    ...inNewSession(async (stage, listener, session) => {
      await stage.source.command(session, { command: promptOf(stage, 'command'), arguments: 'all of it' })
      const reply = await waitForSettled(listener, session)
      check(reply.prompt?.text.includes('all of it') === true, `It was asked ${JSON.stringify(reply.prompt?.text)}.`)
      check(reply.outcome === 'completed', `It ended as ${reply.outcome}.`)
    }, hasPrompt('command')),
  },
  {
    name: 'forks a session with its messages',
    ...inNewSession(
      async (stage, listener, session) => {
        const { source } = stage
        await source.prompt(session, { text: promptsOf(stage).plain.text })
        await waitForSettled(listener, session)
        const fork = await source.fork?.(session)
        check(fork !== undefined && fork.sessionID !== session.sessionID, `The fork is ${fork?.sessionID}.`)
        const copied = await source.startReading().session(sessionRefOf(fork), { messageIDs: [], since: 0 })
        check(copied.messages.length === 2, `The fork has ${copied.messages.length} messages.`)
      },
      ({ source }) => source.fork !== undefined,
    ),
  },
  {
    name: 'reverts to a message, and takes it back',
    ...inNewSession(
      async (stage, listener, session) => {
        const { source } = stage
        await source.prompt(session, { text: promptsOf(stage).plain.text })
        const [messageID = ''] = (await waitForSettled(listener, session)).promptIDs
        await source.revert?.(session, messageID)
        const reverted = (await source.session(session)).revertedTo
        check(reverted === messageID, `It is reverted to ${reverted}.`)
        await source.unrevert?.(session)
        check((await source.session(session)).revertedTo === undefined, 'It is still reverted.')
      },
      ({ source }) => source.revert !== undefined && source.unrevert !== undefined,
    ),
  },
  {
    name: 'refuses a prompt for a session that does not exist',
    needs: takesPrompts,
    run: async ({ source, directory }) => {
      const session = { sessionID: 'ses_0000000000000000000000000', directory }
      const error = await rejection(source.prompt(session, { text: 'Hello.' }))
      check(error instanceof ReplyError && error.type !== 'unreachable', `It failed as ${String(error)}.`)
    },
  },
] as const satisfies readonly SourceDemand[]
