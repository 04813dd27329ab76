import { ReplyError } from '../../../error.ts'
import type { Reply } from '../../../reply.ts'
import type { ReplyStream } from '../reply-stream.ts'

/**
 * What to stop: a session by its id (for a sub-agent: only its part of the tree), the session of a reply (which also
 * ends a newer run in it), or a stream, even one whose session isn't known yet: then its prompt is not posted.
 */
export type StopTarget = string | Pick<Reply, 'sessionID'> | Pick<ReplyStream, 'abort'>

/** The outcome of an abort. `error` is what prevented the server from being stopped. */
export type Aborted =
  /** `parked`: the prompts that the session keeps until its next one. Undefined if they could not be listed. */
  | { readonly type: 'stopped'; readonly parked?: readonly string[] | undefined }
  | { readonly type: 'not-stopped'; readonly error?: ReplyError | undefined }
  | { readonly type: 'gone'; readonly error: ReplyError }

/** Aborts the target. Rejects unless it was seen to stop. */
export async function stopTarget(target: StopTarget, abort: (sessionID: string) => Promise<Aborted>): Promise<void> {
  if (typeof target !== 'string' && 'abort' in target) {
    const { lostReason, sessionID } = await target.abort()
    if (lostReason === 'not-stopped') throw notStopped(sessionID)
    return
  }
  const sessionID = typeof target === 'string' ? target : target.sessionID
  if (sessionID === '') throw new ReplyError('invalid', 'The session to stop is ""; give its id.')
  const aborted = await abort(sessionID)
  if (aborted.type === 'gone') throw aborted.error
  if (aborted.type === 'not-stopped') throw notStopped(sessionID, aborted.error)
}

function notStopped(sessionID: string, cause?: ReplyError): ReplyError {
  const why = cause ? ` (${cause.message})` : ''
  const words = `Could not confirm that session ${sessionID} stopped${why}; it may still be running. Try again, or stop the server.`
  return new ReplyError('not-stopped', words, { cause })
}
