export interface ReplyFailure {
  readonly name: string
  readonly message: string
  readonly statusCode?: number | undefined
  readonly retryable?: boolean | undefined
  readonly raw: unknown
}

export interface Tokens {
  readonly input: number
  readonly output: number
  readonly reasoning: number
  readonly cacheRead: number
  readonly cacheWrite: number
}

/**
 * `open`: may still grow. `sealed`: closed by the server or by the end. `abandoned`: replaced by a retry; not shown.
 */
export type PartStatus = 'open' | 'sealed' | 'abandoned'

interface PartFields {
  readonly id: string
  readonly messageID: string
  readonly status: PartStatus
  /** Deltas were missed; the text has a gap until the seal delivers the full text. */
  readonly hole?: true | undefined
  /** The part as the source last sent it. For a text that only grew since, its first version. */
  readonly raw: unknown
}

export interface TextPart extends PartFields {
  readonly type: 'text'
  readonly text: string
  /** Written by the server, not by the model. */
  readonly synthetic?: true | undefined
  /** Hidden from the model and from people. */
  readonly ignored?: true | undefined
}

export interface ReasoningPart extends PartFields {
  readonly type: 'reasoning'
  readonly text: string
}

export interface ToolPart extends PartFields {
  readonly type: 'tool'
  /** The tool's name. OpenCode renames an unknown tool to `invalid`; this keeps the name that the model used. */
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
  /** Why the model stopped, in the provider's words. Absent if the source doesn't say. */
  readonly reason?: string | undefined
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

/** A part of a type that this version doesn't know, or whose type the server never sent. Do not show it. */
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
