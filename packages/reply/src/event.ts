import type { PermissionAsk, PermissionReply, QuestionAsk } from './ask.ts'
import type { FileChange } from './file-change.ts'
import type { Part, ReplyFailure } from './part.ts'
import type { LostReason, Message, Model, SummaryStep, Todo } from './reply.ts'

/** Fields of every event. */
interface EventFields {
  /** When it was received, in ms since the epoch. The only clock that `track` and `reduce` use. */
  readonly at: number
  /** The event as the source sent it. Absent if it didn't come over the wire. */
  readonly raw?: unknown
}

/** Fields of every event of a session. */
interface SessionFields extends EventFields {
  /** The session that it happened in, root or sub-agent's: `ses_…`. */
  readonly sessionID: string
  /**
   * The directory that the frame came from. In a `session` event or snapshot, the session's own. Absent if the source
   * names none.
   */
  readonly directory?: string | undefined
}

/** A message as sent on the wire: without its parts, with its role. */
export interface MessageHead extends Omit<Message, 'parts'> {
  /** Who wrote it. A user message opens a run or joins it. */
  readonly role: 'user' | 'assistant'
  /** Whether it is the summary of a compaction, which is not part of the answer. */
  readonly summary: boolean
  /**
   * Set if the run ends with this step although it calls tools, for example because a person rejected a call. Unneeded if
   * the error of that call says so.
   */
  readonly endsRun?: true | undefined
  /** The agent that the message was sent to or written by. Absent if the server doesn't say. */
  readonly agent?: string | undefined
  /** The model that the message was sent to or written by. Absent if the server doesn't say. */
  readonly model?: Model | undefined
  /** In a user message: the files that its run changed so far. Absent if the server doesn't say. */
  readonly changes?: readonly FileChange[] | undefined
}

/** A session appeared or changed. Without a `parentID` it is a root. */
export interface SessionEvent extends SessionFields {
  readonly type: 'session'
  /** The session that started it as a sub-agent. Absent for a root. */
  readonly parentID?: string | undefined
  /** Its title, which the server may change. Absent if the server sent none. */
  readonly title?: string | undefined
  /** In ms since the epoch by the server's clock. */
  readonly createdAt?: number | undefined
  /** The session is reverted to before this message. The next prompt removes the messages after it. */
  readonly revertedTo?: string | undefined
}

/** A message appeared or changed. */
export interface MessageEvent extends SessionFields {
  readonly type: 'message'
  /** The message as it is now. */
  readonly message: MessageHead
}

/** A part of a message appeared or changed. */
export interface PartEvent extends SessionFields {
  readonly type: 'part'
  /** The whole part as it is now. */
  readonly part: Part
  /** Set if read over REST: the ids of all parts of its message, in the server's order. */
  readonly order?: readonly string[] | undefined
}

/** A text or reasoning part grew. */
export interface DeltaEvent extends SessionFields {
  readonly type: 'delta'
  /** The message of the part. */
  readonly messageID: string
  /** The part that grew. */
  readonly partID: string
  /** The field that grew. Known servers only send `text`. */
  readonly field: string
  /** The text to append. */
  readonly delta: string
}

/** The agent asks a question or requests a permission. */
export interface AskedEvent extends SessionFields {
  readonly type: 'asked'
  /** The ask, pending. */
  readonly ask: QuestionAsk | PermissionAsk
}

/** An ask ended. Its content was in `AskedEvent`. */
export interface AskClosedEvent extends SessionFields {
  readonly type: 'ask-closed'
  /** The id of the ask that ended. */
  readonly requestID: string
  /** How it ended. `answers` holds one list per question, in order. */
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
  /** The session's own data. */
  readonly session: Omit<SessionEvent, 'type' | 'at' | 'raw' | 'sessionID'>
  /** Its messages with their parts, in the server's order. */
  readonly messages: readonly { readonly head: MessageHead; readonly parts: readonly Part[] }[]
  /** `busy` while a run is active, and `retry` while the server waits to call the model again. */
  readonly status: 'busy' | 'idle' | 'retry'
  /** Set with the status `retry`. `nextAt` is the time of the next attempt, in ms since the epoch. */
  readonly retry?: {
    readonly attempt?: number | undefined
    readonly message: string
    readonly nextAt?: number | undefined
  }
  /** The asks that are pending in this session. */
  readonly asks: readonly (QuestionAsk | PermissionAsk)[]
  /** The session's checklist. Empty if it has none. */
  readonly todos: readonly Todo[]
  /** The sub-agents' sessions, read the same way. */
  readonly children: readonly SnapshotEvent[]
  /** Whether events before it may have been missed. If so, an open text has a hole until it is sealed. */
  readonly gap: boolean
  /**
   * Set after a gap: the newest time received before it, in ms since the epoch by the server's clock. Unknown prompts
   * after that time are new, even in an idle session.
   */
  readonly since?: number | undefined
  /** When the reading began, in ms since the epoch by our clock: later stream events are newer than the snapshot. */
  readonly readAt?: number | undefined
  /** Set if older messages were not read: they don't affect any known run. */
  readonly partial?: true | undefined
  /** Whether nothing newer was applied since it was read. If so, anything that it lacks no longer exists. */
  readonly complete: boolean
}

/**
 * Why the driver ends a reply that the stream did not end:
 * - `rest`: REST shows the session idle. With an unfinished message the outcome is `lost`.
 * - `grace`: idle was seen on the wire and REST could not explain the unfinished message. The outcome is `aborted`.
 * - `end`: the recording ends here. The outcome is `aborted` if idle was seen, and `lost` otherwise. A prompt for which
 * nothing ran is `completed`.
 * - `none`: nothing will run (a `noReply` prompt).
 * - `time-out`: the run exceeded the caller's time limit.
 * - `lost`: see `reason`. Without a reason, the end of the run was not seen.
 */
export type SettleReason = 'rest' | 'grace' | 'end' | 'none' | 'time-out' | 'lost'

/** The driver ends the session's reply. */
export interface SettleEvent extends SessionFields {
  readonly type: 'settle'
  /** Why the driver ends it. */
  readonly by: SettleReason
  /** Set with `lost`. */
  readonly reason?: LostReason | undefined
  /** Set with `end`, by `track`: whether the session's last status was idle. */
  readonly idle?: boolean | undefined
  /** As in `Reply.parkedPromptIDs`. */
  readonly parkedPromptIDs?: readonly string[] | undefined
}

/** Fields of events that may end a run. */
interface EndFields {
  /** When it happened, in ms since the epoch by the server's clock. Absent if the source doesn't say. */
  readonly happenedAt?: number | undefined
}

/** An event of one session, in the same form for every kind of server. */
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
  | (SessionFields & EndFields & { readonly type: 'status'; readonly status: 'busy' | 'idle' })
  | (SessionFields & {
      readonly type: 'retry'
      /** The number of this retry, from 1. Absent if the server doesn't report it. */
      readonly attempt?: number | undefined
      /** The provider's error message. May be empty. */
      readonly message: string
      /** When the server tries again, in ms since the epoch. */
      readonly nextAt?: number | undefined
    })
  | (SessionFields & EndFields & { readonly type: 'error'; readonly error: ReplyFailure })
  /**
   * A compaction is done. `summary` is the model's call that wrote it, if no message of the stream contains that call.
   */
  | (SessionFields & { readonly type: 'compacted'; readonly summary?: SummaryStep | undefined })
  | (SessionFields & { readonly type: 'message-removed'; readonly messageID: string })
  | (SessionFields & { readonly type: 'part-removed'; readonly messageID: string; readonly partID: string })
  /** `isOwn` is set if the current run wrote them, not an earlier one. Absent if the source doesn't know. */
  | (SessionFields & { readonly type: 'todos'; readonly todos: readonly Todo[]; readonly isOwn?: true | undefined })
  /**
   * A prompt is about to be posted. The reply exists from now on. `earlierIDs` are messages of earlier runs that were read
   * before, which are not the reply's, whenever they arrive. `promptID` is set if the server has the prompt, which joined
   * an earlier run and was not answered there. It then belongs to this reply.
   */
  | (SessionFields & {
      readonly type: 'opened'
      readonly text?: string | undefined
      readonly earlierIDs?: readonly string[] | undefined
      readonly promptID?: string | undefined
    })
  /** The caller asked to end the run. Its end counts as an abort, whatever the server sends. */
  | (SessionFields & { readonly type: 'abort-requested'; readonly reason: 'requested' | 'timed-out' })
  | (SessionFields & { readonly type: 'stalled'; readonly stalled: boolean })
  | (SessionFields & { readonly type: 'connection'; readonly connection: 'live' | 'lost' })
  | (SessionFields & { readonly type: 'context-limit'; readonly contextLimit: number })
  /** A sub-agent starts and becomes a child of this session's reply. Created by `track`. */
  | (SessionFields & { readonly type: 'child'; readonly childID: string; readonly title?: string | undefined })

/** Any event that `track` accepts: those of sessions and those of the connection itself. */
export type ReplyEvent =
  | SessionScopedEvent
  | (EventFields & { readonly type: 'connected' })
  | (EventFields & { readonly type: 'heartbeat' })
  /**
   * Listening to a server begins. `from` is the time of its newest session, in ms since the epoch by its clock. Older
   * content isn't new.
   */
  | (EventFields & { readonly type: 'listening'; readonly from: number })
  /** Events of a session before the last one are missing, although the connection is up. */
  | (EventFields & { readonly type: 'missed'; readonly inSession: string })
  /** The server disposed an instance. Everything pending in it is gone. */
  | (EventFields & { readonly type: 'disposed'; readonly directory?: string | undefined })
