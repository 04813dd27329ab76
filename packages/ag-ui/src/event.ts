/** Any JSON value under any key. Ours are under the key `reply`. */
export type AgUiMetadata = Readonly<Record<string, unknown>>

/** Fields of every event. */
interface EventFields {
  /** More than the protocol has a place for, under the key `reply`. Absent if there is nothing more. */
  readonly metadata?: AgUiMetadata
}

/** Fields of events that a sub-agent may have caused. */
interface AgentFields extends EventFields {
  /** The sub-agent that it belongs to. Absent for the agent itself. */
  readonly subagentRunId?: string
}

/**
 * A JSON Patch operation, as in RFC 6902. `createAgUiProjection` only adds, replaces and removes.
 */
export type AgUiPatch =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }

/** What a run waits for, and the JSON Schema that an answer must fit. */
export interface AgUiInterrupt {
  /** Names the ask and a digest of its whole content. `resume[].interruptId` of the next run repeats it. */
  readonly id: string
  /** `tool_call`: a permission. `input_required`: questions. `confirmation`: a permission without a known call. */
  readonly reason: 'tool_call' | 'input_required' | 'confirmation'
  /** All that a person decides about, as plain text. */
  readonly message: string
  /** The tool call that waits. Absent if the ask names none. */
  readonly toolCallId?: string
  /** The sub-agent that asks. Absent for the agent itself. */
  readonly subagentRunId?: string
  /** The JSON Schema of `resume[].payload`. */
  readonly responseSchema: Readonly<Record<string, unknown>>
  /** The ask under the key `reply`: an `AgUiAsk`. */
  readonly metadata: AgUiMetadata
}

/** Tokens of the model's calls in one run. */
export interface AgUiUsage {
  /** The model's provider. Absent until a message names one. */
  readonly provider?: string
  /** The model. Absent until a message names one. */
  readonly model?: string
  /** Tokens of the input, those of the cache included. */
  readonly inputTokens: number
  /** Tokens of the output, reasoning included. */
  readonly outputTokens: number
  /** Both. */
  readonly totalTokens: number
  /** Tokens of the reasoning alone. */
  readonly reasoningTokens: number
  /** Tokens of the input that came from the provider's cache. */
  readonly cachedInputTokens: number
  /** Tokens of the input that the provider put into its cache. */
  readonly cacheWriteInputTokens: number
}

/** How a run ended that did not fail. */
export type AgUiOutcome =
  | { readonly type: 'success' }
  | { readonly type: 'cancelled' }
  | { readonly type: 'interrupt'; readonly interrupts: readonly AgUiInterrupt[] }

/** A call in a message of the assistant. */
export interface AgUiToolCall {
  /** The id of the call's part, because providers may repeat their own ids. */
  readonly id: string
  readonly type: 'function'
  /** The tool's name, and its input as JSON. */
  readonly function: { readonly name: string; readonly arguments: string }
  /** As in `EventFields`. */
  readonly metadata?: AgUiMetadata
}

/** Fields of every message. */
interface MessageFields {
  /** Identifies the message within its conversation. */
  readonly id: string
  /** The sub-agent that it belongs to. Absent for the agent itself and for people. */
  readonly subagentRunId?: string
  /** More than the protocol has a place for. */
  readonly metadata?: AgUiMetadata
}

/**
 * A message of a conversation. Those of a request may have more fields than these, which a snapshot repeats as they are.
 */
export type AgUiMessage =
  | (MessageFields & { readonly role: 'developer' | 'system' | 'reasoning'; readonly content: string })
  | (MessageFields & { readonly role: 'user'; readonly content: string | readonly unknown[] })
  | (MessageFields & {
      readonly role: 'assistant'
      readonly content?: string
      readonly toolCalls?: readonly AgUiToolCall[]
    })
  | (MessageFields & {
      readonly role: 'tool'
      readonly toolCallId: string
      readonly content: string | readonly unknown[]
      readonly error?: string
    })
  | (MessageFields & {
      readonly role: 'activity'
      readonly activityType: string
      readonly content: Readonly<Record<string, unknown>>
    })

/** An event of AG-UI 1.0, as `createAgUiProjection` makes them. Each fits the protocol's own `Event`. */
export type AgUiEvent =
  | (EventFields & {
      readonly type: 'RUN_STARTED'
      readonly threadId: string
      readonly runId: string
      readonly parentRunId?: string
      readonly protocolVersion: '1.0'
    })
  | (EventFields & {
      readonly type: 'RUN_FINISHED'
      readonly threadId: string
      readonly runId: string
      readonly outcome: AgUiOutcome
      readonly usage: readonly AgUiUsage[]
    })
  | (EventFields & {
      readonly type: 'RUN_ERROR'
      readonly message: string
      readonly code: string
      readonly usage?: readonly AgUiUsage[]
    })
  | (AgentFields & { readonly type: 'STEP_STARTED' | 'STEP_FINISHED'; readonly stepName: string })
  | (AgentFields & {
      readonly type: 'TEXT_MESSAGE_START'
      readonly messageId: string
      readonly role: 'assistant' | 'user'
    })
  | (AgentFields & { readonly type: 'TEXT_MESSAGE_CONTENT'; readonly messageId: string; readonly delta: string })
  | (AgentFields & { readonly type: 'TEXT_MESSAGE_END'; readonly messageId: string })
  | (AgentFields & { readonly type: 'REASONING_START' | 'REASONING_END'; readonly messageId: string })
  | (AgentFields & {
      readonly type: 'REASONING_MESSAGE_START'
      readonly messageId: string
      readonly role: 'reasoning'
    })
  | (AgentFields & { readonly type: 'REASONING_MESSAGE_CONTENT'; readonly messageId: string; readonly delta: string })
  | (AgentFields & { readonly type: 'REASONING_MESSAGE_END'; readonly messageId: string })
  | (AgentFields & { readonly type: 'TOOL_CALL_START'; readonly toolCallId: string; readonly toolCallName: string })
  | (AgentFields & { readonly type: 'TOOL_CALL_ARGS'; readonly toolCallId: string; readonly delta: string })
  | (AgentFields & { readonly type: 'TOOL_CALL_END'; readonly toolCallId: string })
  | (AgentFields & {
      readonly type: 'TOOL_CALL_RESULT'
      readonly messageId: string
      readonly toolCallId: string
      readonly role: 'tool'
      readonly content: string
    })
  | (AgentFields & {
      readonly type: 'ACTIVITY_SNAPSHOT'
      readonly messageId: string
      readonly activityType: string
      readonly content: Readonly<Record<string, unknown>>
    })
  | (AgentFields & {
      readonly type: 'ACTIVITY_DELTA'
      readonly messageId: string
      readonly activityType: string
      readonly patch: readonly AgUiPatch[]
    })
  | (EventFields & { readonly type: 'MESSAGES_SNAPSHOT'; readonly messages: readonly AgUiMessage[] })
  | (AgentFields & { readonly type: 'CUSTOM'; readonly name: string; readonly value: unknown })
  | (EventFields & {
      readonly type: 'SUBAGENT_STARTED'
      readonly subagentRunId: string
      readonly name: string
      readonly description?: string
      readonly parentSubagentRunId?: string
      readonly parentToolCallId?: string
    })
  | (EventFields & {
      readonly type: 'SUBAGENT_FINISHED'
      readonly subagentRunId: string
      readonly outcome:
        | { readonly type: 'success' }
        | { readonly type: 'suspended'; readonly interruptIds?: readonly string[] }
    })
  | (EventFields & {
      readonly type: 'SUBAGENT_ERROR'
      readonly subagentRunId: string
      readonly message: string
      readonly code: string
    })

/** The event of one type. */
export type AgUiEventOf<T extends AgUiEvent['type']> = Extract<AgUiEvent, { readonly type: T }>
