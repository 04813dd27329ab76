import type { Ask } from './ask.ts'
import type { Part, ReplyFailure, Tokens } from './part.ts'

/** Why a reply ended. Set exactly when `phase` is `settled`. */
export type Outcome = 'completed' | 'stopped' | 'aborted' | 'failed' | 'timed-out' | 'lost'

/**
 * Why a reply ended as `lost`:
 * - `session-removed`: the session was deleted.
 * - `closed`: `close()` was called here. The server continues.
 * - `unreachable`: no connection for `lostAfterMs`, or the server stopped answering. The run may continue.
 * - `not-stopped`: an abort was not seen to take effect. The run may continue.
 * - `end-not-seen`: the server is idle, but a step has no end: it was killed or restarted. Or the recording stops
 * early.
 */
export type LostReason = 'session-removed' | 'closed' | 'unreachable' | 'not-stopped' | 'end-not-seen'

/** What a reply is doing. The first that applies: settled, blocked, retrying, working, waiting. */
export type Phase = 'waiting' | 'working' | 'retrying' | 'blocked' | 'settled'

/**
 * One run of an OpenCode session: from the user message that opened it until it settled.
 *
 * Immutable and serializable with `JSON.stringify`; an event that changes nothing returns the same object. Times are
 * milliseconds since the epoch, taken from the events' stamps.
 */
export interface Reply {
  readonly sessionID: string
  readonly directory?: string | undefined
  readonly title?: string | undefined
  /** The user messages of this run, in order of arrival. Empty until the server sends one. */
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
  /** The assistant's messages, one per model step, by creation time, then arrival. Excludes compaction summaries. */
  readonly messages: readonly Message[]
  /** Questions and permissions of this session and of every descendant, in order of arrival, closed ones included. */
  readonly asks: readonly Ask[]
  /** The sub-agents' replies, in order of arrival. */
  readonly children: readonly Child[]
  /** The session's checklist as last written; it outlives the run that wrote it. */
  readonly todos: readonly Todo[]
  /** This session's own tokens and cost; `totalUsage` adds the children's. */
  readonly usage: Usage
  /** Set while the server waits to retry the model. */
  readonly retry?: Retry | undefined
  readonly compaction?: Compaction | undefined
  readonly error?: ReplyFailure | undefined
  /** Why the run is being ended from here: on request, or because its time is up. Its outcome will say so. */
  readonly aborting?: 'requested' | 'timed-out' | undefined
  readonly connection: 'live' | 'lost'
  /** Whether there was no progress for the driver's limit; the reply may still continue. */
  readonly stalled: boolean
  readonly startedAt?: number | undefined
  readonly settledAt?: number | undefined
}

export interface Prompt {
  /** The text parts, joined with a blank line. */
  readonly text: string
  readonly files: readonly string[]
  /** The sources of `text` and `files`, as far as the server sent them. */
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
  /** The part of the user message that started it. Absent if only its end was seen. */
  readonly partID?: string | undefined
  readonly state: 'running' | 'done'
  /** Started by the server because the context was full, not by a person. */
  readonly auto: boolean
  /** Tokens in the context before it, if a step had reported them. */
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
   * In the server's order as far as known, else by arrival. From 1,024 parts on, the array is built on first read and
   * then cached: reading it on every event costs a copy per event. `console.log` and `util.inspect` then show it as
   * `[Getter]`.
   */
  readonly parts: readonly Part[]
  /** The message as the source last sent it. */
  readonly raw: unknown
}

export interface Todo {
  readonly content: string
  /** `pending`, `in_progress`, `completed` or `cancelled` on known servers; other values are kept as they are. */
  readonly status: string
  readonly priority?: string | undefined
}

export interface Usage extends Tokens {
  readonly cost: number
  /** Finished model steps. */
  readonly steps: number
  /** Tokens in the context after the last finished step. */
  readonly contextTokens?: number | undefined
  /** The model's context window, if the driver could read it. */
  readonly contextLimit?: number | undefined
}

/** A sub-agent's reply, at any depth: its own children are in `reply.children`. */
export interface Child {
  /** The tool call that started it. */
  readonly callID?: string | undefined
  readonly agent?: string | undefined
  readonly title?: string | undefined
  /** Whether it may outlive the reply that started it. */
  readonly background: boolean
  readonly reply: Reply
}
