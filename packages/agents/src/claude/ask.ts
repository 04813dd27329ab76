import type { LocalAnswer, LocalAsk } from '@reply/core/source'
import { type FormResponse, formQuestions, formResponse } from '../forms/form.ts'
import type { ClaudeEvent, Input } from './decode/event.ts'
import { questionsIn, toolName } from './decode/tools.ts'

/** The answer to Claude Code: `PermissionResult` of its SDK. */
type Decision =
  | { readonly behavior: 'allow'; readonly updatedInput: Input; readonly updatedPermissions?: readonly Input[] }
  | { readonly behavior: 'deny'; readonly message: string; readonly interrupt?: true }

/** The answer to a request of Claude Code. */
export type ClaudeResponse = Decision | FormResponse

type Asked = Extract<ClaudeEvent, { readonly type: 'ask' }>

/**
 * Returns the ask to show for a permission request. AskUserQuestion asks its questions this way too: its ask is a
 * question, or a permission if its input has no questions that can be read. `send` gets the decision. An allowed call runs
 * with `input`, and "always" is limited to the session.
 */
export function toAsk(asked: Asked, input: Input, send: (decision: Decision) => Promise<void>): LocalAsk {
  const { requestID, callID, tool, rules } = asked
  const questions = tool === 'AskUserQuestion' ? questionsIn(input) : []
  if (questions.length > 0) {
    const shown = questions.map(({ question, header, options, multiSelect }) => {
      return { question, header, options, multiple: multiSelect, custom: true }
    })
    const reply = async (answer: LocalAnswer): Promise<void> => {
      if (answer.type !== 'answered') return await send(denialOf(answer, 'The person did not answer.'))
      // The tool takes one text for each question, keyed by the question's text.
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
    metadata: isPlanMissing(tool, input) ? { plan: missingPlan } : {},
    reply: async (answer) => {
      if (answer.type === 'rejected' || answer.type === 'canceled')
        return await send(denialOf(answer, 'The person does not allow this.'))
      // For this session only. A permission given in a chat must not change the project's settings.
      const allowed = rules.map(({ suggestion }) => ({ ...suggestion, destination: 'session' }))
      const permanent = answer.type === 'always' ? { updatedPermissions: allowed } : {}
      await send({ behavior: 'allow', updatedInput: input, ...permanent })
    },
  }
}

/** What a person reads instead of the plan. */
const missingPlan = 'Claude Code wrote no plan. Allowing this only ends plan mode.'

/** Whether Claude Code asks to leave plan mode without a plan. Claude Code itself adds a plan that it wrote to a file. */
function isPlanMissing(tool: string, { plan }: Input): boolean {
  return tool === 'ExitPlanMode' && (typeof plan !== 'string' || plan.trim() === '')
}

/** Returns the decision that denies, with the person's reason or else the default. A canceled ask also interrupts the turn. */
function denialOf(answer: LocalAnswer, otherwise: string): Decision {
  if (answer.type === 'canceled') return { behavior: 'deny', message: 'The run was stopped.', interrupt: true }
  return { behavior: 'deny', message: (answer.type === 'rejected' && answer.message) || otherwise }
}

/**
 * Returns the question to show for a form of an MCP server, or for an address that it wants a person to visit. `callID` is
 * the call that it may come from. `send` gets the response to the server: for an address `accept` if it was answered,
 * `decline` if it was rejected, otherwise `cancel`.
 */
export function formAsk(
  asked: Extract<ClaudeEvent, { readonly type: 'form' }>,
  callID: string | undefined,
  send: (response: ClaudeResponse) => Promise<void>,
): LocalAsk {
  const reply = async (answer: LocalAnswer): Promise<void> => await send(formResponse(answer, asked))
  return { type: 'question', requestID: asked.requestID, callID, questions: formQuestions(asked), reply }
}
