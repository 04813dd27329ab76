import type { PermissionAsk, PermissionReply, QuestionAsk } from './ask.ts'
import type { Part, ReplyFailure } from './part.ts'
import type { LostReason, Message, Model, Todo } from './reply.ts'

interface EventFields {
  /** When it was received, ms since the epoch. The only clock that `track` and `reduce` know. */
  readonly at: number
  /** The event as the source sent it. Absent for what did not come over the wire. */
  readonly raw?: unknown
}

interface SessionFields extends EventFields {
  readonly sessionID: string
  /** The directory that the frame came from; of a `session` event and a snapshot the session's own. Absent where none is told. */
  readonly directory?: string | undefined
}

/** A message as the wire tells of it: without its parts, and with its role. */
export interface MessageHead extends Omit<Message, 'parts'> {
  readonly role: 'user' | 'assistant'
  /** A compaction's summary: not part of the answer. */
  readonly summary: boolean
  readonly agent?: string | undefined
  readonly model?: Model | undefined
}

/** What is known of a session. A `parentID` that is absent says: a root. */
export interface SessionEvent extends SessionFields {
  readonly type: 'session'
  readonly parentID?: string | undefined
  readonly title?: string | undefined
  readonly createdAt?: number | undefined
  /** The session is reverted to before this message; the next prompt removes what comes after. */
  readonly revertedTo?: string | undefined
}

export interface MessageEvent extends SessionFields {
  readonly type: 'message'
  readonly message: MessageHead
}

export interface PartEvent extends SessionFields {
  readonly type: 'part'
  readonly part: Part
  /** Read over REST: the ids of all parts of its message, in the server's order. */
  readonly order?: readonly string[] | undefined
}

export interface DeltaEvent extends SessionFields {
  readonly type: 'delta'
  readonly messageID: string
  readonly partID: string
  readonly field: string
  readonly delta: string
}

export interface AskedEvent extends SessionFields {
  readonly type: 'asked'
  readonly ask: QuestionAsk | PermissionAsk
}

export interface AskClosedEvent extends SessionFields {
  readonly type: 'ask-closed'
  readonly requestID: string
  readonly how:
    | { readonly type: 'answered'; readonly answers: readonly (readonly string[])[] }
    | { readonly type: 'permission'; readonly reply: PermissionReply }
    | { readonly type: 'rejected' }
    /** The server no longer knows it. */
    | { readonly type: 'gone' }
}

/** A whole reading of one session over REST. One event, however much it brings. */
export interface SnapshotEvent extends SessionFields {
  readonly type: 'snapshot'
  readonly session: Omit<SessionEvent, 'type' | 'at' | 'raw' | 'sessionID'>
  readonly messages: readonly { readonly head: MessageHead; readonly parts: readonly Part[] }[]
  readonly status: 'busy' | 'idle' | 'retry'
  readonly retry?: {
    readonly attempt?: number | undefined
    readonly message: string
    readonly nextAt?: number | undefined
  }
  readonly asks: readonly (QuestionAsk | PermissionAsk)[]
  readonly todos: readonly Todo[]
  readonly children: readonly SnapshotEvent[]
  /** Events may have been missed before it: an open text has a hole until its seal. */
  readonly gap: boolean
  /** The newest that was heard before a gap, in ms since the epoch by the server's clock: unknown prompts after it are news, even in an idle session. */
  readonly since?: number | undefined
  /** When the reading began, in ms since the epoch by our clock: what the stream told since is newer. */
  readonly readAt?: number | undefined
  /** There are older messages, which were not read: how they went does not matter to any run that is known. */
  readonly partial?: true | undefined
  /** Nothing newer has been applied since it was read: what it lacks is no longer there. */
  readonly complete: boolean
}

/**
 * Why the driver ends a reply that the stream did not end:
 * - `rest`: REST was asked and shows the session idle. An unfinished message means `lost`.
 * - `grace`: idle was seen on the wire and REST could not explain the unfinished message. It means `aborted`.
 * - `end`: the recording is over. Idle seen means `aborted`, else `lost`; a prompt for which nothing ran is `completed`.
 * - `none`: nothing will run (a `noReply` prompt).
 * - `time-out`: the caller's time is up.
 * - `lost`: `reason` says why. Without one, the end of the run was not seen.
 */
export type SettleReason = 'rest' | 'grace' | 'end' | 'none' | 'time-out' | 'lost'

export interface SettleEvent extends SessionFields {
  readonly type: 'settle'
  readonly by: SettleReason
  /** With `lost`. */
  readonly reason?: LostReason | undefined
  /** With `end`: whether the session's last status was idle. `track` fills it in. */
  readonly idle?: boolean | undefined
}

/** Everything that happens in one session, in one vocabulary for all dialects of the wire. */
export type SessionScopedEvent =
  | SessionEvent
  | MessageEvent
  | PartEvent
  | DeltaEvent
  | AskedEvent
  | AskClosedEvent
  | SnapshotEvent
  | SettleEvent
  /** `by: 'rest'`: REST does not know it. Only what the stream says is for good. */
  | (SessionFields & { readonly type: 'session-removed'; readonly by?: 'rest' | undefined })
  | (SessionFields & { readonly type: 'status'; readonly status: 'busy' | 'idle' })
  | (SessionFields & {
      readonly type: 'retry'
      readonly attempt?: number | undefined
      readonly message: string
      readonly nextAt?: number | undefined
    })
  | (SessionFields & { readonly type: 'error'; readonly error: ReplyFailure })
  | (SessionFields & { readonly type: 'compacted' })
  | (SessionFields & { readonly type: 'message-removed'; readonly messageID: string })
  | (SessionFields & { readonly type: 'part-removed'; readonly messageID: string; readonly partID: string })
  | (SessionFields & { readonly type: 'todos'; readonly todos: readonly Todo[] })
  /** A prompt is about to be posted: the reply exists from here on. */
  | (SessionFields & { readonly type: 'opened'; readonly text?: string | undefined })
  /** The caller wants the run to end: whatever its end looks like on the wire, it is an abort. */
  | (SessionFields & { readonly type: 'abort-requested'; readonly reason: 'requested' | 'timed-out' })
  | (SessionFields & { readonly type: 'stalled'; readonly stalled: boolean })
  | (SessionFields & { readonly type: 'connection'; readonly connection: 'live' | 'lost' })
  | (SessionFields & { readonly type: 'context-limit'; readonly contextLimit: number })
  /** A descendant begins to work: it becomes a child of this session's reply. Made by `track`. */
  | (SessionFields & { readonly type: 'child'; readonly childID: string; readonly title?: string | undefined })

/** Everything that `track` takes: a session's events, and those of the connection itself. */
export type ReplyEvent =
  | SessionScopedEvent
  | (EventFields & { readonly type: 'connected' })
  | (EventFields & { readonly type: 'heartbeat' })
  /** We begin to listen to a server whose newest session is of `from`, by its clock: what older ones hold is no news. */
  | (EventFields & { readonly type: 'listening'; readonly from: number })
  /** The server dropped an instance: what was pending in it is gone. */
  | (EventFields & { readonly type: 'disposed'; readonly directory?: string | undefined })
