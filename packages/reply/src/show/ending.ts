import type { ReplyFailure } from '../part.ts'
import type { LostReason, Reply } from '../reply.ts'
import { causeOf, type FailureCause, isShownText, partsOf, toolsOf } from '../select.ts'
import { reasonIn } from './reason.ts'

/** How a reply ended, by its outcome. */
export type Ending =
  | {
      readonly type: 'completed'
      /** The text ends at the model's output limit. */
      readonly isCutOff: boolean
      /** The content of a reply without text. Undefined if it has text or compacted the context. */
      readonly noText: NoText | undefined
    }
  | { readonly type: 'stopped'; readonly why: StopReason }
  | { readonly type: 'aborted' }
  | {
      readonly type: 'failed'
      /** The error's message in one line, or its name if it has none. Undefined without an error. */
      readonly reason: string | undefined
      /** What to do about it: by its cause, or `again` if it may pass. Undefined if unknown. */
      readonly cure: FailureCause | 'again' | undefined
    }
  | {
      readonly type: 'timed-out'
      /** The time from start to end, in ms. Undefined if unknown. */
      readonly afterMs: number | undefined
    }
  | { readonly type: 'lost'; readonly why: LostReason; readonly hasText: boolean }

/** The content of a reply without text. */
export interface NoText {
  /** The number of its own tool calls. */
  readonly tools: number
  /** The number of its sub-agents. */
  readonly agents: number
  /** The model reasoned. */
  readonly thought: boolean
}

/** Why a reply stopped early: a person rejected an ask, or the agent did not go on after its last tool calls. */
export type StopReason = 'permission' | 'question' | 'no-step'

/** How a reply ended. Undefined until it has settled. */
export function endingOf(reply: Reply): Ending | undefined {
  const { outcome, startedAt, settledAt } = reply
  switch (outcome) {
    case undefined:
      return undefined
    case 'completed':
      return { type: outcome, isCutOff: reply.finish === 'length', noText: noTextOf(reply) }
    case 'stopped':
      return { type: outcome, why: reply.asks.findLast(({ status }) => status === 'rejected')?.type ?? 'no-step' }
    case 'aborted':
      return { type: outcome }
    case 'failed':
      return { type: outcome, reason: failureReason(reply.error), cure: cureFor(reply.error) }
    case 'timed-out': {
      const isKnown = startedAt !== undefined && settledAt !== undefined
      return { type: outcome, afterMs: isKnown ? settledAt - startedAt : undefined }
    }
    case 'lost':
      return { type: outcome, why: reply.lostReason ?? 'end-not-seen', hasText: hasText(reply) }
    default:
      return outcome satisfies never
  }
}

/** Why a reply was lost, in a sentence or two. */
export const lossTexts: Readonly<Record<LostReason, string>> = {
  'session-removed': 'The session was deleted.',
  closed: 'The connection was closed. The agent may still be working.',
  unreachable: 'The server cannot be reached. The agent may still be working.',
  'not-stopped': 'The agent could not be stopped. It may still be working. Try again.',
  'end-not-seen': 'The end of the reply never arrived. The server may have been stopped or restarted.',
}

/** Why a reply stopped early, to follow "Stopped: ". */
export const stopTexts: Readonly<Record<StopReason, string>> = {
  permission: 'the permission was rejected',
  question: 'the question was rejected',
  'no-step': 'the agent did not continue after its last tool calls',
}

/**
 * What a reply without text did instead. Undefined if it needs no explanation: it has text, no messages, or ended with
 * a compaction.
 */
function noTextOf(reply: Reply): NoText | undefined {
  if (hasText(reply) || reply.messages.length === 0 || reply.compaction?.state === 'done') return undefined
  const thought = partsOf(reply).some(({ type }) => type === 'reasoning')
  return { tools: toolsOf(reply).length, agents: reply.children.length, thought }
}

/** Whether the reply has a text that people should see. */
function hasText(reply: Reply): boolean {
  return partsOf(reply).some(isShownText)
}

/** The error's message in one line, or its name if that is blank. Undefined without an error. */
function failureReason(error: ReplyFailure | undefined): string | undefined {
  return error && (reasonIn(error.message) || error.name)
}

/**
 * The known cause of the failure, or `again` if the cause is unknown and the server says that a retry could succeed.
 * Otherwise undefined.
 */
function cureFor(error: ReplyFailure | undefined): FailureCause | 'again' | undefined {
  return error && (causeOf(error) ?? (error.retryable ? 'again' : undefined))
}
