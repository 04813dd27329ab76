import { createDispatcher } from '../../dispatch.ts'
import { type OnError, ReplyError } from '../../error.ts'
import type { SessionScopedEvent } from '../../event.ts'
import type { ReplyObserver } from '../../observer.ts'
import type { ReplyFailure } from '../../part.ts'
import { type Reduction, reduce } from '../../reduce/reduce.ts'
import { emptyReply } from '../../reduce/shape.ts'

/**
 * How a prompt without a run ends. `noted`: the message is stored and nothing runs for it. `parked`: it waits until the
 * next prompt. `not-stopped`: it must end, and the server doesn't tell whether something runs for it.
 */
export type StandInEnd =
  | { readonly type: 'aborted' | 'noted' | 'not-stopped' }
  | { readonly type: 'parked'; readonly messageID: string }
  | { readonly type: 'failed'; readonly error: unknown }

/**
 * Returns a settled reply for a prompt that nothing runs for on the server, with its changes from an empty reply. A
 * noted prompt settles as completed, a parked one as aborted, and one that is not stopped as lost. `text` is the prompt's,
 * and `at` the time of its beginning and end.
 */
export function standIn(sessionID: string, text: string | undefined, at: number, end: StandInEnd): Reduction {
  const events: SessionScopedEvent[] = [{ type: 'opened', sessionID, text, at }]
  if (end.type === 'aborted' || end.type === 'parked' || end.type === 'not-stopped')
    events.push({ type: 'abort-requested', sessionID, reason: 'requested', at })
  if (end.type === 'failed') events.push({ type: 'error', sessionID, at, error: toFailure(end.error) })
  else if (end.type === 'not-stopped') events.push({ type: 'settle', sessionID, at, by: 'lost', reason: 'not-stopped' })
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

/** Calls the observers once with a step that doesn't come from an engine. Their errors go to `onError`. */
export function sendToObservers(observers: readonly ReplyObserver[], step: Reduction, onError: OnError): void {
  const dispatcher = createDispatcher({ onError })
  for (const observer of observers) dispatcher.observe(observer)
  dispatcher.dispatch(step)
}

/** Converts an error to a reply's failure. The name is a `ReplyError`'s type, and `UnknownError` for any other error. */
export function toFailure(error: unknown): ReplyFailure {
  if (error instanceof ReplyError) return { name: error.type, message: error.message, raw: undefined }
  return { name: 'UnknownError', message: error instanceof Error ? error.message : String(error), raw: undefined }
}
