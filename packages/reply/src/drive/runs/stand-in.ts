import { createDispatcher } from '../../dispatch.ts'
import { type OnError, ReplyError } from '../../error.ts'
import type { SessionScopedEvent } from '../../event.ts'
import type { ReplyObserver } from '../../observer.ts'
import type { ReplyFailure } from '../../part.ts'
import { type Reduction, reduce } from '../../reduce/reduce.ts'
import { emptyReply } from '../../reduce/shape.ts'

export interface StandInOptions {
  readonly sessionID: string
  readonly text?: string | undefined
  readonly at: number
  /** `noted`: the message is stored and nothing runs for it. `parked`: it waits until the next prompt. */
  readonly end:
    | { readonly type: 'aborted' | 'noted' }
    | { readonly type: 'parked'; readonly messageID: string }
    | { readonly type: 'failed'; readonly error: unknown }
}

/** Builds a settled reply for a prompt that nothing runs for on the server. */
export function standIn({ sessionID, text, at, end }: StandInOptions): Reduction {
  const events: SessionScopedEvent[] = [{ type: 'opened', sessionID, text, at }]
  if (end.type === 'aborted' || end.type === 'parked')
    events.push({ type: 'abort-requested', sessionID, reason: 'requested', at })
  if (end.type === 'failed') events.push({ type: 'error', sessionID, at, error: toFailure(end.error) })
  else {
    const parkedPromptIDs = end.type === 'parked' ? [end.messageID] : undefined
    events.push({ type: 'settle', sessionID, at, by: 'none', parkedPromptIDs })
  }
  let reply = emptyReply(sessionID)
  const changes = events.flatMap((event) => {
    const step = reduce(reply, event)
    reply = step.reply
    return step.changes
  })
  return { reply, changes }
}

/** Dispatches a step that doesn't come from an engine. */
export function reportOnce(observers: readonly ReplyObserver[], step: Reduction, onError: OnError): void {
  const dispatcher = createDispatcher({ onError })
  for (const observer of observers) dispatcher.observe(observer)
  dispatcher.dispatch(step)
}

export function toFailure(error: unknown): ReplyFailure {
  if (error instanceof ReplyError) return { name: error.type, message: error.message, raw: undefined }
  return { name: 'UnknownError', message: error instanceof Error ? error.message : String(error), raw: undefined }
}
