import { randomUUID } from 'node:crypto'
import type { LocalAnswer, LocalAsk, LocalRun } from '@reply/core/source'
import { type FormResponse, formQuestions, formResponse } from '../forms/form.ts'
import { type Call, isFields } from './decode/call.ts'
import { qwenQuestionsIn } from './decode/qwen-questions.ts'
import type { ElicitationRequest } from './decode/schema.ts'
import type { PermissionRequest } from './decode/v2/permission.ts'
import type { SessionStore } from './session-store.ts'

/**
 * Creates the handlers of an agent's permission requests and elicitations. They open an ask in the session's run and
 * resolve with the person's answer. `decided` resolves once it is known which run a session asks in, and is undefined if
 * it is known already.
 */
export function createAsks(
  sessions: SessionStore,
  runOf: (sessionID: string) => LocalRun | undefined,
  decided: (sessionID: string) => Promise<void> | undefined,
) {
  return { permission, elicitation }

  /**
   * Asks in the session's run, once that is known, and returns the answer for the agent. Also writes the request's call to
   * the run, as running. A rejected call is ended there, as is one that the agent sends no updates for. Returns `cancelled`
   * if the session has no run, or one that has ended.
   */
  async function permission(request: PermissionRequest, signal: AbortSignal): Promise<PermissionResponse> {
    const waiting = decided(request.sessionId)
    if (waiting) await waiting
    const run = runOf(request.sessionId)
    if (!run?.isOpen()) return { outcome: { outcome: 'cancelled' } }
    const { call: asked, output } = sessions.callFor(request)
    run.write(output)
    const response = await ask<PermissionResponse>(
      run,
      signal,
      (requestID, reply) => questionAsk(request, requestID, reply) ?? permissionAsk(request, asked, requestID, reply),
    )
    const isRejected = isRejection(response, request)
    const ended = isRejected || request.isOwnCall ? sessions.ended(request, isRejected) : undefined
    if (ended) run.write(ended)
    return response
  }

  /**
   * Asks the fields of a form as questions in the session's run, once that is known, and returns the answer for the agent.
   * Returns `cancel` for other kinds of elicitation, without a session, and if the session has no run, or one that has ended.
   */
  async function elicitation(request: ElicitationRequest, signal: AbortSignal): Promise<FormResponse> {
    const waiting = request.sessionId ? decided(request.sessionId) : undefined
    if (waiting) await waiting
    const run = request.sessionId ? runOf(request.sessionId) : undefined
    // The client only announced support for forms, and only a run can ask people.
    if (!run?.isOpen() || (request.mode && request.mode !== 'form')) return { action: 'cancel' }
    const form = { message: request.message, schema: request.requestedSchema ?? undefined }
    return await ask<FormResponse>(run, signal, (requestID, reply) => ({
      type: 'question',
      requestID,
      callID: request.toolCallId ?? undefined,
      questions: formQuestions(form),
      reply: (answer) => reply(formResponse(answer, form)),
    }))
  }

  /**
   * Opens an ask in the run and resolves with what `make` passes to `reply`. If the agent withdraws its request, closes the
   * ask and rejects with the signal's reason. If it already has, only rejects.
   */
  function ask<Response>(
    run: LocalRun,
    signal: AbortSignal,
    make: (requestID: string, reply: (response: Response) => void) => LocalAsk,
  ): Promise<Response> {
    // Unique across processes.
    const requestID = `ask_${randomUUID()}`
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      signal.addEventListener('abort', () => {
        run.closeAsk(requestID)
        reject(signal.reason)
      })
      run.ask(make(requestID, resolve))
    })
  }
}

/** The protocol's response to a permission request. */
export interface PermissionResponse {
  readonly outcome: { readonly outcome: 'cancelled' } | { readonly outcome: 'selected'; readonly optionId: string }
  /** What Qwen Code's questions are answered with, by the index of the question. */
  readonly answers?: Readonly<Record<string, string>> | undefined
}

/**
 * Converts a permission request that asks Qwen Code's questions. The answers select the option that allows the call.
 * Undefined if it asks none.
 */
function questionAsk(
  { toolCall, options }: PermissionRequest,
  requestID: string,
  reply: (response: PermissionResponse) => void,
): LocalAsk | undefined {
  const asked = qwenQuestionsIn(toolCall)
  if (!asked) return undefined
  const questions = asked.map(({ question, header, multiSelect, options: choices }) => ({
    question,
    header,
    multiple: multiSelect === true,
    custom: true,
    options: choices.map(({ label, description }) => ({ label, description: description ?? '' })),
  }))
  const callID = toolCall.toolCallId
  return { type: 'question', requestID, callID, questions, reply: (answer) => reply(answersTo(answer, options)) }
}

/**
 * Returns the response to a permission that asks questions: the answers by their index, several choices joined with a comma,
 * with the option that allows the call. Any other answer is returned as for a permission.
 */
function answersTo(answer: LocalAnswer, options: PermissionRequest['options']): PermissionResponse {
  if (answer.type !== 'answered') return responseTo(answer, options)
  const answers = answer.answers.map((chosen, at) => [String(at), chosen.join(', ')] as const)
  return { ...responseTo({ type: 'once' }, options), answers: Object.fromEntries(answers) }
}

/**
 * Converts a permission request to an ask. Its title is the request's, else the call's, else the tool's name. Its metadata
 * has the request's arguments that the call has not, and the agent's reason unless that is shown as the call. `reply`
 * receives the response for the agent.
 */
export function permissionAsk(
  request: PermissionRequest,
  call: Call,
  requestID: string,
  reply: (response: PermissionResponse) => void,
): LocalAsk {
  const { toolCall, options, description } = request
  const title = request.title ?? toolCall.title ?? call.title ?? call.tool
  // Fields that the call's own arguments lack, for example the diff of an edit.
  const requested = isFields(toolCall.rawInput) ? toolCall.rawInput : {}
  const callArguments = isFields(call.rawInput) ? call.rawInput : {}
  const lacking = Object.entries(requested).filter(([name, value]) => callArguments[name] !== value)
  const metadata = Object.fromEntries([
    ...lacking,
    ...(description !== undefined && !request.isOwnCall ? [['reason', description] as const] : []),
  ])
  return {
    type: 'permission',
    requestID,
    callID: toolCall.toolCallId,
    permission: call.tool,
    patterns: [],
    always: options.filter(({ kind }) => kind === 'allow_always').map(({ name }) => name),
    title,
    metadata,
    reply: (answer) => reply(responseTo(answer, options)),
  }
}

/**
 * Picks the option for an answer. A permanent rejection is used only if there is no other. If the agent offers no
 * option of the kind, the request is cancelled, which allows nothing.
 */
export function responseTo(answer: LocalAnswer, options: PermissionRequest['options']): PermissionResponse {
  const kinds = kindsFor[answer.type]
  const option = kinds.flatMap((kind) => options.find((one) => one.kind === kind) ?? [])[0]
  return { outcome: option ? { outcome: 'selected', optionId: option.optionId } : { outcome: 'cancelled' } }
}

/** Whether the response selects a reject option. */
export function isRejection({ outcome }: PermissionResponse, { options }: PermissionRequest): boolean {
  if (outcome.outcome !== 'selected') return false
  return options.some(({ optionId, kind }) => optionId === outcome.optionId && kind.startsWith('reject'))
}

const kindsFor: Readonly<Record<LocalAnswer['type'], readonly string[]>> = {
  once: ['allow_once'],
  always: ['allow_always'],
  rejected: ['reject_once', 'reject_always'],
  answered: [],
  canceled: [],
}
