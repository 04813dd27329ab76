/** An error of the session or of a step, as the server reports it. */
export interface ReplyFailure {
  /** The error's name, for example `APIError` or `MessageAbortedError`. `UnknownError` if the server sent none. */
  readonly name: string
  /** The message of the provider or the server. Empty if it sent none. */
  readonly message: string
  /** The HTTP status of the provider's response. Absent for other errors. */
  readonly statusCode?: number | undefined
  /** Whether a retry could succeed, according to the server. Absent if it doesn't report it. */
  readonly retryable?: boolean | undefined
  /** The error as the server sent it. */
  readonly raw: unknown
}

/** The tokens of one or more calls of the model, as the server counts them. */
export interface Tokens {
  /** Tokens of the input, without those in `cacheRead` and `cacheWrite`. */
  readonly input: number
  /** Tokens of the model's output. */
  readonly output: number
  /** Tokens of the model's reasoning. 0 if the provider doesn't count them separately. */
  readonly reasoning: number
  /** Tokens of the input that the provider had in its cache. */
  readonly cacheRead: number
  /** Tokens of the input that the provider put into its cache. */
  readonly cacheWrite: number
}

/**
 * `open`: may still grow. `sealed`: closed by the server or by the end. `abandoned`: replaced by a retry, so don't show
 * it.
 */
export type PartStatus = 'open' | 'sealed' | 'abandoned'

/** Fields of every part. */
interface PartFields {
  /** The part's id, as the server gives it: `prt_…`. */
  readonly id: string
  /** The message that it belongs to. */
  readonly messageID: string
  /** Whether it may still grow. */
  readonly status: PartStatus
  /**
   * Where words may be missing, as positions in `text`, because the source does not repeat what was written while nothing
   * listened. `[0]`: the beginning is missing. The seal brings the full text. Absent if nothing is missing.
   */
  readonly holes?: readonly number[] | undefined
  /** The part as the source last sent it. If a text has only grown since, its first version. */
  readonly raw: unknown
}

/** Text of the model, or of a person in a prompt. Call `isShownText` before you show it. */
export interface TextPart extends PartFields {
  readonly type: 'text'
  /** Markdown. Empty at first, and grows while the part is `open`. */
  readonly text: string
  /** Written by the server, not by the model. */
  readonly synthetic?: true | undefined
  /** Hidden from the model and from people. */
  readonly ignored?: true | undefined
  /** Set if a command wrote it to its standard error. */
  readonly stream?: 'stderr' | undefined
}

/** The model's thoughts before an answer or a tool call. */
export interface ReasoningPart extends PartFields {
  readonly type: 'reasoning'
  /** Usually Markdown. Empty at first, and grows while the part is `open`. Stays empty if the provider hides it. */
  readonly text: string
}

/** A tool call with its result. */
export interface ToolPart extends PartFields {
  readonly type: 'tool'
  /**
   * The tool's name, for example `bash`. OpenCode renames an unknown tool to `invalid`, but this stays the name that
   * the model used.
   */
  readonly tool: string
  /** The id that the model gave the call. `Ask.callID` refers to it. */
  readonly callID: string
  /** The call's status, input and output. */
  readonly state: ToolState
}

/**
 * `pending`: the model is writing the input. `running`: the tool is running, or waits for a permission. `completed`: it
 * returned. `error`: it failed, was rejected, or was aborted.
 */
export type ToolStatus = 'pending' | 'running' | 'completed' | 'error'

/** A file of a reply: what it is, and where its bytes are. */
export interface ReplyFile {
  /**
   * Identifies it within its reply, also after a reconnection, and after a retry that takes other parts back. A call that
   * a retry repeats has new files.
   */
  readonly id: string
  /** Its MIME type, as the source reports it: `text/plain`, `image/png`, … */
  readonly mime: string
  /** A `data:` URL with its content, or its address: `file:`, `http(s):`, or any other scheme of the agent. */
  readonly url: string
  /** Its name as the source reports it, which may be a path or an address. Absent if it has none. */
  readonly filename?: string | undefined
  /** Its size in bytes. Absent if it is unknown. */
  readonly size?: number | undefined
  /** A text to show with it, from the tool that returned it. Absent if there is none. */
  readonly caption?: string | undefined
}

/** The state of a tool call, as far as it is known. */
export interface ToolState {
  /** Only ever advances. */
  readonly status: ToolStatus
  /** The arguments as the model gave them. `{}` until they are complete. */
  readonly input: Readonly<Record<string, unknown>>
  /** One line for people, from the tool. Absent until the tool sets it. */
  readonly title?: string | undefined
  /** The output as the model receives it, possibly truncated by the server. Set once `completed`. */
  readonly output?: string | undefined
  /** The files that the tool returned, in its order. Absent if there are none. */
  readonly attachments?: readonly ReplyFile[] | undefined
  /** Why it failed, as the model receives it. Set once the status is `error`. */
  readonly error?: string | undefined
  /** Data that the tool reports besides its output, for example a diff or an exit code. May change while it runs. */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
  /** When the tool began, in ms since the epoch by the server's clock. Absent while `pending`. */
  readonly startedAt?: number | undefined
  /** When the tool ended, in ms since the epoch by the server's clock. Absent until then. */
  readonly endedAt?: number | undefined
  /** Set if the reply ended while the call was still running, or the server reports that it was aborted. */
  readonly interrupted?: true | undefined
  /**
   * Set if the tool or its input changed while the call was running: another call with the same id took over this part.
   * An ask may then be about either call. Only set while `running`.
   */
  readonly ambiguous?: true | undefined
}

/** A file in a message: of the agent, or one that a person attached. */
export interface FilePart extends PartFields, ReplyFile {
  readonly type: 'file'
}

/** The files that a step changed. */
export interface PatchPart extends PartFields {
  readonly type: 'patch'
  /** Id of a Git tree: the project before the step, as in the `snapshot` of its `StepStartPart`. */
  readonly hash: string
  /** Absolute paths of the files that differ since, as the server spells them. */
  readonly files: readonly string[]
}

/** A step of the model begins: one call of the model, with the tools that it uses. */
export interface StepStartPart extends PartFields {
  readonly type: 'step-start'
  /** Id of a Git tree: the project's files at that time. Absent if the server takes no snapshots. */
  readonly snapshot?: string | undefined
}

/** A step of the model ended. */
export interface StepFinishPart extends PartFields {
  readonly type: 'step-finish'
  /** Why the model stopped, as the provider reports it. Absent if the source doesn't report it. */
  readonly reason?: string | undefined
  /** The tokens of this step alone. */
  readonly tokens: Tokens
  /** The cost of this step alone, in US dollars. */
  readonly cost: number
}

/** A snapshot of the project's files as a part of its own. Current servers put it into the parts of the step. */
export interface SnapshotPart extends PartFields {
  readonly type: 'snapshot'
  /** Id of a Git tree: the project's files. */
  readonly snapshot: string
}

/** In a prompt: a task for a sub-agent, sent by a slash command with `subtask`. */
export interface SubtaskPart extends PartFields {
  readonly type: 'subtask'
  /** The prompt of the sub-agent. */
  readonly prompt: string
  /** The task in a few words. */
  readonly description: string
  /** The sub-agent's name. */
  readonly agent: string
}

/** In a prompt: a mention of an agent, such as `@general`. */
export interface AgentPart extends PartFields {
  readonly type: 'agent'
  /** The agent's name without the `@`. */
  readonly name: string
}

/** A call of the model failed and was repeated. */
export interface RetryPart extends PartFields {
  readonly type: 'retry'
  /** The attempt's number, as the server counts. */
  readonly attempt: number
  /** Why the attempt failed. */
  readonly error: ReplyFailure
}

/** In a user message: the request to compact the context. */
export interface CompactionPart extends PartFields {
  readonly type: 'compaction'
  /** Whether the server requested it because the context was full. */
  readonly auto: boolean
}

/** A part of a type that this version doesn't know, or whose type the server never sent. Do not show it. */
export interface UnknownPart extends PartFields {
  readonly type: 'unknown'
}

/** One piece of a message. Switch on `type`, and show only what you know. */
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
