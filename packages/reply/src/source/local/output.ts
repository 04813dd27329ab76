import type { QuestionAsk } from '../../ask.ts'
import type { ReplyFailure, ReplyFile, Tokens, ToolState } from '../../part.ts'
import type { Model, Todo } from '../../reply.ts'

/** Fields of every piece of a message. */
interface PieceFields {
  /**
   * The agent's own id of the message. A new id begins the next message. Default: the current message, or the run's
   * first.
   */
  readonly messageID?: string | undefined
  /** The agent's line or frame that the piece comes from, kept as the part's `raw`. */
  readonly raw?: unknown
}

/** A file, as in `ReplyFile`. Without a `size`, that of a `data:` URL is counted. */
export type LocalFile = Omit<ReplyFile, 'id'>

/**
 * One piece of a run's output. Turn each line of your agent into these and pass them to `LocalRun.write`, which creates
 * ids and parts and emits the events.
 */
export type LocalOutput =
  /**
   * A piece of text. Appended to the open part of its type, or to the part that had the same `partID`, the agent's own id
   * of a part in its message. Any other piece of the message seals the open part.
   */
  | (PieceFields & {
      readonly type: 'text' | 'reasoning'
      readonly delta: string
      readonly partID?: string | undefined
      /** As in `TextPart.stream`. Only the piece that begins a part sets it. */
      readonly stream?: 'stderr' | undefined
    })
  /**
   * Replaces the whole text of the part with this `partID`, or removes the part if the text is empty. For example an agent
   * takes a text back that it had streamed. A part that is no longer open stays sealed.
   */
  | (PieceFields & { readonly type: 'text' | 'reasoning'; readonly replace: string; readonly partID: string })
  /** Completes the open text or reasoning. `raw` replaces the part's first `raw`. */
  | { readonly type: 'seal'; readonly raw?: unknown }
  /** The whole current state of a tool call. Sending the same `callID` again replaces it. */
  | (PieceFields & {
      readonly type: 'tool'
      readonly callID: string
      readonly tool: string
      readonly state: Omit<ToolState, 'attachments'>
      /**
       * The files that the tool returned, in its order. They become `ToolState.attachments`. Default: the file that the output of a
       * completed call of `send_file` names, else none.
       */
      readonly files?: readonly LocalFile[] | undefined
    })
  /** A file of the agent, in the order of its answer. */
  | (PieceFields & LocalFile & { readonly type: 'file' })
  /**
   * Tokens of a step, and its cost in US dollars. Sending the same `stepID` again replaces them. Without one, each
   * counts as a separate step.
   */
  | (PieceFields & {
      readonly type: 'usage'
      readonly stepID?: string | undefined
      readonly tokens: Tokens
      readonly cost: number
    })
  /** Begins the next message. Default id: a new one. */
  | {
      readonly type: 'message'
      readonly messageID?: string | undefined
      readonly agent?: string | undefined
      readonly model?: Model | undefined
    }
  /** `isRead`: the run only read a list, which may be older. */
  | { readonly type: 'todos'; readonly todos: readonly Todo[]; readonly isRead?: true | undefined }
  | { readonly type: 'title'; readonly title: string }
  /** The size of the model's context window, in tokens. */
  | { readonly type: 'context-limit'; readonly contextLimit: number }
  /** Ignored unless a compaction is going, except for `started` and `done`. With `failed`, the history stays. */
  | { readonly type: 'compaction'; readonly state: 'started' | 'done' | 'failed'; readonly auto: boolean }
  /** A call of the model failed and is retried. Ends with the next output. */
  | {
      readonly type: 'retry'
      readonly attempt?: number | undefined
      readonly message: string
      /** In ms since the epoch. */
      readonly nextAt?: number | undefined
    }

/** How a run ended. */
export type LocalEnding =
  /**
   * `finish` is why the model stopped: `stop`, `length` if the answer was cut off, or `tool-calls` if the agent stopped
   * although the model would go on. Default `stop`.
   */
  | { readonly type: 'completed'; readonly finish?: string | undefined }
  | { readonly type: 'aborted' }
  | { readonly type: 'failed'; readonly error: ReplyFailure }
  /**
   * The connection that brought this run's output broke before its end, and can't be had again. The reply ends as `lost`, with
   * what was written so far and the error. Other runs go on. If all runs share the connection, call `LocalAgent.lose` instead.
   */
  | { readonly type: 'lost'; readonly error: ReplyFailure }

/** A person's answer, with one list per question, in order. `canceled` if the run ended or was aborted first. */
export type LocalAnswer =
  | { readonly type: 'answered'; readonly answers: readonly (readonly string[])[] }
  | { readonly type: 'once' }
  | { readonly type: 'always' }
  | { readonly type: 'rejected'; readonly message?: string | undefined }
  | { readonly type: 'canceled' }

/** An ask for a person, with a function that sends the answer to the agent. */
export type LocalAsk = {
  /** Its id, unique in this source. */
  readonly requestID: string
  /** The id of the tool call that asks, as in its `tool` output. Absent if the agent names none. */
  readonly callID?: string | undefined
  /**
   * Sends the answer to the agent. Called at most once, with `canceled` when the run ends or is aborted first. If it
   * rejects, the person who answered gets the error, except for `canceled`.
   */
  readonly reply: (answer: LocalAnswer) => void | Promise<void>
} & (
  | { readonly type: 'question'; readonly questions: QuestionAsk['questions'] }
  | {
      readonly type: 'permission'
      /** What is to be allowed, as in `PermissionAsk.permission`. */
      readonly permission: string
      readonly patterns: readonly string[]
      /** The patterns that "always" would allow. Empty if it can't be allowed for good. */
      readonly always: readonly string[]
      readonly title: string
      readonly metadata: Readonly<Record<string, unknown>>
    }
)
