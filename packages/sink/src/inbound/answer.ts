import type { Client, ReplyStream } from '@reply/core'
import { type AskResult, takeBestMatch } from '../asks/answering.ts'
import type { AskInput } from '../asks/asks.ts'
import type { Sink } from '../sink.ts'
import { texts as defaultTexts, type Texts } from '../texts.ts'
import type { Inbound } from './inbound.ts'

/** A running reply and the sink that shows it. */
export interface Running {
  /** The sink that shows the reply. */
  readonly sink: Pick<Sink, 'findAsks'>
  /** The reply as `prompt` or `command` returned it. The Stop button aborts it. */
  readonly stream: Pick<ReplyStream, 'abort'>
}

/** Options of `answerWith`. */
export interface AnswerOptions {
  /** The connection that the replies came from. */
  readonly client: Pick<Client, 'answer' | 'reject' | 'abort'>
  /** Returns the running replies of the inbound's chat. Empty if there are none. */
  readonly running: (inbound: Inbound) => readonly Running[]
  /** Returns the chat's session, so that Stop also aborts a run from before a restart. Default: no session is known. */
  readonly session?: ((inbound: Inbound) => string | undefined) | undefined
  /**
   * Awaited before an answer is sent to the server, for example to store that the inbound is an answer. If it rejects,
   * nothing is answered, and the call rejects as well.
   */
  readonly beforeAnswer?: ((inbound: Inbound) => Promise<void>) | undefined
  /** The same texts as the sink's. Default: English. */
  readonly texts?: Partial<Texts> | undefined
}

/**
 * Sends a person's press or text to the server as the answer to an ask, and aborts the runs on the Stop button. Check
 * first whether the person may use the bot.
 *
 * Resolves with true if it handled the inbound. Resolves with false for anything that you have to handle, for example
 * another prompt, a command, a press of your own button, a Stop while nothing runs, or free text for an ask that was
 * answered in the meantime. If an answer fails, the person gets a notice. The call rejects if `beforeAnswer` does, and for
 * a Stop with `not-stopped` if the server did not confirm the stop.
 */
export function answerWith(options: AnswerOptions): (inbound: Inbound) => Promise<boolean> {
  const { client, running } = options
  const texts = { ...defaultTexts, ...options.texts }
  return async (inbound) => {
    if (inbound.type === 'stop') {
      const session = options.session?.(inbound)
      const streams = running(inbound).map(({ stream }) => stream)
      const targets = streams.length > 0 || session === undefined ? streams : [session]
      const stops = await Promise.allSettled(targets.map((target) => client.abort(target)))
      const failed = stops.find((stop) => stop.status === 'rejected')
      if (failed) throw failed.reason
      return targets.length > 0
    }
    if (inbound.type === 'press' && inbound.isForeign) return false
    const input = askInputOf(inbound)
    const found = await Promise.all(running(inbound).map(({ sink }) => sink.findAsks(input, inbound.actor)))
    const result = takeBestMatch(found.flat(), texts)
    if (result?.type === 'form' && inbound.type === 'press') {
      await inbound.open?.(result.form)
      return true
    }
    if (result) {
      const outcome = await sendAnswerToServer(result, inbound)
      if (outcome.isConversation) return false
      // The asking message shows a typed answer. Errors, and presses that are not shown as messages, need a reply.
      const isUnseen = inbound.type === 'press' && !inbound.isMessage
      if (isUnseen || outcome.isError) await inbound.answer(outcome.text)
      return true
    }
    if (inbound.type === 'text') return false
    // After a restart, the reply of the ask may not have been recovered yet.
    await inbound.answer(texts.notWaiting)
    return true
  }

  /**
   * Sends an answer or a rejection to the server. Resolves with the text for the person, which is absent if another pick or
   * question follows, or with `isConversation` for ordinary conversation. Undoes an answer that failed. Rejects only if
   * `beforeAnswer` does.
   */
  async function sendAnswerToServer(
    result: AskResult,
    inbound: Inbound,
  ): Promise<{ readonly text?: string; readonly isError?: true; readonly isConversation?: true }> {
    if (result.type === 'conversation') return { isConversation: true }
    if (result.type === 'error') return { text: result.error, isError: true }
    if (result.type === 'more' || result.type === 'form') return {}
    try {
      await options.beforeAnswer?.(inbound)
    } catch (error) {
      result.undo()
      throw error
    }
    try {
      if (result.type === 'reject') {
        await client.reject(result.ask, result.message)
        return { text: texts.refused(undefined) }
      }
      await client.answer(result.ask, result.answer)
      const { answer } = result
      return { text: texts.answered(typeof answer === 'string' ? answer : answer.flat().join(', '), undefined) }
    } catch (error) {
      result.undo()
      if (isResolved(error) && result.mayBeConversation) return { isConversation: true }
      return { text: errorText(error), isError: true }
    }
  }

  /** Whether the call failed because the ask was answered elsewhere. */
  function isResolved(error: unknown): boolean {
    return error instanceof Error && 'type' in error && error.type === 'already-resolved'
  }

  /**
   * Returns the error's message. An ask that was already resolved elsewhere gets the sink's text instead of the
   * server's.
   */
  function errorText(error: unknown): string {
    if (!(error instanceof Error)) return String(error)
    return isResolved(error) ? texts.alreadyResolved : error.message
  }
}

/** Returns a text or a press as input for an ask, in the inbound's chat. */
function askInputOf(inbound: Exclude<Inbound, { type: 'stop' }>): AskInput {
  const { chat } = inbound
  if (inbound.type === 'press')
    return { token: inbound.token, messageRef: inbound.messageRef, values: inbound.values, chat }
  const { text, messageRef, replyTo, isForwarded, isCommand } = inbound
  return { text, chat, messageRef, replyTo, isForwarded, isCommand }
}
