import type { PermissionAsk, PermissionReply, QuestionAsk } from './ask.ts'
import type { Part, ReplyFailure } from './part.ts'
import type { LostReason, Message, Model, SummaryStep, Todo } from './reply.ts'

/** What all events have in common. */
interface EventFields {
  /** When it was received, ms since the epoch. The only clock that `track` and `reduce` use. */
  readonly at: number
  /** The event as the source sent it. Absent if it didn't come over the wire. */
  readonly raw?: unknown
}

/** What all events of a session have in common. */
interface SessionFields extends EventFields {
  /** The session that it happened in, root or sub-agent's: `ses_…`. */
  readonly sessionID: string
  /**
   * The directory that the frame came from; for a `session` event or snapshot, the session's own. Absent if the source
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
  /** Set if the run ends with this step although it calls tools: a person rejected a call. */
  readonly endsRun?: true | undefined
  /** The agent that the message was sent to or written by. Absent if the server doesn't say. */
  readonly agent?: string | undefined
  /** The model that the message was sent to or written by. Absent if the server doesn't say. */
  readonly model?: Model | undefined
}

/** What is known of a session. An absent `parentID` means a root. */
export interface SessionEvent extends SessionFields {
  readonly type: 'session'
  /** The session that started it as a sub-agent. Absent for a root. */
  readonly parentID?: string | undefined
  /** Its title; the server may change it. Absent if the server sent none. */
  readonly title?: string | undefined
  /** In ms since the epoch by the server's clock. */
  readonly createdAt?: number | undefined
  /** The session is reverted to before this message; the next prompt removes the messages after it. */
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
  /** The part's field that grew; known servers send only `text`. */
  readonly field: string
  /** The text to append. */
  readonly delta: string
}

/** The server asks a person. */
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
  /** What the server knows of the session itself. */
  readonly session: Omit<SessionEvent, 'type' | 'at' | 'raw' | 'sessionID'>
  /** Its messages with their parts, in the server's order. */
  readonly messages: readonly { readonly head: MessageHead; readonly parts: readonly Part[] }[]
  /** Whether a run is at work; `retry` while the server waits to call the model again. */
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

/** The driver ends the session's reply. */
export interface SettleEvent extends SessionFields {
  readonly type: 'settle'
  /** Why the driver ends it. */
  readonly by: SettleReason
  /** Set with `lost`. */
  readonly reason?: LostReason | undefined
  /** Set with `end`: whether the session's last status was idle. `track` fills it in. */
  readonly idle?: boolean | undefined
  /** As in `Reply.parkedPromptIDs`. */
  readonly parkedPromptIDs?: readonly string[] | undefined
}

/** What may tell the end of a run. */
interface EndFields {
  /** When it happened, in ms since the epoch by the server's clock. Absent if the source doesn't say. */
  readonly happenedAt?: number | undefined
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
  | (SessionFields & EndFields & { readonly type: 'status'; readonly status: 'busy' | 'idle' })
  | (SessionFields & {
      readonly type: 'retry'
      /** Counts the retries of this call, from 1. Absent if the server doesn't say. */
      readonly attempt?: number | undefined
      /** Why the call failed, in the provider's words. May be empty. */
      readonly message: string
      /** When the server tries again, in ms since the epoch. */
      readonly nextAt?: number | undefined
    })
  | (SessionFields & EndFields & { readonly type: 'error'; readonly error: ReplyFailure })
  /** A compaction is done. `summary`: the call behind it, if no message of the stream tells of it. */
  | (SessionFields & { readonly type: 'compacted'; readonly summary?: SummaryStep | undefined })
  | (SessionFields & { readonly type: 'message-removed'; readonly messageID: string })
  | (SessionFields & { readonly type: 'part-removed'; readonly messageID: string; readonly partID: string })
  /** `isOwn`: the current run wrote them, and none before it. Absent if the source doesn't know. */
  | (SessionFields & { readonly type: 'todos'; readonly todos: readonly Todo[]; readonly isOwn?: true | undefined })
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
  /** Events of a session before the last one are missing, although the connection is up. */
  | (EventFields & { readonly type: 'missed'; readonly inSession: string })
  /** The server disposed an instance: what was pending in it is gone. */
  | (EventFields & { readonly type: 'disposed'; readonly directory?: string | undefined })
