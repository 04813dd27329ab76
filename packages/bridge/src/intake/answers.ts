import { type AnswerInbound, answerWith, type Inbound, type Sink } from '@reply/sink'
import type { RequireDue } from '../commands/late-press.ts'
import { takenOverError } from '../members/membership.ts'
import type { BridgeServices } from '../runs/services.ts'
import type { AnswerClients } from './answer-clients.ts'

/**
 * Sends a message or press as the answer to a pending ask of that chat, and answers the person. Resolves with false if it is
 * not such an answer, and sends nothing then. Rejects with `taken-over` if it could not be sent because another process took over
 * the chat, and with a `LatePressError` or an answer that says so if `requireDue` threw that.
 */
export type AnswerAsk = (
  channel: string,
  inbound: Exclude<Inbound, { type: 'stop' }>,
  options?: {
    /** Awaited before the answer is sent to the server. */
    readonly beforeAnswer?: () => Promise<void>
    /** Default: it is never late. */
    readonly requireDue?: RequireDue
  },
) => Promise<boolean>

/** Returns a function that sends an input of a chat as the answer to one of its pending asks, if it is one. */
export function createAnswerAsk(
  { channels, runs, lease }: Pick<BridgeServices, 'channels' | 'runs' | 'lease'>,
  clientFor: AnswerClients,
): AnswerAsk {
  return async (channel, inbound, { beforeAnswer, requireDue = () => Number.POSITIVE_INFINITY } = {}) => {
    let isTakenAway = false
    const onFailed = (): void => {
      isTakenAway = lease.current() === undefined
    }
    /** Answers the person, except that this failed: the next owner handles it again. */
    const answer: AnswerInbound = async (text) => {
      if (isTakenAway) throw takenOverError()
      await inbound.answer(text)
    }
    const running = runs.followed({ channel, chat: inbound.chat }).flatMap(({ sinks, stream }) => {
      const followed = stream()
      const here = sinks.filter((one) => one.channel === channel)
      return followed ? here.map(({ sink }) => ({ sink: dueSink(sink, inbound, requireDue), stream: followed })) : []
    })
    return await answerWith({
      client: clientFor({ channel, actorID: inbound.actor.id, name: inbound.actor.name }, requireDue, onFailed),
      running: () => running,
      beforeAnswer,
      texts: channels.sinkFields(channel).texts,
    })({ ...inbound, answer })
  }

  /**
   * Returns a sink that finds no asks for a late answer: an ask would take each answer that it is given. Any other late text
   * is passed on, and one that was written before the ask was shown, too.
   */
  function dueSink(
    sink: Pick<Sink, 'findAsks'>,
    { type }: Pick<Inbound, 'type'>,
    requireDue: RequireDue,
  ): Pick<Sink, 'findAsks'> {
    return {
      findAsks: async (...given) => {
        const found = await sink.findAsks(...given)
        if (type === 'press' || found.some((match) => match.type !== 'maybe')) requireDue()
        return found
      },
    }
  }
}
