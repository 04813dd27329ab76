import type { QuestionAsk } from '../../ask.ts'
import type { ReplyFailure, Tokens, ToolState } from '../../part.ts'
import type { Model, Todo } from '../../reply.ts'

/** What the pieces of a message have in common. */
interface PieceFields {
  /**
   * The agent's id of the message that it belongs to; a new one begins the next message. Default: the message at work,
   * or the run's first.
   */
  readonly messageID?: string | undefined
  /** The agent's line or frame behind it, kept as the part's `raw`. */
  readonly raw?: unknown
}

/**
 * What an agent's run says, as data: a preset turns each line of its agent into these, and the run gives messages and
 * parts their ids, grows and seals texts, and makes the events.
 */
export type LocalOutput =
  /** A piece of text. It grows the open part of its type; anything else in the message seals that part. */
  | (PieceFields & { readonly type: 'text' | 'reasoning'; readonly delta: string })
  /** The open text or reasoning is complete. `raw` replaces the one that it began with. */
  | { readonly type: 'seal'; readonly raw?: unknown }
  /** A tool call as it is now, whole. The same `callID` again replaces it. */
  | (PieceFields & {
      readonly type: 'tool'
      readonly callID: string
      readonly tool: string
      readonly state: ToolState
    })
  | (PieceFields & {
      readonly type: 'file'
      readonly mime: string
      readonly url: string
      readonly filename?: string | undefined
    })
  /**
   * Tokens and cost of a step, in US dollars. The same `stepID` again replaces them; without one, each counts as a step
   * of its own.
   */
  | (PieceFields & {
      readonly type: 'usage'
      readonly stepID?: string | undefined
      readonly tokens: Tokens
      readonly cost: number
    })
  /** The next message begins. Without an id, it gets one. */
  | {
      readonly type: 'message'
      readonly messageID?: string | undefined
      readonly agent?: string | undefined
      readonly model?: Model | undefined
    }
  /** `isRead`: the run only looked at a list that may be older. */
  | { readonly type: 'todos'; readonly todos: readonly Todo[]; readonly isRead?: true | undefined }
  | { readonly type: 'title'; readonly title: string }
  /** The size of the model's context window, in tokens. */
  | { readonly type: 'context-limit'; readonly contextLimit: number }
  /** `failed`: it replaced nothing. Ignored unless one runs, except `started` and `done`. */
  | { readonly type: 'compaction'; readonly state: 'started' | 'done' | 'failed'; readonly auto: boolean }
  /** A call of the model failed and is repeated. Over with the next output. */
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
   * `finish` says why the model stopped: `stop`, `length` if the answer was cut off, `tool-calls` if the agent stopped
   * although the model would go on. Default `stop`.
   */
  | { readonly type: 'completed'; readonly finish?: string | undefined }
  | { readonly type: 'aborted' }
  | { readonly type: 'failed'; readonly error: ReplyFailure }

/** How a person answered, or that the run was stopped first. One list per question, in order. */
export type LocalAnswer =
  | { readonly type: 'answered'; readonly answers: readonly (readonly string[])[] }
  | { readonly type: 'once' }
  | { readonly type: 'always' }
  | { readonly type: 'rejected'; readonly message?: string | undefined }
  | { readonly type: 'canceled' }

/** What an agent asks a person, and where the answer goes. */
export type LocalAsk = {
  /** Unique among the source's asks. */
  readonly requestID: string
  /** The tool call that asks, as in its `tool` output. Absent if it names none. */
  readonly callID?: string | undefined
  /**
   * Sends the answer to the agent. Called at most once; with `canceled` when the run ends or is aborted first. What it
   * rejects with reaches the person who answered, unless it was canceled.
   */
  readonly reply: (answer: LocalAnswer) => void | Promise<void>
} & (
  | { readonly type: 'question'; readonly questions: QuestionAsk['questions'] }
  | {
      readonly type: 'permission'
      /** As in `PermissionAsk`. */
      readonly permission: string
      readonly patterns: readonly string[]
      /** Empty if it can't be allowed for good. */
      readonly always: readonly string[]
      readonly title: string
      readonly metadata: Readonly<Record<string, unknown>>
    }
)
