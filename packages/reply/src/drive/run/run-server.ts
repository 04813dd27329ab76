import type { OnError } from '../../error.ts'
import type { Place } from '../../place.ts'
import type { Clock } from '../clock.ts'
import type { Engine } from '../store/engine.ts'
import type { AbortRequest } from './abort.ts'
import type { Limit } from './stall-timer.ts'

/** The server, as a run uses it. */
export interface RunServer {
  readonly engine: Engine
  readonly clock: Clock
  readonly onError: OnError
  /**
   * Resolves once the stream is up and no abort of the session is running; from then on the session's asks can be
   * answered again. Rejects if the stream doesn't come up in time.
   */
  whenReady(sessionID: string | undefined): Promise<void>
  /** An id for the prompt's message; undefined if the server must make it. */
  nextMessageID(): string | undefined
  /** Reads the session over REST and applies the result. Never rejects. */
  refresh(place: Place): Promise<void>
  /** The text of a user message; undefined if it can't be read, empty if it isn't stored yet. */
  textOf(place: Place, messageID: string): Promise<string | undefined>
  /** Records that the session has a posted prompt that must run: if nothing runs, that is a failure. */
  expectRun(sessionID: string): void
  /** Ends the session's run on the server. */
  abort(sessionID: string, request?: AbortRequest): Promise<unknown>
  /** Limits how long the session's open reply may go without progress. */
  limitStall(sessionID: string, limit: Limit): void
  /** Calls the listener once, when the owner closes the connection. Returns a function that removes it. */
  onClosed(listener: () => void): () => void
}

/** What a run posts. */
export interface RunRequest {
  /**
   * - `prompt`: something runs for it. The call answers once the server has the message.
   * - `command`: the same, but the call answers only when the run is over.
   * - `note`: nothing runs for it, the message is only stored.
   */
  readonly kind: 'prompt' | 'command' | 'note'
  /** Absent for a new session. */
  readonly sessionID?: string | undefined
  /** What the person said, if known. */
  readonly text?: string | undefined
  /** Finds or creates the session and reads its current state. */
  readonly prepare: () => Promise<Place>
  /** Posts, exactly once. A rejection of type `unreachable` leaves open whether the server took it. */
  readonly post: (place: Place, messageID: string | undefined) => Promise<unknown>
}
