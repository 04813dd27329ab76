import { pause } from '../../clock.ts'
import type { SessionInput } from '../../source/input.ts'
import { wasCutOff, wasNeverSent } from '../never-sent.ts'
import { findPosted } from './find-posted.ts'
import type { RunRequest, RunServer, StoredParts } from './run-server.ts'
import type { PreparedPlace } from './sessions.ts'

interface PostOptions {
  readonly server: RunServer
  readonly request: RunRequest
  readonly place: PreparedPlace
  /** The id of the prompt's message, if the server accepts one. */
  readonly messageID: string | undefined
  /** What the server has under that id. Absent unless the prompt is posted again. */
  readonly stored?: StoredParts | undefined
  /** Aborts when nothing follows the run any more. */
  readonly over: AbortSignal
  /** Whether the prompt need not be posted any more. */
  readonly isPointless: () => boolean
}

/** How long after the first try a prompt may be prepared or posted again, in ms, and the longest pause in between. */
const againMs = 60_000
const maxPauseMs = 8000

/**
 * Posts so that the server takes it once, and a guarded prompt only where the agent asks at that moment. A post that got
 * no connection is tried again. One whose connection was cut off is looked for by its id first, as after a restart of this
 * process, and posted again only if the server doesn't have it. Rejects with the error of the last try.
 */
export async function postPrompt(options: PostOptions): Promise<void> {
  const { server, request, place, messageID, stored, over, isPointless } = options
  const { clock, idleCheck } = server
  const startedAt = clock.now()
  for (let pauseMs = 250; ; pauseMs = Math.min(maxPauseMs, pauseMs * 2)) {
    let isSafe = false
    try {
      await guardAgain(options)
      isSafe = true
      return await request.post(place, messageID, stored)
    } catch (error) {
      const isLate = clock.now() - startedAt >= againMs
      if (isLate || isPointless()) throw error
      if (wasNeverSent(error) || (!isSafe && wasCutOff(error))) await pause(clock, pauseMs, over)
      else if (!wasCutOff(error) || (await mayBeStored(options))) throw error
      if (isPointless()) throw error
      idleCheck.expectAgain(place.sessionID)
    }
  }
}

/** The server may have been restarted with another config since, or another client changed the session's rules. */
async function guardAgain({ server, request: { input }, place }: PostOptions): Promise<void> {
  if (!input.guarded) return
  const { sessionID, directory } = place
  await server.sessions.guard({ sessionID, directory, agent: input.agent, command: input.command })
}

/** False only if the server says that it doesn't have the prompt, after the time in which it would have stored it. */
async function mayBeStored({ server, request, place, messageID, over }: PostOptions): Promise<boolean> {
  // The server knows a command by an id of its own until its run has begun.
  if (request.kind !== 'prompt' || messageID === undefined || !server.info.current().canRead) return true
  const { sessionID, directory, newestMessageID: after } = place
  const posted = { sessionID, directory, messageID, after, at: server.clock.now() }
  return await findPosted(server, posted, over).then(
    (found) => found !== undefined,
    () => true,
  )
}

/**
 * Prepares the place of a prompt again after a call that the server did not get, or a read whose connection broke: a
 * server that restarts is not yet known to be away. Resolves with undefined if the prompt need not be posted any more.
 */
export async function prepareAgain(
  options: Pick<PostOptions, 'server' | 'over' | 'isPointless'> & { readonly input: SessionInput },
): Promise<PreparedPlace | undefined> {
  const { server, input, over, isPointless } = options
  const { clock, sessions, liveness } = server
  const startedAt = clock.now()
  for (let pauseMs = 250; ; pauseMs = Math.min(maxPauseMs, pauseMs * 2)) {
    try {
      return await sessions.prepare(input)
    } catch (error) {
      // A session may have been created by the call whose connection broke.
      const isPassing = wasNeverSent(error) || (input.sessionID !== undefined && wasCutOff(error))
      if (!isPassing || clock.now() - startedAt >= againMs) throw error
      if (!isPointless()) await pause(clock, pauseMs, over)
      if (isPointless()) return undefined
      await liveness.whenLive()
    }
  }
}
