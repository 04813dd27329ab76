import type { LocalAnswer, LocalAsk } from '@reply/core/source'
import type { CodexRequest } from './decode/request.ts'

/** Converts a request of Codex to an ask. `send` answers the request. */
export function toAsk(requestID: string, asked: CodexRequest, send: (result: object) => Promise<void>): LocalAsk {
  const { callID } = asked
  if (asked.type === 'question') {
    const questions = asked.questions.map(({ id: _, ...rest }) => ({ ...rest, multiple: false, custom: true }))
    const reply = async (answer: LocalAnswer): Promise<void> => {
      const given = answer.type === 'answered' ? answer.answers : []
      const answers = asked.questions.map(({ id }, at) => [id, { answers: given[at] ?? [] }] as const)
      await send({ answers: Object.fromEntries(answers) })
    }
    return { type: 'question', requestID, callID, questions, reply }
  }
  const { permission, reason, more, always } = asked
  const patterns = always ? [always.pattern] : []
  return {
    type: 'permission',
    requestID,
    callID,
    permission,
    patterns,
    always: patterns,
    title: reason === '' ? permission : reason,
    metadata: more,
    reply: async (answer) => await send({ decision: decisionOf(answer, always?.decision) }),
  }
}

/** `decline` lets the turn continue without the call. `cancel` ends the turn. */
function decisionOf(answer: LocalAnswer, always: unknown): unknown {
  if (answer.type === 'canceled') return 'cancel'
  if (answer.type === 'always') return always ?? 'accept'
  return answer.type === 'once' ? 'accept' : 'decline'
}
