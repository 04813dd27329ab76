import type { Reply } from '../../reply.ts'
import { textOf } from '../../select.ts'
import type { SessionRef } from '../../session-ref.ts'
import { inNewSession } from './acting.ts'
import { type Listener, waitForSettled } from './listen.ts'
import { check, promptsOf, type SourceDemand, type SourceStage } from './stage.ts'

export const prompting = [
  {
    name: 'creates a session in the directory, with its title',
    ...inNewSession(async ({ source, directory }, _, session) => {
      const info = await source.session(session)
      check(info.directory === directory, `It is in ${info.directory}.`)
      check(info.title === 'Contract', `It is titled ${JSON.stringify(info.title)}.`)
      check(info.parentID === undefined, 'It is not a root.')
    }),
  },
  {
    name: 'prompts once and sends the whole run',
    ...inNewSession(async (stage, listener, session) => {
      const { text, answer } = promptsOf(stage).plain
      await stage.source.prompt(session, { text })
      const reply = await waitForSettled(listener, session)
      check(reply.outcome === 'completed', `It ended as ${reply.outcome}.`)
      check(textOf(reply) === answer, `It answered ${JSON.stringify(textOf(reply))}.`)
      check(reply.promptIDs.length === 1, `It has ${reply.promptIDs.length} prompts.`)
      check(reply.prompt?.text === text, `It was asked ${JSON.stringify(reply.prompt?.text)}.`)
    }),
  },
  {
    name: 'reads the messages of a run as its events had them',
    ...inNewSession(async (stage, listener, session) => {
      await stage.source.prompt(session, { text: promptsOf(stage).plain.text })
      const reply = await waitForSettled(listener, session)
      const read = await stage.source.startReading().session(session, { messageIDs: [] })
      const ids = read.messages.map(({ head }) => head.id)
      check(
        ids.join() === [...reply.promptIDs, ...reply.messages.map(({ id }) => id)].join(),
        `It read the messages ${ids.join(', ')}.`,
      )
    }),
  },
  {
    name: "keeps a message's id",
    ...inNewSession(async (stage, listener, session) => {
      const messageID = (await stage.source.learn()).nextMessageID?.()
      await stage.source.prompt(session, { text: promptsOf(stage).plain.text, messageID })
      const { promptIDs } = await waitForSettled(listener, session)
      check(promptIDs[0] === messageID, `The prompt is ${promptIDs[0]} instead of ${messageID}.`)
    }, takesMessageIDs),
  },
  {
    name: 'resolves a prompt before its run ends, and lists the session as working',
    ...inNewSession(async (stage, listener, session) => {
      await stage.source.prompt(session, { text: promptsOf(stage).endless })
      await listener.until((received) => hasText(received.reply(session.sessionID)))
      const working = await stage.source.working(stage.directory)
      check(working.get(session.sessionID)?.status === 'busy', 'The session is not listed.')
      await stage.source.abort(session)
      await waitForSettled(listener, session)
      const after = await stage.source.working(stage.directory)
      check(!after.has(session.sessionID), 'The session is listed after its end.')
    }),
  },
  {
    name: 'aborts a run, and an idle session without an error',
    ...inNewSession(async (stage, listener, session) => {
      await stage.source.abort(session)
      await stage.source.prompt(session, { text: promptsOf(stage).endless })
      await listener.until((received) => hasText(received.reply(session.sessionID)))
      await stage.source.abort(session)
      const reply = await waitForSettled(listener, session)
      check(reply.outcome === 'aborted', `It ended as ${reply.outcome}.`)
    }),
  },
  {
    name: 'keeps a queued prompt behind a run, and lists it',
    ...inNewSession(async (stage, listener, session) => {
      const messageID = await queueBehindEndlessRun(stage, listener, session)
      const waiting = await stage.source.waiting?.(session)
      check(waiting?.join() === messageID, `It lists ${waiting?.join(', ')}.`)
      await stage.source.abort(session)
      const { promptIDs } = await waitForSettled(listener, session)
      check(!promptIDs.includes(messageID), 'The prompt began before the run had ended.')
    }, queuesPrompts),
  },
  {
    name: 'takes back a prompt that waits, once',
    ...inNewSession(async (stage, listener, session) => {
      const messageID = await queueBehindEndlessRun(stage, listener, session)
      check((await stage.source.withdraw?.(session, messageID)) === true, 'It was not taken back.')
      check((await stage.source.withdraw?.(session, messageID)) === false, 'It was taken back twice.')
      check((await stage.source.waiting?.(session))?.length === 0, 'It is still listed.')
      await stage.source.abort(session)
      await waitForSettled(listener, session)
    }, queuesPrompts),
  },
  {
    name: 'only stores a message without a reply',
    ...inNewSession(async (stage, _, session) => {
      await stage.source.prompt(session, { text: 'A note.', noReply: true })
      const read = await stage.source.startReading().session(session, { messageIDs: [] })
      check(read.messages.length === 1 && read.working === undefined, `${read.messages.length} messages are stored.`)
    }),
  },
] as const satisfies readonly SourceDemand[]

/** Whether the source has a queue of prompts. */
async function queuesPrompts({ source }: SourceStage): Promise<boolean> {
  return (await source.learn()).queuesPrompts
}

/** Queues a prompt behind an endless run that has begun to answer. Resolves with the id of its message. */
async function queueBehindEndlessRun(stage: SourceStage, listener: Listener, session: SessionRef): Promise<string> {
  const { source } = stage
  const { endless, plain } = promptsOf(stage)
  await source.prompt(session, { text: endless })
  await listener.until((received) => hasText(received.reply(session.sessionID)))
  const messageID = (await source.learn()).nextMessageID?.() ?? ''
  await source.prompt(session, { text: plain.text, messageID, delivery: 'queue' })
  return messageID
}

/** Whether the source accepts ids for its messages. */
async function takesMessageIDs({ source }: SourceStage): Promise<boolean> {
  return (await source.learn()).nextMessageID !== undefined
}

/** True if the reply has a text. Returns undefined instead of false, so that `until` continues to wait. */
function hasText(reply: Reply | undefined): true | undefined {
  return reply && textOf(reply) !== '' ? true : undefined
}
