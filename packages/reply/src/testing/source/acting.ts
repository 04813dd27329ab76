import type { Ask } from '../../ask.ts'
import { ReplyError } from '../../error.ts'
import { type Place, placeOf } from '../../place.ts'
import type { Reply } from '../../reply.ts'
import { textOf } from '../../select.ts'
import { asked, type Listener, listen, settled } from './listen.ts'
import { check, promptsOf, rejection, type SourceDemand, type SourceStage, takesPrompts } from './stage.ts'

/** A clause that listens while it acts in a new session. */
function acting(
  run: (stage: SourceStage, listener: Listener, place: Place) => Promise<void>,
): Pick<SourceDemand, 'needs' | 'run'> {
  return {
    needs: takesPrompts,
    run: async (stage) => {
      const listener = await listen(stage)
      try {
        const created = await stage.source.create({ directory: stage.directory, title: 'Contract' })
        await run(stage, listener, placeOf(created))
      } finally {
        await listener.stop()
      }
    },
  }
}

export const prompting = [
  {
    name: 'creates a session in the directory, with its title',
    ...acting(async ({ source, directory }, _, place) => {
      const info = await source.session(place)
      check(info.directory === directory, `It is in ${info.directory}.`)
      check(info.title === 'Contract', `It is titled ${JSON.stringify(info.title)}.`)
      check(info.parentID === undefined, 'It is not a root.')
    }),
  },
  {
    name: 'prompts once and sends the whole run',
    ...acting(async (stage, listener, place) => {
      const { text, answer } = promptsOf(stage).plain
      await stage.source.prompt(place, { text })
      const reply = await settled(listener, place)
      check(reply.outcome === 'completed', `It ended as ${reply.outcome}.`)
      check(textOf(reply) === answer, `It answered ${JSON.stringify(textOf(reply))}.`)
      check(reply.promptIDs.length === 1, `It has ${reply.promptIDs.length} prompts.`)
      check(reply.prompt?.text === text, `It was asked ${JSON.stringify(reply.prompt?.text)}.`)
    }),
  },
  {
    name: 'reads a run as its events told it',
    ...acting(async (stage, listener, place) => {
      await stage.source.prompt(place, { text: promptsOf(stage).plain.text })
      const reply = await settled(listener, place)
      const read = await stage.source.startReading().session(place, { messageIDs: [] })
      const ids = read.messages.map(({ head }) => head.id)
      check(
        ids.join() === [...reply.promptIDs, ...reply.messages.map(({ id }) => id)].join(),
        `It read the messages ${ids.join(', ')}.`,
      )
    }),
  },
  {
    name: "keeps a message's id if it takes one",
    ...acting(async (stage, listener, place) => {
      const { takesMessageIDs } = await stage.source.learn()
      // Unique: a server may refuse an id that another session has.
      const messageID = place.sessionID.replace(/^ses_/, 'msg_')
      await stage.source.prompt(place, { text: promptsOf(stage).plain.text, ...(takesMessageIDs && { messageID }) })
      const { promptIDs } = await settled(listener, place)
      check(!takesMessageIDs || promptIDs[0] === messageID, `The prompt is ${promptIDs[0]}.`)
    }),
  },
  {
    name: 'resolves a prompt before its run is over, and lists the session as working',
    ...acting(async (stage, listener, place) => {
      await stage.source.prompt(place, { text: promptsOf(stage).endless })
      await listener.until((heard) => hasText(heard.reply(place.sessionID)))
      const working = await stage.source.working(stage.directory)
      check(working.get(place.sessionID)?.status === 'busy', 'The session is not listed.')
      await stage.source.abort(place)
      await settled(listener, place)
      const after = await stage.source.working(stage.directory)
      check(!after.has(place.sessionID), 'The session is listed after its end.')
    }),
  },
  {
    name: 'aborts a run, and an idle session without an error',
    ...acting(async (stage, listener, place) => {
      await stage.source.abort(place)
      await stage.source.prompt(place, { text: promptsOf(stage).endless })
      await listener.until((heard) => hasText(heard.reply(place.sessionID)))
      await stage.source.abort(place)
      const reply = await settled(listener, place)
      check(reply.outcome === 'aborted', `It ended as ${reply.outcome}.`)
    }),
  },
  {
    name: 'only stores a message without a reply',
    ...acting(async (stage, _, place) => {
      await stage.source.prompt(place, { text: 'A note.', noReply: true })
      const read = await stage.source.startReading().session(place, { messageIDs: [] })
      check(read.messages.length === 1 && read.working === undefined, `${read.messages.length} messages are stored.`)
    }),
  },
] as const satisfies readonly SourceDemand[]

export const asking = [
  {
    name: 'lists a permission with its call, and allows it once',
    ...acting(async (stage, listener, place) => {
      await stage.source.prompt(place, { text: promptsOf(stage).permission })
      const ask = await asked(listener, place)
      const { asks, isWhole } = await stage.source.asks(stage.directory)
      check(!isWhole || asks.some(({ requestID }) => requestID === ask.requestID), 'It is not listed.')
      check(ask.sessionID === place.sessionID, `It is of ${ask.sessionID}.`)
      await listener.until((heard) => heard.reply(place.sessionID)?.asks.find(hasCall))
      await stage.source.answer(ask, 'once')
      const reply = await settled(listener, place)
      check(reply.outcome === 'completed', `It ended as ${reply.outcome}.`)
      check(reply.asks[0]?.status === 'answered', `The ask is ${reply.asks[0]?.status}.`)
    }),
  },
  {
    name: 'rejects a permission',
    ...acting(async (stage, listener, place) => {
      await stage.source.prompt(place, { text: promptsOf(stage).permission })
      await stage.source.reject(await asked(listener, place))
      const { asks } = await settled(listener, place)
      check(asks[0]?.status === 'rejected', `The ask is ${asks[0]?.status}.`)
    }),
  },
  {
    name: 'answers a question',
    ...acting(async (stage, listener, place) => {
      await stage.source.prompt(place, { text: promptsOf(stage).question })
      const ask = await asked(listener, place)
      check(ask.type === 'question', `It asks for a ${ask.type}.`)
      const option = ask.questions[0]?.options[0]?.label ?? ''
      check(option !== '', 'The question has no options.')
      await stage.source.answer(ask, [[option]])
      const { asks } = await settled(listener, place)
      check(asks[0]?.status === 'answered', `The ask is ${asks[0]?.status}.`)
    }),
  },
  {
    name: 'rejects a question',
    ...acting(async (stage, listener, place) => {
      await stage.source.prompt(place, { text: promptsOf(stage).question })
      await stage.source.reject(await asked(listener, place))
      const { asks } = await settled(listener, place)
      check(asks[0]?.status === 'rejected', `The ask is ${asks[0]?.status}.`)
    }),
  },
  {
    name: 'does not send an answer whose signal has aborted',
    ...acting(async (stage, listener, place) => {
      await stage.source.prompt(place, { text: promptsOf(stage).permission })
      const ask = await asked(listener, place)
      const error = await rejection(stage.source.answer(ask, 'once', AbortSignal.abort(new Error('Too late.'))))
      check(error instanceof Error, 'It was sent.')
      const { asks, isWhole } = await stage.source.asks(stage.directory)
      check(!isWhole || asks.some(({ requestID }) => requestID === ask.requestID), 'It is no longer pending.')
      await stage.source.reject(ask)
      await settled(listener, place)
    }),
  },
  {
    name: "answers a sub-agent's permission, and lists the sub-agent as a child",
    ...acting(async (stage, listener, place) => {
      await stage.source.prompt(place, { text: promptsOf(stage).delegate ?? '' })
      const ask = await asked(listener, place)
      check(ask.sessionID !== place.sessionID, 'The ask is not the sub-agent’s.')
      const children = await stage.source.children(place)
      check(
        children.some((child) => child.sessionID === ask.sessionID),
        'The sub-agent is not listed.',
      )
      check(
        (await stage.source.session(placeOf(ask))).parentID === place.sessionID,
        'The sub-agent has another parent.',
      )
      await stage.source.answer(ask, 'once')
      const reply = await settled(listener, place)
      check(reply.outcome === 'completed', `It ended as ${reply.outcome}.`)
    }),
    needs: (stage) => stage.prompts?.delegate !== undefined,
  },
] as const satisfies readonly SourceDemand[]

export const managing = [
  {
    name: 'lists its models, and its agents and commands if it has such lists',
    needs: takesPrompts,
    run: async ({ source, directory, prompts }) => {
      check((await source.models(directory)).length > 0, 'It has no models.')
      const agents = await source.agents?.(directory)
      check(!agents || agents.some((agent) => agent.isPrimary), 'No agent can be prompted.')
      const commands = await source.commands?.(directory)
      const wanted = prompts?.command
      check(!commands || !wanted || commands.some(({ name }) => name === wanted), `There is no command ${wanted}.`)
    },
  },
  {
    name: 'runs a command',
    ...acting(async (stage, listener, place) => {
      await stage.source.command(place, { command: promptsOf(stage).command ?? '', arguments: 'all of it' })
      const reply = await settled(listener, place)
      check(reply.prompt?.text.includes('all of it') === true, `It was asked ${JSON.stringify(reply.prompt?.text)}.`)
      check(reply.outcome === 'completed', `It ended as ${reply.outcome}.`)
    }),
    needs: (stage) => stage.prompts?.command !== undefined,
  },
  {
    name: 'forks, reverts and unreverts if it can',
    ...acting(async (stage, listener, place) => {
      const { source } = stage
      await source.prompt(place, { text: promptsOf(stage).plain.text })
      const { promptIDs } = await settled(listener, place)
      const [messageID = ''] = promptIDs
      const fork = await source.fork?.(place)
      if (fork) {
        const copied = await source.startReading().session(placeOf(fork), { messageIDs: [], since: 0 })
        check(fork.sessionID !== place.sessionID && copied.messages.length === 2, 'The fork lacks messages.')
      }
      await source.revert?.(place, messageID)
      const reverted = (await source.session(place)).revertedTo
      check(!source.revert || reverted === messageID, `It is reverted to ${reverted}.`)
      await source.unrevert?.(place)
      check((await source.session(place)).revertedTo === undefined, 'It is still reverted.')
    }),
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

function hasCall(ask: Ask): boolean {
  return ask.type === 'permission' && ask.call !== undefined
}

function hasText(reply: Reply | undefined): true | undefined {
  return reply && textOf(reply) !== '' ? true : undefined
}
