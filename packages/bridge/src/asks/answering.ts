import type { Ask, OpenCode } from '@reply/core'
import { answerWith, type Inbound } from '@reply/sink'
import { BridgeError, chatWordsOf } from '../error.ts'
import type { BridgeContext } from '../runs/context.ts'
import type { Runner } from '../runs/runner.ts'
import type { Answering } from './answered-by.ts'

/**
 * Passes what people write or press on as an answer. Resolves with false if it answers nothing in that chat.
 * `beforeAnswer` is awaited before the answer goes to the server.
 */
export type Answerer = (
  channel: string,
  inbound: Exclude<Inbound, { type: 'stop' }>,
  beforeAnswer?: () => Promise<void>,
) => Promise<boolean>

export function createAnswerer(
  context: Pick<BridgeContext, 'servers' | 'channels' | 'people' | 'answeredBy' | 'words' | 'onError'>,
  runner: Runner,
): Answerer {
  const { servers, channels, people, answeredBy, words, onError } = context
  return async (channel, inbound, beforeAnswer) => {
    const running = runner.followed({ channel, chat: inbound.chat }).flatMap(({ shows, stream }) => {
      const followed = stream()
      const here = shows.filter((one) => one.channel === channel)
      return followed ? here.map(({ sink }) => ({ sink, stream: followed })) : []
    })
    return await answerWith({
      ...{ opencode: sentBy({ channel, actorID: inbound.actor.id }), running: () => running, beforeAnswer },
      words: channels.sinkFields(channel).words,
    })(inbound)
  }

  function sentBy(by: Answering): Pick<OpenCode, 'answer' | 'reject' | 'abort'> {
    return {
      answer: async (ask, answer) => await passed(ask, by, serverFor(ask, by).answer(ask, answer)),
      reject: async (ask, message) => await passed(ask, by, serverFor(ask, by).reject(ask, message)),
      // Stops never come this way.
      abort: async () => {},
    }
  }

  /** The person is told of a failure in words for people, and the operator in full. */
  async function passed<T>({ requestID }: Ask, by: Answering, answered: Promise<T>): Promise<T> {
    // The stream may tell of the answer before the request returns.
    answeredBy.note(requestID, by)
    try {
      return await answered
    } catch (cause) {
      answeredBy.take(requestID)
      if (!(cause instanceof Error) || ('type' in cause && cause.type === 'already-resolved')) throw cause
      onError(cause)
      throw new BridgeError('inbound', words.notAnswered(chatWordsOf(cause, words)), { cause })
    }
  }

  /** A right may have been lost while the answer was written down. Whose ask it is, the sink has decided. */
  function serverFor(ask: Ask, { channel, actorID }: Answering): OpenCode {
    const may = people.find(channel, { id: actorID })?.may
    if (may?.has('approve') || (ask.type === 'question' && may?.has('prompt'))) return serverOf(ask)
    throw new BridgeError('inbound', words.mayNot(ask.type === 'question' ? 'prompt' : 'approve'))
  }

  /** A sub-agent's ask belongs to the server of its root session. */
  function serverOf({ path, sessionID }: Ask): OpenCode {
    const name = runner.serverOf(path[0] ?? sessionID)
    const server = name === undefined ? undefined : servers.get(name)
    if (server) return server
    throw new BridgeError('inbound', 'The server of this request is not known any more.')
  }
}
