import type { Client, ReplyStream } from '@reply/core'
import { type AskResult, pick } from '../asks/answering.ts'
import type { AskInput } from '../asks/asks.ts'
import type { Sink } from '../sink.ts'
import { texts as defaultTexts, type Texts } from '../texts.ts'
import type { Inbound } from './inbound.ts'

/** A running reply and the sink that shows it. */
export interface Running {
  /** The sink that shows the reply; it finds the asks that an input may answer. */
  readonly sink: Pick<Sink, 'find'>
  /** The reply as `prompt` or `command` returned it; Stop aborts it. */
  readonly stream: Pick<ReplyStream, 'abort'>
}

/** Where answers go, and what may be waiting for them. */
export interface AnswerOptions {
  /** The connection that the replies came from. */
  readonly client: Pick<Client, 'answer' | 'reject' | 'abort'>
  /** What runs in the inbound's chat; each sink is asked in turn. */
  readonly running: (inbound: Inbound) => readonly Running[]
  /** The chat's session, if it has one, so that Stop also ends a run from before a restart. Default: unknown. */
  readonly session?: ((inbound: Inbound) => string | undefined) | undefined
  /**
   * Awaited before an answer goes to the server, so that the host can write down that the inbound is one. If it rejects,
   * nothing is answered, and the call rejects, too.
   */
  readonly beforeAnswer?: ((inbound: Inbound) => Promise<void>) | undefined
  /** The texts that the sink was given. Default: English. */
  readonly texts?: Partial<Texts> | undefined
}

/**
 * Passes a person's press or text on as an answer to what the agent asked, and aborts on the Stop button. Resolves with
 * false for anything else, such as another prompt, a command, a press of the host's own button, or words of a person's own
 * that come when the ask is answered already. The host must check first who may use it. A person
 * whose answer failed gets a notice. Only a Stop rejects, with `not-stopped`, if the server was not seen to stop; the
 * sink shows that, too.
 */
export function answerWith(options: AnswerOptions): (inbound: Inbound) => Promise<boolean> {
  const { client, running } = options
  const texts = { ...defaultTexts, ...options.texts }
  return async (inbound) => {
    if (inbound.type === 'stop') {
      const session = options.session?.(inbound)
      const known = running(inbound).map(({ stream }) => stream)
      const targets = known.length > 0 || session === undefined ? known : [session]
      const stops = await Promise.allSettled(targets.map((target) => client.abort(target)))
      const failed = stops.find((stop) => stop.status === 'rejected')
      if (failed) throw failed.reason
      return targets.length > 0
    }
    if (inbound.type === 'press' && inbound.isForeign) return false
    const input = inputOf(inbound)
    const found = await Promise.all(running(inbound).map(({ sink }) => sink.find(input, inbound.actor)))
    const taken = pick(found.flat(), texts)
    if (taken?.type === 'form' && inbound.type === 'press') {
      await inbound.open?.(taken.form)
      return true
    }
    if (taken) {
      const result = await settle(taken, inbound)
      if (result.isConversation) return false
      // The asking message shows a typed answer. Errors, and presses that are not shown as messages, need a reply.
      const isUnseen = inbound.type === 'press' && !inbound.isMessage
      if (isUnseen || result.isError) await inbound.answer(result.text)
      return true
    }
    if (inbound.type === 'text') return false
    // After a restart, the ask's reply may only not be known yet.
    await inbound.answer(texts.notWaiting)
    return true
  }

  async function settle(
    taken: AskResult,
    inbound: Inbound,
  ): Promise<{ readonly text?: string; readonly isError?: true; readonly isConversation?: true }> {
    if (taken.type === 'conversation') return { isConversation: true }
    if (taken.type === 'error') return { text: taken.error, isError: true }
    if (taken.type === 'more' || taken.type === 'form') return {}
    try {
      await options.beforeAnswer?.(inbound)
    } catch (error) {
      taken.undo()
      throw error
    }
    try {
      if (taken.type === 'reject') {
        await client.reject(taken.ask, taken.message)
        return { text: texts.refused(undefined) }
      }
      await client.answer(taken.ask, taken.answer)
      const { answer } = taken
      return { text: texts.answered(typeof answer === 'string' ? answer : answer.flat().join(', '), undefined) }
    } catch (error) {
      taken.undo()
      if (isResolved(error) && taken.mayBeConversation) return { isConversation: true }
      return { text: reasonOf(error), isError: true }
    }
  }

  function isResolved(error: unknown): boolean {
    return error instanceof Error && 'type' in error && error.type === 'already-resolved'
  }

  /** For an ask that was resolved elsewhere first, the sink's own texts, which people understand. */
  function reasonOf(error: unknown): string {
    if (!(error instanceof Error)) return String(error)
    return isResolved(error) ? texts.alreadyResolved : error.message
  }
}

function inputOf(inbound: Exclude<Inbound, { type: 'stop' }>): AskInput {
  const { chat } = inbound
  if (inbound.type === 'press')
    return { token: inbound.token, messageRef: inbound.messageRef, values: inbound.values, chat }
  const { text, messageRef, replyTo, isForwarded, isCommand } = inbound
  return { text, chat, messageRef, replyTo, isForwarded, isCommand }
}
