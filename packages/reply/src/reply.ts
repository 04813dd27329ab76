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
  /** Id of the session that ran, as the server gives it: `ses_…`. */
  readonly sessionID: string
  /** The session's directory in the server's spelling. Absent until the server names it. */
  readonly directory?: string | undefined
  /** The session's title. The server may replace it during the run. Absent until the session was read. */
  readonly title?: string | undefined
  /** The user messages of this run, in order of arrival. Empty until the server sends one. */
  readonly promptIDs: readonly string[]
  /**
   * Prompts that an abort left in the session, or in a sub-agent's, because the server can't take them back: they run
   * with that session's next prompt. Absent if there are none.
   */
  readonly parkedPromptIDs?: readonly string[] | undefined
  /** What the user asked: the first user message's own words (no synthetic parts) and the names of its files. */
  readonly prompt?: Prompt | undefined
  /** The agent that answers: `build`, `plan`, … Absent until a message names one. */
  readonly agent?: string | undefined
  /** The model that answers. Absent until a message names one. */
  readonly model?: Model | undefined
  /** What the reply is doing now. */
  readonly phase: Phase
  /** How it ended. Set exactly when `phase` is `settled`. */
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
  /** The run itself wrote the checklist, as its source says. Servers don't say it: see `ownTodosOf`. */
  readonly wroteTodos?: true | undefined
  /** The summaries that compactions wrote in this run, in order. Their calls of the model count in `usage`. Absent if there are none. */
  readonly summaries?: readonly SummaryStep[] | undefined
  /** This session's own tokens and cost, compactions included; `totalUsage` adds the children's. */
  readonly usage: Usage
  /** Set while the server waits to retry the model. */
  readonly retry?: Retry | undefined
  /** The last compaction of the context in this run. Absent if there was none. */
  readonly compaction?: Compaction | undefined
  /**
   * The last error. Absent if there was none, or if a later step or a compaction came after it. Always set if the outcome
   * is `failed` or `lost`: a lost reply without another error has its `lostReason` as the name, and a sentence.
   */
  readonly error?: ReplyFailure | undefined
  /** Why the run is being ended from here: on request, or because its time is up. Its outcome will say so. */
  readonly aborting?: 'requested' | 'timed-out' | undefined
  /** `lost` while the event stream is down, until it is back and missed events were read; else `live`. */
  readonly connection: 'live' | 'lost'
  /** Whether there was no progress for the driver's limit; the reply may still continue. */
  readonly stalled: boolean
  /** When the prompt was posted here, or else when the run's first event was received. Absent before. */
  readonly startedAt?: number | undefined
  /** When the reply settled. Absent before. */
  readonly settledAt?: number | undefined
}

/** What a person asked in the first message of a run. */
export interface Prompt {
  /** The text parts, joined with a blank line. */
  readonly text: string
  /** The names of its files; for a file without a name, its MIME type. Empty if there are none. */
  readonly files: readonly string[]
  /** The sources of `text` and `files`, as far as the server sent them. */
  readonly parts: readonly PromptPart[]
}

/** One text or file of a prompt. `id` is the id of the server's part (`prt_…`), `name` as in `Prompt.files`. */
export type PromptPart =
  | { readonly type: 'text'; readonly id: string; readonly text: string }
  | { readonly type: 'file'; readonly id: string; readonly name: string }

/** A language model, as OpenCode names it. `opencode models` lists them as `providerID/modelID`. */
export interface Model {
  /** The provider's id: `anthropic`, `openai`, … */
  readonly providerID: string
  /** The model's id within its provider. */
  readonly modelID: string
}

/** A failed call of the model that the server repeats by itself. */
export interface Retry {
  /** Counts the retries of this call, from 1. Absent if the server doesn't say. */
  readonly attempt?: number | undefined
  /** Why the call failed, in the provider's words. May be empty. */
  readonly message: string
  /** When the server tries again, ms since the epoch. */
  readonly nextAt?: number | undefined
}

/** A compaction of the context: the server replaces the history by a summary. */
export interface Compaction {
  /** The part of the user message that started it. Absent if only its end was seen. */
  readonly partID?: string | undefined
  /** `running` until the summary is complete, then `done`. */
  readonly state: 'running' | 'done'
  /** Started by the server because the context was full, not by a person. */
  readonly auto: boolean
  /** The last message before it. Absent if the reply had none. */
  readonly afterMessageID?: string | undefined
  /** Tokens in the context before it, if a step had reported them. */
  readonly tokensBefore?: number | undefined
  /** When its start was received, in ms since the epoch. Its end if only that was seen. */
  readonly startedAt: number
  /** When its end was received, in ms since the epoch. Absent while it runs. */
  readonly endedAt?: number | undefined
}

/** The model's call that wrote the summary of a compaction. */
export interface SummaryStep {
  /** The summary's message, which is not one of `Reply.messages`. */
  readonly messageID: string
  /** The tokens of this call alone. */
  readonly tokens: Tokens
  /** The cost of this call alone, in US dollars. */
  readonly cost: number
}

/** One assistant message: OpenCode writes one per model step. */
export interface Message {
  /** The message's id, as the server gives it: `msg_…`. */
  readonly id: string
  /** Id of the user message that it answers. */
  readonly parentID?: string | undefined
  /** When the server created it, in ms since the epoch by the server's clock. */
  readonly createdAt?: number | undefined
  /** When the step ended, in ms since the epoch by the server's clock. Absent until then, and if the server died. */
  readonly completedAt?: number | undefined
  /** Why the model stopped in this step, as in `Reply.finish`. Absent before; an aborted step may have none. */
  readonly finish?: string | undefined
  /** Why the step failed. An abort is an error of the name `MessageAbortedError`. */
  readonly error?: ReplyFailure | undefined
  /** The tokens of the step. OpenCode reports zeros until the step ends. */
  readonly tokens?: Tokens | undefined
  /** In the provider's currency unit, USD for all known ones. */
  readonly cost?: number | undefined
  /** The value that the prompt's `format` asked for, parsed. Absent if the step gave none. */
  readonly output?: unknown
  /**
   * In the server's order as far as known, else by arrival. From 1,024 parts on, the array is built on first read and
   * then cached: reading it on every event costs a copy per event. `console.log` and `util.inspect` then show it as
   * `[Getter]`.
   */
  readonly parts: readonly Part[]
  /** The message as the source last sent it. */
  readonly raw: unknown
}

/** One item of the session's checklist. */
export interface Todo {
  /** What is to be done, as the model wrote it. */
  readonly content: string
  /** `pending`, `in_progress`, `completed` or `cancelled` on known servers; other values are kept as they are. */
  readonly status: string
  /** `high`, `medium` or `low` on known servers; other values are kept as they are. */
  readonly priority?: string | undefined
}

/** Tokens and cost of the finished steps and of the summaries, added up. */
export interface Usage extends Tokens {
  /** As the server computes it from the model's prices, in US dollars. 0 for a model without prices. */
  readonly cost: number
  /** Finished model steps, summaries of compactions included. */
  readonly steps: number
  /** Tokens in the context after the last finished step. Absent before the first, and from a compaction to the next. */
  readonly contextTokens?: number | undefined
  /** The model's context window, if the driver could read it. */
  readonly contextLimit?: number | undefined
}

/** A sub-agent's reply, at any depth: its own children are in `reply.children`. */
export interface Child {
  /** The tool call that started it. */
  readonly callID?: string | undefined
  /** The sub-agent: `general`, `explore`, … Absent until its call or a message names one. */
  readonly agent?: string | undefined
  /** What it is to do in a few words, from the call that started it; else its session's title. */
  readonly title?: string | undefined
  /** Whether it may outlive the reply that started it. */
  readonly background: boolean
  /** The run of its session. Changes of it arrive as `childChanged`. */
  readonly reply: Reply
}
