/**
 * What a line of Claude Code says: `claude -p --output-format stream-json --include-partial-messages`. Recorded with
 * version 2.1.197. `parent` is the call of the sub-agent that it is about; absent for the session itself.
 */
export type ClaudeSaid =
  | { readonly type: 'init'; readonly model: string }
  /** A call of the model begins to answer. */
  | { readonly type: 'message'; readonly messageID: string; readonly model: string; readonly usage: ClaudeUsage }
  | { readonly type: 'delta'; readonly kind: 'text' | 'reasoning'; readonly delta: string }
  | { readonly type: 'writing'; readonly callID: string; readonly tool: string }
  /** A call of the model ended. `output` counts its tokens. */
  | { readonly type: 'step'; readonly output: number }
  | {
      readonly type: 'text'
      readonly kind: 'text' | 'reasoning'
      readonly text: string
      readonly isOwn: boolean
      readonly parent?: string
    }
  | {
      readonly type: 'call'
      readonly callID: string
      readonly tool: string
      readonly input: Input
      readonly parent?: string
    }
  | {
      readonly type: 'result'
      readonly callID: string
      readonly isError: boolean
      readonly text: string
      /** The tool's own result. Absent for sub-agents. */
      readonly value?: unknown
      readonly parent?: string
    }
  /** A call started a sub-agent. */
  | {
      readonly type: 'agent'
      readonly callID: string
      readonly agentID: string
      readonly title: string
      readonly text: string
    }
  | {
      readonly type: 'ask'
      readonly requestID: string
      readonly callID: string
      readonly agentID?: string
      readonly tool: string
      readonly input: Input
      /** What would be allowed for good: the suggestions that add rules, as they came, and what they allow. */
      readonly rules: readonly { readonly content: string; readonly suggestion: Input }[]
    }
  | { readonly type: 'ask-gone'; readonly requestID: string }
  /** A request that is not known here. It waits for an answer. */
  | { readonly type: 'unknown-request'; readonly requestID: string; readonly subtype: string }
  /** The answer to a request of ours. */
  | { readonly type: 'response'; readonly requestID: string; readonly error?: string; readonly value: unknown }
  | { readonly type: 'retry'; readonly attempt: number; readonly afterMs: number; readonly message: string }
  | { readonly type: 'compaction'; readonly state: 'started' | 'done' }
  | {
      readonly type: 'end'
      readonly isError: boolean
      readonly isAborted: boolean
      readonly text: string
      readonly statusCode?: number
      /** `max_tokens` if the answer was cut off. */
      readonly stopReason?: string
      /** Of the whole process so far, in US dollars. */
      readonly totalCost: number
      readonly contextLimit?: number
    }

export interface ClaudeUsage {
  readonly input: number
  readonly cacheRead: number
  readonly cacheWrite: number
}

export type Input = Readonly<Record<string, unknown>>
