import type { Ask } from './ask.ts'
import type { Part, ReplyFailure, Tokens } from './part.ts'

/** Why a reply ended. Set exactly when `phase` is `settled`. */
export type Outcome = 'completed' | 'stopped' | 'aborted' | 'failed' | 'timed-out' | 'lost'

/**
 * Why a reply ended as `lost`:
 * - `session-removed`: the session was deleted.
 * - `closed`: `close()` was called here. The server goes on.
 * - `unreachable`: no connection for `lostAfterMs`, or the server stopped answering. The run may go on.
 * - `not-stopped`: an abort could not be seen to take effect. The run may go on.
 * - `end-not-seen`: the server is idle, but a step has no end: it was killed or restarted. Or the recording stops early.
 */
export type LostReason = 'session-removed' | 'closed' | 'unreachable' | 'not-stopped' | 'end-not-seen'

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
  /** Set exactly when `outcome` is `lost`. */
  readonly lostReason?: LostReason | undefined
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
  /** Why the run is being ended from here: somebody asked for it, or its time is up. Its outcome will say so. */
  readonly aborting?: 'requested' | 'timed-out' | undefined
  readonly connection: 'live' | 'lost'
  /** No progress for the time that the driver allows; the reply may still go on. */
  readonly stalled: boolean
  readonly startedAt?: number | undefined
  readonly settledAt?: number | undefined
}

export interface Prompt {
  /** The text parts with a blank line between them. */
  readonly text: string
  readonly files: readonly string[]
  /** What `text` and `files` are made of, as far as the server told of it. */
  readonly parts: readonly PromptPart[]
}

export type PromptPart =
  | { readonly type: 'text'; readonly id: string; readonly text: string }
  | { readonly type: 'file'; readonly id: string; readonly name: string }

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
  /** The part of the user message that started it. Absent when only its end was seen. */
  readonly partID?: string | undefined
  readonly state: 'running' | 'done'
  /** Started by the server because the context was full, not by a person. */
  readonly auto: boolean
  /** Tokens in the context before it, when a step had reported them. */
  readonly tokensBefore?: number | undefined
  readonly startedAt: number
  readonly endedAt?: number | undefined
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
  /**
   * In the server's order, as far as it was told, else by arrival. From 1,024 parts on the array is made when it is
   * first read, and is the same from then on: to read it at each event costs a copy of it for each. `console.log` and
   * `util.inspect` show it as `[Getter]` then.
   */
  readonly parts: readonly Part[]
  /** The message as the source sent it last. */
  readonly raw: unknown
}

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
