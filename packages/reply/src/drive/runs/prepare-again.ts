import { pause } from '../../clock.ts'
import type { SessionInput } from '../../source/input.ts'
import { wasCutOff, wasNeverSent } from '../never-sent.ts'
import type { RunServer } from './run-server.ts'
import type { PreparedPlace } from './sessions.ts'

export interface PrepareOptions {
  readonly server: Pick<RunServer, 'sessions' | 'clock' | 'liveness'>
  readonly input: SessionInput
  /** Aborts when nothing follows the run any more. */
  readonly over: AbortSignal
  /** Whether the prompt need not be posted any more. */
  readonly isPointless: () => boolean
}

/** How long after the first try a place may be prepared again, in ms, and the longest pause in between. */
const againMs = 60_000
const maxPauseMs = 8000

/**
 * Prepares the place of a prompt again after a call that the server did not get, or a read whose connection broke: a
 * server that restarts is not yet known to be away. Resolves with undefined if the prompt need not be posted any more.
 */
export async function prepareAgain(options: PrepareOptions): Promise<PreparedPlace | undefined> {
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
