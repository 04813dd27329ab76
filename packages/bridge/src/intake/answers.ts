import type { Ask, Client } from '@reply/core'
import { answerWith, type Inbound } from '@reply/sink'
import type { ActorRef } from '../asks/answered-by.ts'
import type { Given, SavedGrants } from '../asks/saved-grants.ts'
import { BridgeError } from '../error.ts'
import type { BridgeContext } from '../runs/context.ts'
import type { Runner } from '../runs/runner.ts'
import { chatMessageOf, texts } from '../texts.ts'

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
  context: Pick<BridgeContext, 'servers' | 'channels' | 'people' | 'answeredBy' | 'onError'>,
  runner: Runner,
  allowed: SavedGrants,
): Answerer {
  const { servers, channels, people, answeredBy, onError } = context
  return async (channel, inbound, beforeAnswer) => {
    const running = runner.followed({ channel, chat: inbound.chat }).flatMap(({ shows, stream }) => {
      const followed = stream()
      const here = shows.filter((one) => one.channel === channel)
      return followed ? here.map(({ sink }) => ({ sink, stream: followed })) : []
    })
    return await answerWith({
      client: sentBy({ channel, actorID: inbound.actor.id, name: inbound.actor.name }),
      running: () => running,
      beforeAnswer,
      texts: channels.sinkFields(channel).texts,
    })(inbound)
  }

  function sentBy(by: Given['by']): Pick<Client, 'answer' | 'reject' | 'abort'> {
    return {
      answer: async (ask, answer) => {
        const { name, opencode } = serverFor(ask, by)
        const send = async (): Promise<void> => await passed(ask, by, opencode.answer(ask, answer))
        return ask.type === 'permission' && answer === 'always'
          ? await noted({ ask, server: name, by }, send)
          : await send()
      },
      reject: async (ask, message) => await passed(ask, by, serverFor(ask, by).opencode.reject(ask, message)),
      // Stops never come this way.
      abort: async () => {},
    }
  }

  /** Written down before, as what a server allows must not be forgotten by a crash. */
  async function noted(given: Given, send: () => Promise<void>): Promise<void> {
    const grant = await allowed.begin(given)
    try {
      await send()
    } catch (error) {
      const { cause = error } = error instanceof Error ? error : {}
      const isUnknown = cause instanceof Error && 'type' in cause && cause.type === 'unreachable'
      if (!isUnknown) await allowed.forget(grant)
      throw error
    }
    await allowed.confirm(grant)
  }

  /** The person is told of a failure in words for people, and the operator in full. */
  async function passed<T>({ requestID }: Ask, by: ActorRef, answered: Promise<T>): Promise<T> {
    // The stream may tell of the answer before the request returns.
    answeredBy.note(requestID, by)
    try {
      return await answered
    } catch (cause) {
      answeredBy.take(requestID)
      if (!(cause instanceof Error) || ('type' in cause && cause.type === 'already-resolved')) throw cause
      onError(cause)
      throw new BridgeError('inbound', texts.notAnswered(chatMessageOf(cause)), { cause })
    }
  }

  /** A right may have been lost while the answer was written down. Whose ask it is, the sink has decided. */
  function serverFor(ask: Ask, { channel, actorID }: ActorRef): ReturnType<typeof serverOf> {
    const may = people.find(channel, { id: actorID })?.may
    if (may?.has('approve') || (ask.type === 'question' && may?.has('prompt'))) return serverOf(ask)
    throw new BridgeError('inbound', texts.mayNot(ask.type === 'question' ? 'prompt' : 'approve'))
  }

  /** A sub-agent's ask belongs to the server of its root session. */
  function serverOf({ path, sessionID }: Ask): { readonly name: string; readonly opencode: Client } {
    const name = runner.serverOf(path[0] ?? sessionID)
    const opencode = name === undefined ? undefined : servers.get(name)
    if (name !== undefined && opencode) return { name, opencode }
    throw new BridgeError('inbound', 'The server of this request is no longer known.')
  }
}
