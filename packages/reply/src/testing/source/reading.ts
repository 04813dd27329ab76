import { ReplyError } from '../../error.ts'
import { sessionRefOf } from '../../session-ref.ts'
import { listen } from './listen.ts'
import { check, existingOf, rejection, type SourceDemand } from './stage.ts'

const unknownID = 'ses_0000000000000000000000000'
/** Whether the stage has an existing session. */
const hasSession = (stage: { readonly existing?: unknown }): boolean => stage.existing !== undefined

export const connecting = [
  {
    name: 'sends `connected` first',
    run: async (stage) => {
      const listener = await listen(stage)
      const first = await listener.until((received) => received.events[0])
      await listener.stop()
      check(first.type === 'connected', `The first event is "${first.type}".`)
    },
  },
  {
    name: 'ends a connection whose signal aborts',
    run: async (stage) => {
      const listener = await listen(stage)
      await listener.stop()
    },
  },
  {
    name: 'fails as unreachable if there is no server, and still learns',
    run: async ({ unreachable, directory, secrets = [] }) => {
      const { signal } = new AbortController()
      const session = { sessionID: unknownID, directory }
      const connection = unreachable.connect({ signal, directory })[Symbol.asyncIterator]()
      const errors = [
        await rejection(connection.next().then(() => connection.next())),
        await rejection(unreachable.session(session)),
        await rejection(unreachable.prompt(session, { text: 'Hello.' })),
        await rejection(unreachable.abort(session)),
      ]
      await unreachable.learn()
      for (const error of errors) {
        check(error instanceof ReplyError && error.type === 'unreachable', `It failed as ${String(error)}.`)
        check(!secrets.some((secret) => error.message.includes(secret)), 'The error contains a secret.')
      }
    },
  },
  {
    name: 'learns what the server can do',
    run: async ({ source }) => {
      const { silenceMs } = await source.learn()
      check(silenceMs === undefined || silenceMs > 0, `silenceMs is ${silenceMs}.`)
    },
  },
  {
    name: 'fails calls after close with closed',
    run: async ({ source, directory }) => {
      source.close()
      const error = await rejection(source.session({ sessionID: unknownID, directory }))
      check(error instanceof ReplyError && error.type === 'closed', `It failed as ${String(error)}.`)
    },
  },
] as const satisfies readonly SourceDemand[]

export const reading = [
  {
    name: 'fails as gone for a session that does not exist',
    run: async ({ source, directory }) => {
      const session = { sessionID: unknownID, directory }
      const reach = { messageIDs: [] }
      for (const call of [() => source.session(session), () => source.startReading().session(session, reach)]) {
        const error = await rejection(call())
        check(error instanceof ReplyError && error.type === 'gone', `It failed as ${String(error)}.`)
      }
    },
  },
  {
    name: 'finds a session without its directory',
    needs: hasSession,
    run: async (stage) => {
      const { sessionID } = existingOf(stage)
      const info = await stage.source.session({ sessionID, directory: undefined })
      check(info.sessionID === sessionID, `It found ${info.sessionID}.`)
      check(info.directory === stage.directory, `It names the directory ${info.directory}.`)
    },
  },
  {
    name: "reads a session's newest run",
    needs: hasSession,
    run: async (stage) => {
      const { sessionID, answer, messageIDs } = existingOf(stage)
      const session = { sessionID, directory: stage.directory }
      const read = await stage.source.startReading().session(session, { messageIDs: [] })
      const texts = read.messages.flatMap(({ parts }) =>
        parts.flatMap((part) => (part.type === 'text' ? part.text : [])),
      )
      check(texts.at(-1) === answer, `The newest text is ${JSON.stringify(texts.at(-1))}.`)
      check(read.working === undefined, 'The session is working.')
      check(read.asks.length === 0, 'Something is pending in an idle session.')
      check(read.isSound, 'Something was malformed.')
      const ids = read.messages.map(({ head }) => head.id)
      check(ids.join() === messageIDs.slice(-ids.length).join(), `It read ${ids.join(', ')}.`)
      check(!read.isWhole || ids.length === messageIDs.length, 'It is marked as whole, but lacks messages.')
    },
  },
  {
    name: 'reads back to the messages that are asked for',
    needs: hasSession,
    run: async (stage) => {
      const { sessionID, messageIDs } = existingOf(stage)
      const session = { sessionID, directory: stage.directory }
      const read = await stage.source.startReading().session(session, { messageIDs: messageIDs.slice(0, 1), since: 0 })
      check(read.messages.length === messageIDs.length, `It read ${read.messages.length} of ${messageIDs.length}.`)
      check(read.isWhole, 'It is not marked as whole.')
    },
  },
  {
    name: 'reads one message',
    needs: hasSession,
    run: async (stage) => {
      const { sessionID, messageIDs } = existingOf(stage)
      const session = { sessionID, directory: stage.directory }
      const wanted = messageIDs.at(-1) ?? ''
      const message = await stage.source.message(session, wanted)
      check(message?.head.id === wanted, `It read ${message?.head.id}.`)
      const error = await rejection(stage.source.message(session, 'msg_0000000000000000000000000'))
      check(error instanceof ReplyError && error.type === 'gone', `An unknown message failed as ${String(error)}.`)
    },
  },
  {
    name: "lists a session's sub-agents",
    needs: hasSession,
    run: async (stage) => {
      const { sessionID, childIDs } = existingOf(stage)
      const children = await stage.source.children({ sessionID, directory: stage.directory })
      const ids = children.map((child) => child.sessionID).toSorted()
      check(ids.join() === childIDs.toSorted().join(), `It lists ${ids.join(', ')}.`)
      check(
        children.every((child) => child.parentID === sessionID),
        'A child names another parent.',
      )
    },
  },
  {
    name: 'lists sessions, those that changed since then, and the newest time',
    needs: hasSession,
    run: async (stage) => {
      const { source, directory } = stage
      const { sessionID } = existingOf(stage)
      const found = (await source.sessions({ directory })).find((info) => info.sessionID === sessionID)
      check(found !== undefined, 'The session is not listed.')
      const everywhere = await source.sessions({ everywhere: true })
      check(
        everywhere.some((info) => info.sessionID === sessionID),
        'The session is not listed among all.',
      )
      const { updatedAt } = found
      check(updatedAt !== undefined && updatedAt > 0, `It was updated at ${updatedAt}.`)
      const since = await source.sessions({ directory, since: updatedAt })
      check(
        since.some((info) => info.sessionID === sessionID),
        'It is not listed since its own time.',
      )
      const newest = await source.newestTime(directory)
      check(newest !== undefined && newest >= updatedAt, `The newest time is ${newest}, before ${updatedAt}.`)
    },
  },
  {
    name: 'spells a directory in one way',
    run: async ({ source, directory }) => {
      const spellings = [directory, `${directory}/`, `${directory}/x/..`].map((path) => source.spelled(path))
      const [first, ...others] = await Promise.all(spellings)
      check(first === directory, `It spells the directory ${first}.`)
      check(
        others.every((path) => path === directory),
        `It spells it ${others.join(' and ')}.`,
      )
    },
  },
  {
    name: 'requests what covers several sessions once per reading',
    needs: hasSession,
    run: async (stage) => {
      const read = stage.source.startReading()
      const [first, second] = await Promise.all([read.working(stage.directory), read.working(stage.directory)])
      check(first === second, 'It made two requests.')
      const info = await stage.source.session(sessionRefOf({ ...existingOf(stage), directory: stage.directory }))
      check(!first.has(info.sessionID), 'An idle session is listed as working.')
    },
  },
] as const satisfies readonly SourceDemand[]
