import type { ReplyStream } from '../drive/runs/reply-stream.ts'
import type { Aborted } from '../drive/stop/abort.ts'
import { ReplyError } from '../error.ts'
import type { Reply } from '../reply.ts'

/**
 * What to stop: a session id (a sub-agent's ends only its part of the tree), the session of a reply (even if a newer
 * run is going in it), or a stream. A stream's prompt is not posted if its session isn't known yet.
 */
export type StopTarget = string | Pick<Reply, 'sessionID'> | Pick<ReplyStream, 'abort'>

/**
 * Aborts the target and resolves once the stop is confirmed. A stream's `abort` ends its own run. Rejects with
 * `not-stopped` if the stop isn't confirmed, with `gone` if the passed session doesn't exist, and with `invalid` for an
 * empty id.
 */
export async function abortTarget(target: StopTarget, abort: (sessionID: string) => Promise<Aborted>): Promise<void> {
  if (typeof target !== 'string' && 'abort' in target) {
    const { lostReason, sessionID } = await target.abort()
    if (lostReason === 'not-stopped') throw notStoppedError(sessionID)
    return
  }
  const sessionID = typeof target === 'string' ? target : target.sessionID
  if (sessionID === '') throw new ReplyError('invalid', 'The session to stop is "". Pass its id.')
  const aborted = await abort(sessionID)
  if (aborted.type === 'gone') throw aborted.error
  if (aborted.type === 'not-stopped') throw notStoppedError(sessionID, aborted.error)
}

/** Creates a `not-stopped` error for the session. It includes the cause's message if there is one. */
function notStoppedError(sessionID: string, cause?: ReplyError): ReplyError {
  const why = cause ? ` (${cause.message})` : ''
  const message = `Could not confirm that session ${sessionID} stopped${why}. It may still be running. Try again, or stop the server.`
  return new ReplyError('not-stopped', message, { cause })
}
