import type { LocalAnswer, LocalAsk } from '@reply/core/source'
import { type Call, isFields } from './decode/call.ts'
import type { PermissionRequest } from './decode/schema.ts'

/** What the agent is answered, as the protocol has it. */
export interface PermissionResponse {
  readonly outcome: { readonly outcome: 'cancelled' } | { readonly outcome: 'selected'; readonly optionId: string }
}

/** What a permission request asks. `reply` receives the answer for the agent. */
export function permissionAsk(
  request: PermissionRequest,
  call: Call,
  requestID: string,
  reply: (response: PermissionResponse) => void,
): LocalAsk {
  const { toolCall, options } = request
  const title = toolCall.title ?? call.title ?? call.tool
  // What the request tells beyond the call's own arguments, such as the diff of an edit.
  const told = isFields(toolCall.rawInput) ? toolCall.rawInput : {}
  const own = isFields(call.rawInput) ? call.rawInput : {}
  const metadata = Object.fromEntries(Object.entries(told).filter(([name, value]) => own[name] !== value))
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
 * An answer as the option of its kind. A rejection for good is taken only if there is no other. If the agent offers
 * nothing of the kind, the request is cancelled, which allows nothing.
 */
export function responseTo(answer: LocalAnswer, options: PermissionRequest['options']): PermissionResponse {
  const kinds = kindsFor[answer.type]
  const option = kinds.flatMap((kind) => options.find((one) => one.kind === kind) ?? [])[0]
  return { outcome: option ? { outcome: 'selected', optionId: option.optionId } : { outcome: 'cancelled' } }
}

/** Whether a person said no. */
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
