import type { PermissionAsk, PermissionReply, QuestionAsk } from './ask.ts'
import type { Part, ReplyFailure } from './part.ts'
import type { LostReason, Message, Model, Todo } from './reply.ts'

interface EventFields {
  /** When it was received, ms since the epoch. The only clock that `track` and `reduce` use. */
  readonly at: number
  /** The event as the source sent it. Absent if it didn't come over the wire. */
  readonly raw?: unknown
}

interface SessionFields extends EventFields {
  readonly sessionID: string
  /**
   * The directory that the frame came from; for a `session` event or snapshot, the session's own. Absent if the source
   * names none.
   */
  readonly directory?: string | undefined
}

/** A message as sent on the wire: without its parts, with its role. */
export interface MessageHead extends Omit<Message, 'parts'> {
  readonly role: 'user' | 'assistant'
  /** Whether it is the summary of a compaction, which is not part of the answer. */
  readonly summary: boolean
  readonly agent?: string | undefined
  readonly model?: Model | undefined
}

/** What is known of a session. An absent `parentID` means a root. */
export interface SessionEvent extends SessionFields {
  readonly type: 'session'
  readonly parentID?: string | undefined
  readonly title?: string | undefined
  readonly createdAt?: number | undefined
  /** The session is reverted to before this message; the next prompt removes the messages after it. */
  readonly revertedTo?: string | undefined
}

export interface MessageEvent extends SessionFields {
  readonly type: 'message'
  readonly message: MessageHead
}

export interface PartEvent extends SessionFields {
  readonly type: 'part'
  readonly part: Part
  /** Set if read over REST: the ids of all parts of its message, in the server's order. */
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

/** A complete read of one session over REST: a single event, however much it contains. */
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
  /** Whether events before it may have been missed; then an open text has a hole until it is sealed. */
  readonly gap: boolean
  /**
   * The newest time received before a gap, in ms since the epoch by the server's clock: unknown prompts after it are
   * news, even in an idle session.
   */
  readonly since?: number | undefined
  /** When the reading began, in ms since the epoch by our clock: later stream events are newer than the snapshot. */
  readonly readAt?: number | undefined
  /** Set if older messages were not read: they don't affect any known run. */
  readonly partial?: true | undefined
  /** Nothing newer was applied since it was read: what it lacks no longer exists. */
  readonly complete: boolean
}

/**
 * Why the driver ends a reply that the stream did not end:
 * - `rest`: REST shows the session idle. With an unfinished message the outcome is `lost`.
 * - `grace`: idle was seen on the wire and REST could not explain the unfinished message. The outcome is `aborted`.
 * - `end`: the recording is over. If idle was seen the outcome is `aborted`, else `lost`; a prompt for which nothing
 * ran is `completed`.
 * - `none`: nothing will run (a `noReply` prompt).
 * - `time-out`: the caller's time is up.
 * - `lost`: `reason` says why. Without a reason, the end of the run was not seen.
 */
export type SettleReason = 'rest' | 'grace' | 'end' | 'none' | 'time-out' | 'lost'

export interface SettleEvent extends SessionFields {
  readonly type: 'settle'
  readonly by: SettleReason
  /** Set with `lost`. */
  readonly reason?: LostReason | undefined
  /** Set with `end`: whether the session's last status was idle. `track` fills it in. */
  readonly idle?: boolean | undefined
}

/** Everything that happens in one session, in one vocabulary for all wire dialects. */
export type SessionScopedEvent =
  | SessionEvent
  | MessageEvent
  | PartEvent
  | DeltaEvent
  | AskedEvent
  | AskClosedEvent
  | SnapshotEvent
  | SettleEvent
  /** `by: 'rest'`: REST doesn't know the session. Only a removal on the stream is final. */
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
  /** The caller wants the run to end: however its end looks on the wire, it counts as an abort. */
  | (SessionFields & { readonly type: 'abort-requested'; readonly reason: 'requested' | 'timed-out' })
  | (SessionFields & { readonly type: 'stalled'; readonly stalled: boolean })
  | (SessionFields & { readonly type: 'connection'; readonly connection: 'live' | 'lost' })
  | (SessionFields & { readonly type: 'context-limit'; readonly contextLimit: number })
  /** A descendant starts to work and becomes a child of this session's reply. Created by `track`. */
  | (SessionFields & { readonly type: 'child'; readonly childID: string; readonly title?: string | undefined })

/** Everything that `track` accepts: session events and those of the connection itself. */
export type ReplyEvent =
  | SessionScopedEvent
  | (EventFields & { readonly type: 'connected' })
  | (EventFields & { readonly type: 'heartbeat' })
  /** Listening to a server begins; `from` is the time of its newest session by its clock. Older content is not news. */
  | (EventFields & { readonly type: 'listening'; readonly from: number })
  /** The server disposed an instance: what was pending in it is gone. */
  | (EventFields & { readonly type: 'disposed'; readonly directory?: string | undefined })
