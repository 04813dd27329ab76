import { type Answer, type Ask, checkAnswers, type QuestionAsk, type Reply, ReplyError } from '@reply/core'
import { isUnfinished } from '@reply/core/internal'
import { type Given, givenIn } from './answers/inbound.ts'
import { fieldOf } from './fields.ts'
import { answerIDOf, choicesOf } from './project/asks.ts'
import { callOf } from './project/calls.ts'

/** An answer that fits an ask of the reply. Whether the person may give it is for you to decide. */
export interface UIAnswer {
  /** The ask, from the reply. */
  readonly ask: Ask
  /** The answer for `Client.answer`, or `reject` for `Client.reject`. */
  readonly answer: Answer | 'reject'
  /** A reason for the agent. Only with `reject`, and only for permissions. */
  readonly message?: string | undefined
}

/**
 * Reads the answers in the body of a POST that `useChat` sent. Believes only ids and answers: what would run is looked up in
 * the reply. Empty if the body answers nothing. Throws a `ReplyError`, and then none of the answers should be sent:
 *
 * - `gone`: the reply has no such ask.
 * - `invalid`: the ask has changed since the page showed it, or the answer doesn't fit.
 * - `already-resolved`: all that the body answers is closed.
 */
export function readAnswers(body: unknown, reply: Reply): readonly UIAnswer[] {
  const answers = new Map<string, UIAnswer>()
  let closed: Ask | undefined
  for (const given of givenIn(body)) {
    const ask = askOf(given, reply)
    if (!ask) continue
    if (ask.status !== 'pending') {
      closed = ask
      continue
    }
    if (answers.has(ask.requestID))
      throw new ReplyError('invalid', `The ask ${ask.requestID} is answered twice in one body. Answer it once.`)
    answers.set(ask.requestID, answerTo(ask, given))
  }
  if (closed && answers.size === 0)
    throw new ReplyError(
      'already-resolved',
      `The ask ${closed.requestID} is ${closed.status} already. Load the reply again to see how.`,
    )
  return [...answers.values()]
}

/**
 * The ask that an answer names. Undefined for a tool part that isn't one of questions, or that shows the agent's own end.
 * Throws if there is none, or if it has changed.
 */
function askOf(given: Given, reply: Reply): Ask | undefined {
  if (given.type === 'tool') {
    const asks = reply.asks.filter(
      (each) => each.type === 'question' && each.path.length === 1 && callOf(reply, each)?.part.id === given.toolCallId,
    )
    // A call may ask again once it was answered.
    const ask = asks.find(({ status }) => status === 'pending') ?? asks.at(-1)
    const call = ask && callOf(reply, ask)
    // A call that has ended shows the agent's own end, which only looks like an answer.
    const isWaiting = ask?.status === 'pending' && call !== undefined && isUnfinished(call.part)
    if (isWaiting && !isShown(ask, given.shown)) throw changedError(ask)
    return isWaiting || (ask?.status !== 'pending' && given.answers !== undefined) ? ask : undefined
  }
  const { id } = given
  const requestID = id.slice(0, Math.max(0, id.lastIndexOf('.')))
  const ask = reply.asks.find((each) => each.requestID === requestID)
  if (!ask || (given.type === 'approval' && ask.type !== 'permission'))
    throw new ReplyError('gone', `The reply has no ask with the id ${JSON.stringify(id.slice(0, 80))}.`)
  if (ask.status === 'pending' && answerIDOf(ask) !== id) throw changedError(ask)
  return ask
}

/** Whether the input at a page's tool part has the questions as they are now. A part without one shows nothing else. */
function isShown(ask: Ask, input: unknown): boolean {
  if (ask.type !== 'question' || input === undefined) return true
  return JSON.stringify(fieldOf(input, 'questions')) === JSON.stringify(ask.questions)
}

function changedError({ requestID }: Ask): ReplyError {
  return new ReplyError(
    'invalid',
    `What ${requestID} asks for has changed since it was shown. Load the reply again, look at it, and answer then.`,
  )
}

/** The answer to a pending ask. Throws if it doesn't fit. */
function answerTo(ask: Ask, given: Given): UIAnswer {
  const { answer, message } = decisionOf(given)
  if (answer === 'reject') return ask.type === 'permission' ? { ask, answer, message } : { ask, answer }
  if (ask.type === 'question') return { ask, answer: checkedAnswers(ask, answer) }
  const choices = choicesOf(ask)
  const choice = choices.find((each) => each === answer)
  if (choice) return { ask, answer: choice }
  const title = `The permission ${ask.requestID}`
  throw new ReplyError('invalid', `${title} takes ${choices.join(', ')}, not ${JSON.stringify(answer).slice(0, 80)}.`)
}

/** What a person decided. */
function decisionOf(given: Given): { readonly answer: Answer | 'reject'; readonly message?: string | undefined } {
  if (given.type === 'body') return given
  if (given.type === 'tool') return { answer: given.answers ?? 'reject' }
  if (!given.approved) return { answer: 'reject', message: given.reason }
  return { answer: given.reason === 'always' ? 'always' : 'once' }
}

function checkedAnswers(ask: QuestionAsk, answer: Answer): Answer {
  checkAnswers(ask, answer)
  return answer
}
