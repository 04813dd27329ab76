import type { LocalAnswer, LocalAsk } from '@reply/core/source'
import { questionsIn } from './decode/offers.ts'
import type { ClaudeSaid, Input } from './said.ts'
import { toolName } from './tools.ts'

type Asked = Extract<ClaudeSaid, { readonly type: 'ask' }>

/** What goes back to Claude Code: `PermissionResult` of its SDK. */
type Decision =
  | { readonly behavior: 'allow'; readonly updatedInput: Input; readonly updatedPermissions?: readonly Input[] }
  | { readonly behavior: 'deny'; readonly message: string; readonly interrupt?: true }

/** The ask that a request for a permission is. The tool AskUserQuestion asks by it, too. */
export function toAsk(asked: Asked, send: (decision: Decision) => Promise<void>): LocalAsk {
  const { requestID, callID, tool, input, rules } = asked
  const questions = tool === 'AskUserQuestion' ? questionsIn(input) : []
  if (questions.length > 0) {
    const shown = questions.map(({ question, header, options, multiSelect }) => {
      return { question, header, options, multiple: multiSelect, custom: true }
    })
    const reply = async (answer: LocalAnswer): Promise<void> => {
      if (answer.type !== 'answered') return await send(refusal(answer, 'The person did not answer.'))
      // Its tool takes one text for each question, by the question's own text.
      const answers = questions.map(({ question }, at) => [question, (answer.answers[at] ?? []).join(', ')] as const)
      await send({ behavior: 'allow', updatedInput: { ...input, answers: Object.fromEntries(answers) } })
    }
    return { type: 'question', requestID, callID, questions: shown, reply }
  }
  const always = rules.map(({ content }) => content)
  return {
    type: 'permission',
    requestID,
    callID,
    permission: toolName(tool),
    patterns: always,
    always,
    title: toolName(tool),
    metadata: {},
    reply: async (answer) => {
      if (answer.type === 'rejected' || answer.type === 'canceled')
        return await send(refusal(answer, 'The person does not allow this.'))
      // For this session alone: what a person allows in a chat must not change the project's settings.
      const allowed = rules.map(({ suggestion }) => ({ ...suggestion, destination: 'session' }))
      const lasting = answer.type === 'always' ? { updatedPermissions: allowed } : {}
      await send({ behavior: 'allow', updatedInput: input, ...lasting })
    },
  }
}

function refusal(answer: LocalAnswer, otherwise: string): Decision {
  if (answer.type === 'canceled') return { behavior: 'deny', message: 'The run was stopped.', interrupt: true }
  return { behavior: 'deny', message: (answer.type === 'rejected' && answer.message) || otherwise }
}
