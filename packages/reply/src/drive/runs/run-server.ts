import type { SessionRef } from '../../session-ref.ts'
import type { CommandInput, PromptDelivery, SessionInput } from '../../source/input.ts'
import type { FollowedSessions } from '../connection/following.ts'
import type { Readiness } from '../connection/readiness.ts'
import type { Drive } from '../drive.ts'
import type { Inbox } from '../inbox.ts'
import type { LiveReply } from '../replies.ts'
import type { Aborting } from '../stop/abort.ts'
import type { Stopping } from '../stop/stopping.ts'
import type { IdleCheck } from './idle-check.ts'
import type { Sessions } from './sessions.ts'
import type { StallTimer } from './stall-timer.ts'

/** The parts of a client that runs use. */
export interface RunServer extends Drive {
  readonly following: Pick<FollowedSessions, 'hold'>
  readonly readiness: Pick<Readiness, 'whenLive' | 'isLive'>
  readonly sessions: Pick<Sessions, 'prepare' | 'guard' | 'refresh' | 'readWrittenText'>
  readonly stopping: Pick<Stopping, 'reopen'>
  readonly aborting: Aborting
  readonly inbox: Pick<Inbox, 'whereIs' | 'withdraw' | 'staysAfterWithdrawal' | 'onLeft'>
  readonly idleCheck: Pick<IdleCheck, 'expectRun' | 'expectNone' | 'restartWait'>
  /** Replies that a guarded prompt of this process began. */
  readonly guardedRuns: WeakSet<LiveReply>
  readonly stallTimer: Pick<StallTimer, 'addTimeout'>
  /** Calls the listener once, when the owner closes the connection. Returns a function that removes it. */
  readonly onClosed: (listener: () => void) => () => void
}

/** The stored content of a prompt that never ran. */
export interface StoredParts {
  /** The id of its text's part. Absent if it has none. */
  readonly textPartID: string | undefined
  readonly hasFiles: boolean
}

/** One prompt, command or note to post. */
export interface RunRequest {
  /**
   * - `prompt`: something runs for it. The call returns once the server has the message.
   * - `command`: the same, but the call may only return when the run has ended.
   * - `note`: nothing runs for it. The message is only stored.
   */
  readonly kind: 'prompt' | 'command' | 'note'
  /** The session to run in, or how to create one. */
  readonly input: SessionInput & Partial<Pick<CommandInput, 'command'>>
  /** The prompt's text, if known. */
  readonly text?: string | undefined
  /** When a busy session begins it. */
  readonly delivery?: PromptDelivery | undefined
  /**
   * Posts it. After a rejection with `unreachable` the server may have taken it, unless the request was never sent.
   * `stored` is what the server already has under that id, which must not be added again. The signal cancels the call.
   */
  readonly post: (
    place: SessionRef,
    messageID: string | undefined,
    stored?: StoredParts,
    signal?: AbortSignal,
  ) => Promise<void>
}
