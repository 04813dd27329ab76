import type { Ask, PermissionAsk, QuestionAsk } from '../ask.ts'
import { ReplyError } from '../error.ts'
import { findReply } from '../reduce/child.ts'
import type { Reply } from '../reply.ts'
import type { Engine } from './engine.ts'
import type { Rest } from './rest.ts'

/** To a question: one list per question, labels or free text. To a permission: `once` or `always`. */
export type Answer = readonly (readonly string[])[] | 'once' | 'always'

export interface Asks {
  answer(ask: Ask, answer: Answer): Promise<void>
  reject(ask: Ask, message?: string): Promise<void>
}

/** Sends people's answers. Each is checked first: the server takes anything. */
export function createAsks({ engine, rest }: { readonly engine: Engine; readonly rest: Rest }): Asks {
  return { answer, reject }

  async function answer(ask: Ask, given: Answer): Promise<void> {
    requirePending(ask)
    const directory = directoryOf(ask)
    if (ask.type === 'question') {
      const answers = checkAnswers(ask, given)
      return await send(ask, () => rest.answerQuestion(ask.requestID, answers, directory))
    }
    if (given !== 'once' && given !== 'always') {
      throw new ReplyError(
        'invalid',
        `A permission takes "once" or "always", not ${JSON.stringify(given)}; use reject() to refuse it.`,
      )
    }
    await send(ask, () => replyPermission(ask, given, undefined))
  }

  async function reject(ask: Ask, message?: string): Promise<void> {
    requirePending(ask)
    if (ask.type === 'permission') return await send(ask, () => replyPermission(ask, 'reject', message))
    await send(ask, () => rest.rejectQuestion(ask.requestID, directoryOf(ask)))
  }

  async function replyPermission(
    ask: PermissionAsk,
    reply: 'once' | 'always' | 'reject',
    message: string | undefined,
  ): Promise<unknown> {
    const directory = directoryOf(ask)
    try {
      return await rest.replyPermission(ask.requestID, reply, { message, directory })
    } catch (error) {
      if (!(error instanceof ReplyError) || error.type !== 'not-opencode') throw error
      return await rest.respondPermission(ask.sessionID, ask.requestID, reply, directory)
    }
  }

  async function send(ask: Ask, post: () => Promise<unknown>): Promise<void> {
    try {
      await post()
    } catch (error) {
      if (error instanceof ReplyError && error.type === 'gone') throw alreadyResolved(ask)
      throw error
    }
  }

  /** What we know of it by now counts, not what the caller holds. */
  function requirePending(ask: Ask): void {
    const known = rootOf(ask)?.asks.find((other) => other.requestID === ask.requestID) ?? ask
    if (known.status !== 'pending') throw alreadyResolved(known)
  }

  /** The reply that has it: an ask that was taken from a sub-agent's own reply does not name the root. */
  function rootOf(ask: Ask): Reply | undefined {
    const has = (reply: Reply): boolean => reply.asks.some((other) => other.requestID === ask.requestID)
    return engine.openReplies().find(has) ?? engine.replies.newest(ask.path[0] ?? ask.sessionID)?.reply()
  }

  function directoryOf(ask: Ask): string | undefined {
    const root = rootOf(ask)
    return root && (findReply(root, ask.sessionID)?.directory ?? root.directory)
  }
}

function alreadyResolved(ask: Ask): ReplyError {
  const how = ask.status === 'pending' ? 'answered, rejected or withdrawn' : ask.status
  return new ReplyError(
    'already-resolved',
    `The ${ask.type} ${ask.requestID} is already resolved (${how}); there is nothing left to answer.`,
  )
}

/** The answers as the server takes them. Throws `invalid` with what is wrong and what would be right. */
export function checkAnswers(ask: QuestionAsk, given: Answer): string[][] {
  const { questions } = ask
  if (typeof given === 'string' || given.length !== questions.length) {
    const count = typeof given === 'string' ? JSON.stringify(given) : `${given.length} lists`
    throw new ReplyError(
      'invalid',
      `The question needs ${questions.length} lists of answers, one for each question, not ${count}.`,
    )
  }
  return questions.map((question, index) => {
    const answers = [...(given[index] ?? [])]
    const labels = question.options.map((option) => option.label)
    const choices = labels.map((label) => JSON.stringify(label)).join(', ')
    const named = JSON.stringify(question.header || question.question)
    if (answers.length === 0 || answers.some((answer) => answer.trim() === '')) {
      throw new ReplyError(
        'invalid',
        `The answer to ${named} is empty; give ${choices === '' ? 'some words' : `one of ${choices}`}.`,
      )
    }
    if (answers.length > 1 && !question.multiple) {
      throw new ReplyError(
        'invalid',
        `${named} takes one answer, not ${answers.length}: ${answers.map((answer) => JSON.stringify(answer)).join(', ')}.`,
      )
    }
    const strange = question.custom ? undefined : answers.find((answer) => !labels.includes(answer))
    if (strange !== undefined) {
      throw new ReplyError('invalid', `${JSON.stringify(strange)} is no option of ${named}; give one of ${choices}.`)
    }
    return answers
  })
}
