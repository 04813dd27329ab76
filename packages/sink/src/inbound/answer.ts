import type { OpenCode, ReplyStream } from '@reply/core'
import type { AskInput } from '../asks.ts'
import type { Sink } from '../sink.ts'
import { pick, type TakenAsk } from '../take.ts'
import { words as defaultWords, type Words } from '../words.ts'
import type { Inbound } from './inbound.ts'

/** A reply that runs, and where it is shown. */
export interface Running {
  readonly sink: Pick<Sink, 'find'>
  readonly stream: Pick<ReplyStream, 'abort'>
}

export interface AnswerOptions {
  readonly opencode: Pick<OpenCode, 'answer' | 'reject' | 'abort'>
  /** What runs in the chat that the inbound is from; each is asked in turn. */
  readonly running: (inbound: Inbound) => readonly Running[]
  /** The session of the chat, if it has one: Stop also ends what this program started before it was restarted. Default: unknown. */
  readonly session?: ((inbound: Inbound) => string | undefined) | undefined
  /** The words that the sink was given. Default: English. */
  readonly words?: Partial<Words> | undefined
}

/**
 * Answers what the agent asked with what a person pressed or typed, and aborts at the Stop button. It resolves with false for
 * anything else, such as another prompt or a command. The host decides before who may answer. The person is told of an
 * answer that failed. Only a Stop rejects: with `not-stopped` when the server was not seen to stop, which the sink shows too.
 */
export function answerWith(options: AnswerOptions): (inbound: Inbound) => Promise<boolean> {
  const { opencode, running } = options
  const words = { ...defaultWords, ...options.words }
  return async (inbound) => {
    if (inbound.type === 'stop') {
      const session = options.session?.(inbound)
      const known = running(inbound).map(({ stream }) => stream)
      const targets = known.length > 0 || session === undefined ? known : [session]
      const stops = await Promise.allSettled(targets.map((target) => opencode.abort(target)))
      const failed = stops.find((stop) => stop.status === 'rejected')
      if (failed) throw failed.reason
      return targets.length > 0
    }
    const input = inputOf(inbound)
    const found = await Promise.all(running(inbound).map(({ sink }) => sink.find(input, inbound.actor)))
    const taken = pick(found.flat(), words)
    if (taken?.type === 'form' && inbound.type === 'press') {
      await inbound.open?.(taken.form)
      return true
    }
    if (taken) {
      const told = await settle(taken)
      // What was typed is answered by the asking message; what it was not, by words.
      const isUnseen = inbound.type === 'press' && !inbound.isMessage
      if (isUnseen || told.isError) await inbound.answer(told.text)
      return true
    }
    if (inbound.type === 'text') return false
    await inbound.answer(words.alreadyResolved)
    return true
  }

  async function settle(taken: TakenAsk): Promise<{ readonly text?: string; readonly isError?: true }> {
    if (taken.type === 'error') return { text: taken.error, isError: true }
    if (taken.type === 'more' || taken.type === 'form') return {}
    try {
      if (taken.type === 'reject') {
        await opencode.reject(taken.ask, taken.message)
        return { text: words.refused(undefined) }
      }
      await opencode.answer(taken.ask, taken.answer)
      const { answer } = taken
      return { text: words.answered(typeof answer === 'string' ? answer : answer.flat().join(', '), undefined) }
    } catch (error) {
      taken.undo()
      return { text: reasonOf(error), isError: true }
    }
  }

  /** Somebody was faster: the sink's words for it, which a person understands. */
  function reasonOf(error: unknown): string {
    if (!(error instanceof Error)) return String(error)
    return 'type' in error && error.type === 'already-resolved' ? words.alreadyResolved : error.message
  }
}

function inputOf(inbound: Exclude<Inbound, { type: 'stop' }>): AskInput {
  const { chat } = inbound
  if (inbound.type === 'press') return { token: inbound.token, values: inbound.values, chat }
  const { text, messageRef, replyTo, isForwarded, isCommand } = inbound
  return { text, chat, messageRef, replyTo, isForwarded, isCommand }
}
