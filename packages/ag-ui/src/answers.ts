import { type Answer, type Ask, checkAnswers, type Reply, ReplyError } from '@reply/core'
import { permissionAnswers, Refusal } from '@reply/core/internal'
import type { ResumeEntry } from './inbound.ts'
import { interruptIdOf, requestIDIn } from './interrupts.ts'

/** An answer to an ask that is as it was when it was shown. */
export interface AgUiAnswer {
  /** The ask as it is now. */
  readonly ask: Ask
  /** `reject`, `once` or `always`, or a list of answers for each question. */
  readonly answer: Answer | 'reject'
  /** Why the person rejected it, for the agent. Absent if they gave no reason. */
  readonly message?: string | undefined
}

/**
 * Why an answer was not given:
 * - `closed`: the ask was answered before, here or elsewhere, or it was withdrawn.
 * - `changed`: the ask is about something else than what the person saw. It is asked again.
 * - `unknown`: the reply never asked this.
 */
export type AgUiUnanswered = 'closed' | 'changed' | 'unknown'

/** What the answers of a request come to. */
export interface ReadAnswers {
  readonly answers: readonly (AgUiAnswer & { readonly interruptId: string })[]
  readonly unanswered: readonly { readonly interruptId: string; readonly why: AgUiUnanswered }[]
}

/**
 * Finds the asks that a request answers. Believes ids and answers only. Throws a `Refusal` if an answer doesn't fit its ask, so
 * that none of them is given.
 */
export function readAnswers(resume: readonly ResumeEntry[], reply: Reply | undefined): ReadAnswers {
  const answers: ReadAnswers['answers'][number][] = []
  const unanswered: ReadAnswers['unanswered'][number][] = []
  for (const entry of new Map(resume.map((each) => [each.interruptId, each])).values()) {
    const { interruptId } = entry
    const requestID = requestIDIn(interruptId)
    if (requestID === undefined)
      throw new Refusal(400, `${JSON.stringify(interruptId)} is not the id of an interrupt of this agent.`)
    const ask = reply?.asks.find((each) => each.requestID === requestID)
    if (!ask) unanswered.push({ interruptId, why: 'unknown' })
    else if (ask.status !== 'pending' || reply?.phase === 'settled') unanswered.push({ interruptId, why: 'closed' })
    else if (interruptIdOf(ask) !== interruptId) unanswered.push({ interruptId, why: 'changed' })
    else answers.push({ interruptId, ask, ...answerOf(ask, entry) })
  }
  return { answers, unanswered }
}

function answerOf(ask: Ask, { status, payload, reason }: ResumeEntry): Pick<AgUiAnswer, 'answer' | 'message'> {
  if (status === 'cancelled' || payload === 'reject') return { answer: 'reject', message: reason }
  if (ask.type === 'question') return { answer: readLists(ask, payload) }
  const offered = permissionAnswers(ask)
  const answer = offered.find((each) => each === payload)
  if (answer !== undefined) return { answer }
  const given = JSON.stringify(payload)?.slice(0, 100) ?? 'nothing'
  throw new Refusal(400, `The answer to "${ask.title}" is ${given}. Give one of ${offered.join(', ')}.`)
}

/** Reads the answers to questions: a list of texts for each. */
function readLists(ask: Extract<Ask, { type: 'question' }>, payload: unknown): Answer {
  const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value)
  const isTexts = (value: unknown): value is readonly string[] =>
    isList(value) && value.every((text) => typeof text === 'string')
  if (!isList(payload) || !payload.every(isTexts))
    throw new Refusal(
      400,
      `The answer to questions is a list with a list of texts for each. Expected ${ask.questions.length} lists.`,
    )
  try {
    return checkAnswers(ask, payload)
  } catch (error) {
    if (error instanceof ReplyError) throw new Refusal(400, error.message)
    throw error
  }
}

/** Why an answer was not given, in a sentence for people. */
export const unansweredTexts: Readonly<Record<AgUiUnanswered, string>> = {
  closed: 'This was answered before, here or elsewhere, or it was withdrawn. Your answer was not sent.',
  changed: 'This changed after it was shown to you. Your answer was not sent. Look at it again.',
  unknown: 'The agent does not ask this. Your answer was not sent.',
}
