import type { Ask } from './ask.ts'
import type { FileChange } from './file-change.ts'
import type { Part, ReplyFailure, Tokens } from './part.ts'

/**
 * How a reply ended:
 * - `completed`: the model finished its answer.
 * - `stopped`: it ended early. A person rejected an ask, or the agent didn't continue after its last tool calls.
 * - `aborted`: you or another client aborted it.
 * - `failed`: `Reply.error` has the reason.
 * - `timed-out`: it exceeded the time limit of its run.
 * - `lost`: its end was not seen. `Reply.lostReason` has the reason.
 */
export type Outcome = 'completed' | 'stopped' | 'aborted' | 'failed' | 'timed-out' | 'lost'

/**
 * Why a reply ended as `lost`:
 * - `session-removed`: the session was deleted.
 * - `closed`: you called `close()`. The server continues.
 * - `unreachable`: no connection for `lostAfterMs`, or the server stopped answering. The run may continue.
 * - `not-stopped`: an abort was not seen to take effect. The run may continue.
 * - `end-not-seen`: the server is idle, but a step has no end, because the server was killed or restarted. Or the
 * recording stops early.
 */
export type LostReason = 'session-removed' | 'closed' | 'unreachable' | 'not-stopped' | 'end-not-seen'

/**
 * The state of a reply. If several apply, the first of these:
 * - `settled`: it ended.
 * - `blocked`: an ask waits for a person.
 * - `retrying`: the provider failed, and the server waits to retry.
 * - `working`: the model or a tool is running.
 * - `waiting`: nothing has run yet.
 */
export type Phase = 'waiting' | 'working' | 'retrying' | 'blocked' | 'settled'

/**
 * One run of an agent's session, from the user message that opened it until it settled.
 *
 * Immutable, and serializable with `JSON.stringify`. An event that changes nothing returns the same object. Times are
 * in ms since the epoch, taken from the events' `at`.
 */
export interface Reply {
  /** Id of the session, as the server assigned it: `ses_…`. */
  readonly sessionID: string
  /** The session's directory in the server's spelling. Absent until the server names it. */
  readonly directory?: string | undefined
  /** The session's title. The server may replace it during the run. Absent until the session was read. */
  readonly title?: string | undefined
  /** The user messages of this run, in order of arrival. Empty until the server sends one. */
  readonly promptIDs: readonly string[]
  /**
   * Prompts that an abort left in the session or a sub-agent's session, because the server can't remove them. They run
   * with that session's next prompt. Absent if there are none.
   */
  readonly parkedPromptIDs?: readonly string[] | undefined
  /**
   * The text of the first user message, without synthetic parts, and the names of its files. Absent until it is known.
   */
  readonly prompt?: Prompt | undefined
  /**
   * The same of the later user messages, which joined this run, by their ids in `promptIDs`. Absent until one of them is known.
   * `promptOf` reads any of them.
   */
  readonly joinedPrompts?: Readonly<Record<string, Prompt>> | undefined
  /** The agent that answers: `build`, `plan`, … Absent until a message names one. */
  readonly agent?: string | undefined
  /** The model that answers. Absent until a message names one. */
  readonly model?: Model | undefined
  /** The reply's current state. */
  readonly phase: Phase
  /** How it ended. Set exactly when `phase` is `settled`. */
  readonly outcome?: Outcome | undefined
  /** Set exactly when `outcome` is `lost`. */
  readonly lostReason?: LostReason | undefined
  /** Why the model stopped in the last step, as the provider reports it: `stop`, `tool-calls`, `length`, … */
  readonly finish?: string | undefined
  /** The assistant's messages, one per model step, by creation time, then arrival. Excludes compaction summaries. */
  readonly messages: readonly Message[]
  /** Questions and permissions of this session and of every descendant, in order of arrival, closed ones included. */
  readonly asks: readonly Ask[]
  /**
   * The files that the server says the run changed, by the prompt that it counts them for. Absent if it says nothing:
   * `changesOf` then reads the edits.
   */
  readonly changes?: Readonly<Record<string, readonly FileChange[]>> | undefined
  /** The sub-agents' replies, in order of arrival. */
  readonly children: readonly Child[]
  /** The session's checklist as last written, possibly by an earlier run. */
  readonly todos: readonly Todo[]
  /** Set if the source reports that this run wrote the checklist. Servers don't report it, so call `ownTodosOf`. */
  readonly wroteTodos?: true | undefined
  /**
   * The summaries that compactions wrote in this run, in order. Their calls of the model count in `usage`. Absent if
   * there are none.
   */
  readonly summaries?: readonly SummaryStep[] | undefined
  /** This session's own tokens and cost, compactions included. `totalUsage` adds the children's. */
  readonly usage: Usage
  /** Set while the server waits to retry the model. */
  readonly retry?: Retry | undefined
  /** The last compaction of the context in this run. Absent if there was none. */
  readonly compaction?: Compaction | undefined
  /**
   * The last error. Absent if there was none, or if a later step or a compaction came after it. Always set if the
   * outcome is `failed` or `lost`: a lost reply without another error has its `lostReason` as the name and a sentence
   * as the message.
   */
  readonly error?: ReplyFailure | undefined
  /**
   * Set once the run is being ended from here: on request, or because it exceeded its time limit. Its outcome is then
   * `aborted` or `timed-out`, or `lost` if the abort had no effect.
   */
  readonly aborting?: 'requested' | 'timed-out' | undefined
  /** `lost` from when the event stream breaks until it is back and the missed events were read. Otherwise `live`. */
  readonly connection: 'live' | 'lost'
  /** Whether there was no progress for `stalledAfterMs`. The reply may still continue. */
  readonly stalled: boolean
  /** When the prompt was posted here, or else when the run's first event was received. Absent before. */
  readonly startedAt?: number | undefined
  /** When the reply settled. Absent before. */
  readonly settledAt?: number | undefined
}

/** A user message of a run. */
export interface Prompt {
  /**
   * The text parts, joined with a blank line. Of a command that starts a sub-agent, the task of the sub-agent. Of a prompt that only
   * names sub-agents, their names after `@`.
   */
  readonly text: string
  /** The names of its files, or the MIME type of a file without a name. Empty if it has no files. */
  readonly files: readonly string[]
  /** The parts that `text` and `files` are made of, as far as the server sent them. */
  readonly parts: readonly PromptPart[]
}

/**
 * One text or file of a prompt, or a sub-agent that it names. `id` is the id of the server's part (`prt_…`), the `name` of a file as in
 * `Prompt.files`.
 */
export type PromptPart =
  | { readonly type: 'text'; readonly id: string; readonly text: string }
  | { readonly type: 'file'; readonly id: string; readonly name: string }
  | { readonly type: 'agent'; readonly id: string; readonly name: string }

/** A language model, as OpenCode names it. `opencode models` lists them as `providerID/modelID`. */
export interface Model {
  /** The provider's id: `anthropic`, `openai`, … */
  readonly providerID: string
  /** The model's id within its provider. */
  readonly modelID: string
}

/** A failed call of the model that the server retries. */
export interface Retry {
  /** The number of this retry, from 1. Absent if the server doesn't report it. */
  readonly attempt?: number | undefined
  /** The provider's error message. May be empty. */
  readonly message: string
  /** When the server retries, in ms since the epoch. */
  readonly nextAt?: number | undefined
}

/** A compaction of the context: the server replaces the history with a summary. */
export interface Compaction {
  /** Id of the part of the user message that started it. Absent if only its end was seen. */
  readonly partID?: string | undefined
  /** `running` until the summary is complete, then `done`. */
  readonly state: 'running' | 'done'
  /** Started by the server because the context was full, not by a person. */
  readonly auto: boolean
  /** Id of the last message before it. Absent if the reply had none. */
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
  /** Id of the summary's message, which isn't in `Reply.messages`. */
  readonly messageID: string
  /** The tokens of this call alone. */
  readonly tokens: Tokens
  /** The cost of this call alone, in US dollars. */
  readonly cost: number
}

/** One assistant message: OpenCode writes one per model step. */
export interface Message {
  /** The message's id, as the server assigned it: `msg_…`. */
  readonly id: string
  /** Id of the user message that it answers. */
  readonly parentID?: string | undefined
  /** When the server created it, in ms since the epoch by the server's clock. */
  readonly createdAt?: number | undefined
  /** When the step ended, in ms since the epoch by the server's clock. Absent until then, and if the server died. */
  readonly completedAt?: number | undefined
  /** Why the model stopped in this step, as in `Reply.finish`. Absent before, and possibly for an aborted step. */
  readonly finish?: string | undefined
  /** Why the step failed. An abort has the name `MessageAbortedError`. */
  readonly error?: ReplyFailure | undefined
  /** The tokens of the step. OpenCode reports zeros until the step ends. */
  readonly tokens?: Tokens | undefined
  /** The cost of the step in the provider's currency, which is US dollars for all known providers. */
  readonly cost?: number | undefined
  /** The value that the prompt's `format` asked for, parsed. Absent if the step gave none. */
  readonly output?: unknown
  /**
   * In the server's order as far as it is known, otherwise in order of arrival. From 1,024 parts on, the array is built
   * on first read and then cached: reading it on every event costs a copy per event. `console.log` and `util.inspect`
   * then show it as `[Getter]`.
   */
  readonly parts: readonly Part[]
  /** The message as the source last sent it. */
  readonly raw: unknown
}

/** One item of the session's checklist. */
export interface Todo {
  /** The task, as the model wrote it. */
  readonly content: string
  /** `pending`, `in_progress`, `completed` or `cancelled` on known servers. Other values are kept. */
  readonly status: string
  /** `high`, `medium` or `low` on known servers. Other values are kept. */
  readonly priority?: string | undefined
}

/** The sum of the tokens and cost of all finished steps and summaries. */
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
  /** Id of the tool call that started it. Absent until that call is known. */
  readonly callID?: string | undefined
  /** The sub-agent's name: `general`, `explore`, … Absent until its call or a message names one. */
  readonly agent?: string | undefined
  /** Its task in a few words, from the call that started it. Otherwise its session's title. */
  readonly title?: string | undefined
  /** Whether it may outlive the reply that started it. */
  readonly background: boolean
  /** The run of its session. Its changes are reported as `childChanged`. */
  readonly reply: Reply
}
