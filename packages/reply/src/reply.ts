/** Why a reply ended. Set exactly when `phase` is `settled`. */
export type Outcome = 'completed' | 'stopped' | 'aborted' | 'failed' | 'timed-out' | 'lost'

/** What a reply is doing. The strongest that applies wins: settled, blocked, retrying, working, waiting. */
export type Phase = 'waiting' | 'working' | 'retrying' | 'blocked' | 'settled'

/**
 * One run of an OpenCode session: from the user message that opened it until it settled.
 *
 * A value: it never changes, it survives `JSON.stringify`, and when an event changes nothing the same object comes back.
 * Times are milliseconds since the epoch, taken from the stamps on the events.
 */
export interface Reply {
  readonly sessionID: string
  readonly directory?: string | undefined
  readonly title?: string | undefined
  /** The user messages of this run, in order of arrival. Empty until the server told of one. */
  readonly promptIDs: readonly string[]
  /** What the user asked: the first user message's own words (no synthetic parts) and the names of its files. */
  readonly prompt?: Prompt | undefined
  readonly agent?: string | undefined
  readonly model?: Model | undefined
  readonly phase: Phase
  readonly outcome?: Outcome | undefined
  /** Why the model stopped in the last step, in the provider's words: `stop`, `tool-calls`, `length`, … */
  readonly finish?: string | undefined
  /** The assistant's messages, one per model step, by creation time, then arrival. Compaction summaries are not among them. */
  readonly messages: readonly Message[]
  /** Questions and permissions of this session and of every descendant, in order of arrival, closed ones included. */
  readonly asks: readonly Ask[]
  /** The sub-agents' replies, in order of arrival. */
  readonly children: readonly Child[]
  /** The session's checklist as last written; it outlives the run that wrote it. */
  readonly todos: readonly Todo[]
  /** This session's own tokens and cost; `totalUsage` adds the children's. */
  readonly usage: Usage
  /** Set while the server waits to try the model again. */
  readonly retry?: Retry | undefined
  readonly compaction?: Compaction | undefined
  readonly error?: ReplyFailure | undefined
  readonly connection: 'live' | 'lost'
  /** No progress for the time that the driver allows; the reply may still go on. */
  readonly stalled: boolean
  readonly startedAt?: number | undefined
  readonly settledAt?: number | undefined
}

export interface Prompt {
  readonly text: string
  readonly files: readonly string[]
}

export interface Model {
  readonly providerID: string
  readonly modelID: string
}

export interface Retry {
  readonly attempt?: number | undefined
  readonly message: string
  /** When the server tries again, ms since the epoch. */
  readonly nextAt?: number | undefined
}

export interface Compaction {
  readonly state: 'running' | 'done'
  /** Started by the server because the context was full, not by a person. */
  readonly auto: boolean
  /** Tokens in the context before it, when a step had reported them. */
  readonly tokensBefore?: number | undefined
  readonly startedAt: number
  readonly endedAt?: number | undefined
}

export interface ReplyFailure {
  readonly name: string
  readonly message: string
  readonly statusCode?: number | undefined
  readonly retryable?: boolean | undefined
  readonly raw: unknown
}

/** One assistant message: OpenCode writes one per model step. */
export interface Message {
  readonly id: string
  readonly parentID?: string | undefined
  readonly createdAt?: number | undefined
  readonly completedAt?: number | undefined
  readonly finish?: string | undefined
  readonly error?: ReplyFailure | undefined
  readonly tokens?: Tokens | undefined
  /** In the provider's currency unit, USD for all known ones. */
  readonly cost?: number | undefined
  readonly parts: readonly Part[]
  /** The message as the source sent it last. */
  readonly raw: unknown
}

export interface Tokens {
  readonly input: number
  readonly output: number
  readonly reasoning: number
  readonly cacheRead: number
  readonly cacheWrite: number
}

/** `open`: may still grow. `sealed`: closed by the server or by the end. `abandoned`: a retry wrote it anew; it is not shown. */
export type PartStatus = 'open' | 'sealed' | 'abandoned'

interface PartFields {
  readonly id: string
  readonly messageID: string
  readonly status: PartStatus
  /** Deltas were missed; the text has a gap until the seal heals it. */
  readonly hole?: true | undefined
  /** The part as the source sent it last. For a text that only grew since, its opening. */
  readonly raw: unknown
}

export interface TextPart extends PartFields {
  readonly type: 'text'
  readonly text: string
  /** Written by the server, not by the model. */
  readonly synthetic?: true | undefined
  /** Kept from the model and from people. */
  readonly ignored?: true | undefined
}

export interface ReasoningPart extends PartFields {
  readonly type: 'reasoning'
  readonly text: string
}

export interface ToolPart extends PartFields {
  readonly type: 'tool'
  /** The tool's name. OpenCode renames an unknown tool `invalid`; the name that the model used is kept here. */
  readonly tool: string
  readonly callID: string
  readonly state: ToolState
}

export type ToolStatus = 'pending' | 'running' | 'completed' | 'error'

export interface ToolState {
  readonly status: ToolStatus
  readonly input: Readonly<Record<string, unknown>>
  readonly title?: string | undefined
  readonly output?: string | undefined
  readonly error?: string | undefined
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
  readonly startedAt?: number | undefined
  readonly endedAt?: number | undefined
  /** The reply ended while the call was still running, or the server says it was aborted. */
  readonly interrupted?: true | undefined
}

export interface FilePart extends PartFields {
  readonly type: 'file'
  readonly mime: string
  readonly url: string
  readonly filename?: string | undefined
}

export interface PatchPart extends PartFields {
  readonly type: 'patch'
  readonly hash: string
  readonly files: readonly string[]
}

export interface StepStartPart extends PartFields {
  readonly type: 'step-start'
  readonly snapshot?: string | undefined
}

export interface StepFinishPart extends PartFields {
  readonly type: 'step-finish'
  readonly reason: string
  readonly tokens: Tokens
  readonly cost: number
}

export interface SnapshotPart extends PartFields {
  readonly type: 'snapshot'
  readonly snapshot: string
}

export interface SubtaskPart extends PartFields {
  readonly type: 'subtask'
  readonly prompt: string
  readonly description: string
  readonly agent: string
}

export interface AgentPart extends PartFields {
  readonly type: 'agent'
  readonly name: string
}

export interface RetryPart extends PartFields {
  readonly type: 'retry'
  readonly attempt: number
  readonly error: ReplyFailure
}

export interface CompactionPart extends PartFields {
  readonly type: 'compaction'
  readonly auto: boolean
}

/** A part of a type that this version does not know, or whose type the server never told. Show nothing of it. */
export interface UnknownPart extends PartFields {
  readonly type: 'unknown'
}

export type Part =
  | TextPart
  | ReasoningPart
  | ToolPart
  | FilePart
  | PatchPart
  | StepStartPart
  | StepFinishPart
  | SnapshotPart
  | SubtaskPart
  | AgentPart
  | RetryPart
  | CompactionPart
  | UnknownPart

export interface Todo {
  readonly content: string
  /** `pending`, `in_progress`, `completed` or `cancelled` on the servers known; others are kept as they come. */
  readonly status: string
  readonly priority?: string | undefined
}

export interface Usage extends Tokens {
  readonly cost: number
  /** Finished model steps. */
  readonly steps: number
  /** Tokens in the context after the last finished step. */
  readonly contextTokens?: number | undefined
  /** The model's context window, when the driver could learn it. */
  readonly contextLimit?: number | undefined
}

/** A sub-agent's reply, at any depth: its own children are in `reply.children`. */
export interface Child {
  /** The tool call that started it. */
  readonly callID?: string | undefined
  readonly agent?: string | undefined
  readonly title?: string | undefined
  /** It may outlive the reply that started it. */
  readonly background: boolean
  readonly reply: Reply
}

export type AskStatus = 'pending' | 'answered' | 'rejected' | 'withdrawn'

interface AskFields {
  readonly requestID: string
  /** The session that asked: this one or a descendant. */
  readonly sessionID: string
  /** The sessions from this reply's down to the one that asked, both included. */
  readonly path: readonly string[]
  readonly callID?: string | undefined
  readonly messageID?: string | undefined
  readonly status: AskStatus
  /** When it was first seen, ms since the epoch. Absent if only its end was seen. */
  readonly askedAt?: number | undefined
  readonly closedAt?: number | undefined
}

export interface QuestionAsk extends AskFields {
  readonly type: 'question'
  readonly questions: readonly Question[]
  /** One list per question, in order: labels or free text. Set once answered. */
  readonly answers?: readonly (readonly string[])[] | undefined
}

export interface PermissionAsk extends AskFields {
  readonly type: 'permission'
  /** What is to be done: `bash`, `edit`, `webfetch`, … */
  readonly permission: string
  readonly patterns: readonly string[]
  /** The patterns that `always` would allow from now on. */
  readonly always: readonly string[]
  /** One line for people. */
  readonly title: string
  readonly metadata: Readonly<Record<string, unknown>>
  readonly reply?: PermissionReply | undefined
}

export type Ask = QuestionAsk | PermissionAsk

export type PermissionReply = 'once' | 'always' | 'reject'

export interface Question {
  /** A few words; may be empty. */
  readonly header: string
  readonly question: string
  readonly options: readonly QuestionOption[]
  /** More than one option may be picked. */
  readonly multiple: boolean
  /** An answer outside the options is allowed. */
  readonly custom: boolean
}

export interface QuestionOption {
  readonly label: string
  readonly description: string
}
