import { pause } from '../../clock.ts'
import type { SessionInput } from '../../source/input.ts'
import { wasCutOff, wasNeverSent } from '../never-sent.ts'
import { findPosted } from './find-posted.ts'
import type { RunRequest, RunServer, StoredParts } from './run-server.ts'
import type { PreparedPlace } from './sessions.ts'

/** One post of a prompt. */
interface PromptPost {
  readonly server: RunServer
  readonly request: RunRequest
  readonly place: PreparedPlace
  /** The id of the prompt's message, if the server accepts one. */
  readonly messageID: string | undefined
  /** What the server has stored under that id. Absent unless the prompt is posted again. */
  readonly stored?: StoredParts | undefined
  /** Aborts when the stream has ended. */
  readonly over: AbortSignal
  /** Cancels the call, also if it was sent. Only aborts once the prompt is no longer wanted. */
  readonly canceled?: AbortSignal | undefined
  /** Whether the prompt is no longer wanted. */
  readonly isPointless: () => boolean
}

/**
 * How long a prompt may be prepared or posted again after the first attempt, and the longest pause between attempts, in
 * ms.
 */
const againMs = 60_000
const maxPauseMs = 8000

/**
 * Posts a prompt, and retries for up to a minute until the server has it exactly once. Resolves when the server has
 * responded, and rejects with the error of the last attempt. Retries a post that got no connection. After a connection
 * that was cut off, posts again only if the server doesn't have the prompt's id. Guards a guarded prompt before each
 * attempt. Stops retrying once the prompt is no longer wanted.
 */
export async function postPrompt(options: PromptPost): Promise<void> {
  const { server, request, place, messageID, stored, over, canceled, isPointless } = options
  const { clock, idleCheck } = server
  const startedAt = clock.now()
  for (let pauseMs = 250; ; pauseMs = Math.min(maxPauseMs, pauseMs * 2)) {
    let isPosting = false
    try {
      await guardAgain(options)
      isPosting = true
      return await request.post(place, messageID, stored, canceled)
    } catch (error) {
      const isLate = clock.now() - startedAt >= againMs
      if (isLate || isPointless()) throw error
      if (wasNeverSent(error) || (!isPosting && wasCutOff(error))) await pause(clock, pauseMs, over)
      else if (!wasCutOff(error) || (await mayBeStored(options))) throw error
      if (isPointless()) throw error
      idleCheck.restartWait(place.sessionID)
    }
  }
}

/**
 * Guards the session of a guarded prompt again, because the server may have been restarted with another config, or
 * another client may have changed the session's rules. Rejects with `unguarded` if that fails. Does nothing for any
 * other prompt.
 */
async function guardAgain({ server, request: { input }, place }: PromptPost): Promise<void> {
  if (!input.guarded) return
  const { sessionID, directory } = place
  await server.sessions.guard({ sessionID, directory, agent: input.agent, command: input.command })
}

/**
 * Waits until the server would have stored the prompt, and looks for it. Resolves with false only if the server
 * certainly doesn't have it. True without a look for a command or a note, and if the server can't show the prompt by
 * its id.
 */
async function mayBeStored({ server, request, place, messageID, over }: PromptPost): Promise<boolean> {
  // The server uses its own id for a command until its run has begun.
  const { canRead, keepsPromptIDs = true } = server.info.current()
  if (request.kind !== 'prompt' || messageID === undefined || !canRead || !keepsPromptIDs) return true
  const { sessionID, directory, newestMessageID: after } = place
  const posted = { sessionID, directory, messageID, after, at: server.clock.now() }
  return await findPosted(server, posted, over).then(
    (found) => found !== undefined,
    () => true,
  )
}

/**
 * Prepares a prompt's session and resolves with it. Retries for up to a minute if the call never reached the server or
 * the connection broke during a read, because the server may be restarting. After a failure, resolves with undefined if
 * the prompt is no longer wanted. Rejects with any other error, the last one, or that of a connection that doesn't come
 * up.
 */
export async function prepareWithRetries(
  server: RunServer,
  input: SessionInput,
  over: AbortSignal,
  isPointless: () => boolean,
): Promise<PreparedPlace | undefined> {
  const { clock, sessions, readiness } = server
  const startedAt = clock.now()
  for (let pauseMs = 250; ; pauseMs = Math.min(maxPauseMs, pauseMs * 2)) {
    try {
      return await sessions.prepare(input)
    } catch (error) {
      // The call whose connection broke may have created a session.
      const isTransient = wasNeverSent(error) || (input.sessionID !== undefined && wasCutOff(error))
      if (!isTransient || clock.now() - startedAt >= againMs) throw error
      if (!isPointless()) await pause(clock, pauseMs, over)
      if (isPointless()) return undefined
      await readiness.whenLive()
    }
  }
}
