import type { LocalFile } from '@reply/core/source'
import type { FormSchema } from '../../forms/decode.ts'

/**
 * An event from a line of `claude -p --output-format stream-json --include-partial-messages --replay-user-messages`.
 * Recorded with the versions 2.1.197 and 2.1.332. `parent` is the call that started the sub-agent of the line. Absent
 * for the session itself.
 */
export type ClaudeEvent =
  /** A turn begins: of a prompt, or of Claude Code itself, for example because a command in the background has ended. */
  | { readonly type: 'turn'; readonly model: string }
  /** The next turn, or the current one, answers the prompt with this uuid. */
  | { readonly type: 'prompt'; readonly uuid: string }
  /** Claude Code has no turn left to begin. Its tasks in the background may still work. */
  | { readonly type: 'idle' }
  /** A model call begins to answer. */
  | { readonly type: 'message'; readonly messageID: string; readonly model: string; readonly usage: ClaudeUsage }
  | { readonly type: 'delta'; readonly kind: 'text' | 'reasoning'; readonly delta: string }
  | { readonly type: 'writing'; readonly callID: string; readonly tool: string }
  /** A model call ended. `output` counts its tokens. */
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
      /** The pictures and documents of the result, and the files that it links to. `text` names each of them. */
      readonly files: readonly LocalFile[]
      /** The tool's own result. Absent for sub-agents. */
      readonly value?: unknown
      /** Whether the call only started a sub-agent, which works in the background from here on. */
      readonly isLaunch: boolean
      readonly parent?: string
    }
  /** A call started a task. Only those of the kind `agent` are sub-agents, the others are commands and watches. */
  | {
      readonly type: 'task'
      readonly kind: 'agent' | 'command'
      readonly taskID: string
      /** Absent for a task that no call started. */
      readonly callID?: string
      readonly title: string
      /** The sub-agent's prompt. Empty for a command. */
      readonly text: string
      /** Absent before 2.1.318. A call's `run_in_background` says it there. */
      readonly isBackground?: boolean
    }
  /** A task ended. It may be reported twice. */
  | {
      readonly type: 'task-ended'
      readonly taskID: string
      readonly outcome: 'completed' | 'failed' | 'aborted'
      /** What came of it, in a line. Absent if Claude Code has not said it yet. */
      readonly summary?: string
    }
  | {
      readonly type: 'ask'
      readonly requestID: string
      readonly callID: string
      readonly agentID?: string
      readonly tool: string
      readonly input: Input
      /** The rules for "always": each original suggestion, and what it allows. */
      readonly rules: readonly { readonly content: string; readonly suggestion: Input }[]
    }
  /** An MCP server asks a person: with a form, or to visit an address. */
  | {
      readonly type: 'form'
      readonly requestID: string
      readonly server: string
      readonly message: string
      readonly schema: FormSchema | undefined
      /** Absent for a form. */
      readonly url?: string
    }
  | { readonly type: 'ask-gone'; readonly requestID: string }
  /** A request of an unknown kind. It still needs an answer. */
  | { readonly type: 'unknown-request'; readonly requestID: string; readonly subtype: string }
  /** The answer to one of our requests. */
  | { readonly type: 'response'; readonly requestID: string; readonly error?: string; readonly value: unknown }
  | { readonly type: 'retry'; readonly attempt: number; readonly afterMs: number; readonly message: string }
  /** Claude Code, or a hook of it, informs people. */
  | { readonly type: 'notice'; readonly id: string; readonly text: string }
  | { readonly type: 'compaction'; readonly state: 'started' | 'done' | 'failed' }
  | {
      readonly type: 'end'
      readonly isError: boolean
      readonly isAborted: boolean
      readonly text: string
      readonly statusCode?: number
      /** `max_tokens` if the answer was cut off. */
      readonly stopReason?: string
      /** Whether Claude Code itself began the turn, because a task in the background has ended. */
      readonly isWake: boolean
      /** The cost of the turn, in US dollars. Absent before 2.1.318. */
      readonly cost?: number
      /** The cost of the process so far, in US dollars. From 2.1.318 on that of the session, also of earlier processes. */
      readonly totalCost: number
      readonly contextLimit?: number
    }

export interface ClaudeUsage {
  readonly input: number
  readonly cacheRead: number
  readonly cacheWrite: number
}

export type Input = Readonly<Record<string, unknown>>
