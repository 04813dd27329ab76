import type { Reply } from '../../reply.ts'
import { textOf } from '../../select.ts'
import type { SessionRef } from '../../session-ref.ts'
import { acting } from './acting.ts'
import { type Listener, settled } from './listen.ts'
import { check, promptsOf, type SourceDemand, type SourceStage } from './stage.ts'

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
    name: "keeps a message's id",
    ...acting(async (stage, listener, place) => {
      const messageID = (await stage.source.learn()).nextMessageID?.()
      await stage.source.prompt(place, { text: promptsOf(stage).plain.text, messageID })
      const { promptIDs } = await settled(listener, place)
      check(promptIDs[0] === messageID, `The prompt is ${promptIDs[0]} instead of ${messageID}.`)
    }, takesMessageIDs),
  },
  {
    name: 'resolves a prompt before its run is over, and lists the session as working',
    ...acting(async (stage, listener, place) => {
      await stage.source.prompt(place, { text: promptsOf(stage).endless })
      await listener.until((received) => hasText(received.reply(place.sessionID)))
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
      await listener.until((received) => hasText(received.reply(place.sessionID)))
      await stage.source.abort(place)
      const reply = await settled(listener, place)
      check(reply.outcome === 'aborted', `It ended as ${reply.outcome}.`)
    }),
  },
  {
    name: 'keeps a queued prompt behind a run, and lists it',
    ...acting(async (stage, listener, place) => {
      const messageID = await queued(stage, listener, place)
      const waiting = await stage.source.waiting?.(place)
      check(waiting?.join() === messageID, `It lists ${waiting?.join(', ')}.`)
      await stage.source.abort(place)
      const { promptIDs } = await settled(listener, place)
      check(!promptIDs.includes(messageID), 'The prompt began before the run had ended.')
    }, queuesPrompts),
  },
  {
    name: 'takes back a prompt that waits, once',
    ...acting(async (stage, listener, place) => {
      const messageID = await queued(stage, listener, place)
      check((await stage.source.withdraw?.(place, messageID)) === true, 'It was not taken back.')
      check((await stage.source.withdraw?.(place, messageID)) === false, 'It was taken back twice.')
      check((await stage.source.waiting?.(place))?.length === 0, 'It is still listed.')
      await stage.source.abort(place)
      await settled(listener, place)
    }, queuesPrompts),
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

async function queuesPrompts({ source }: SourceStage): Promise<boolean> {
  return (await source.learn()).queuesPrompts
}

/** Queues a prompt behind an endless run. Resolves with the id of its message. */
async function queued(stage: SourceStage, listener: Listener, place: SessionRef): Promise<string> {
  const { source } = stage
  const { endless, plain } = promptsOf(stage)
  await source.prompt(place, { text: endless })
  await listener.until((received) => hasText(received.reply(place.sessionID)))
  const messageID = (await source.learn()).nextMessageID?.() ?? ''
  await source.prompt(place, { text: plain.text, messageID, delivery: 'queue' })
  return messageID
}

async function takesMessageIDs({ source }: SourceStage): Promise<boolean> {
  return (await source.learn()).nextMessageID !== undefined
}

function hasText(reply: Reply | undefined): true | undefined {
  return reply && textOf(reply) !== '' ? true : undefined
}
