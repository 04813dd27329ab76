import type { SessionRef } from '../../session-ref.ts'
import type { CommandInput, PromptDelivery, SessionInput } from '../../source/input.ts'
import type { Liveness } from '../connection/liveness.ts'
import type { Drive } from '../drive.ts'
import type { LiveReply } from '../replies.ts'
import type { IdleCheck } from './idle-check.ts'
import type { Inbox } from './inbox.ts'
import type { RunOptions } from './run-options.ts'
import type { Sessions } from './sessions.ts'
import type { StallTimer } from './stall-timer.ts'
import type { Aborting } from './stop/abort.ts'
import type { Stopping } from './stop/stopping.ts'

/** The server, as a run uses it. */
export interface RunServer extends Drive {
  readonly liveness: Pick<Liveness, 'whenLive' | 'isLive'>
  readonly sessions: Pick<Sessions, 'prepare' | 'guard' | 'refresh' | 'textOf'>
  readonly stopping: Pick<Stopping, 'reopen'>
  readonly aborting: Aborting
  readonly inbox: Pick<Inbox, 'find' | 'withdraw' | 'onLeft'>
  readonly idleCheck: Pick<IdleCheck, 'expectRun' | 'expectAgain'>
  /** Replies that a guarded prompt of this process began. */
  readonly guardedRuns: WeakSet<LiveReply>
  readonly stallTimer: Pick<StallTimer, 'limit'>
  /** Calls the listener once, when the owner closes the connection. Returns a function that removes it. */
  readonly onClosed: (listener: () => void) => () => void
}

/** What to post where, and how its stream behaves. */
export interface StartRunOptions extends RunOptions {
  readonly server: RunServer
  readonly request: RunRequest
}

/** What the server has of a prompt that never ran. */
export interface StoredParts {
  /** The id of its text's part. Absent if it has none. */
  readonly textPartID: string | undefined
  readonly hasFiles: boolean
}

/** What a run posts. */
export interface RunRequest {
  /**
   * - `prompt`: something runs for it. The call answers once the server has the message.
   * - `command`: the same, but the call may answer only when the run is over.
   * - `note`: nothing runs for it, the message is only stored.
   */
  readonly kind: 'prompt' | 'command' | 'note'
  /** The session to run in, or how to create one. */
  readonly input: SessionInput & Partial<Pick<CommandInput, 'command'>>
  /** What the person said, if known. */
  readonly text?: string | undefined
  /** When a busy session begins it. */
  readonly delivery?: PromptDelivery | undefined
  /**
   * Posts. A rejection of type `unreachable` leaves open whether the server took it, unless it was never sent. `stored` is
   * what the server has under that id, which is not added once more.
   */
  readonly post: (place: SessionRef, messageID: string | undefined, stored?: StoredParts) => Promise<void>
}
