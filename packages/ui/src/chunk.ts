import type { Ask, AskDetail, LostReason, Outcome, Question, Todo } from '@reply/core'

/** What this package adds to a text, a thought or a file, so that a page knows which one it is. */
export type UIPartMetadata = {
  /** See `UIPartInfo`. */
  readonly reply: UIPartInfo
}

/** Names a text, a thought or a file within its reply. */
export type UIPartInfo = {
  /** Its id. A text that was sent again, or that goes on behind something else, has a new one: `<id>~2`. */
  readonly part: string
  /** Set if the agent took it back. Don't show it. `uiTextOf` leaves it out. */
  readonly retracted?: true
  /** Set if it goes on with the text of the same id without `~2`, without a blank line in between. */
  readonly continues?: true
  /** The name of a file. */
  readonly filename?: string
  /** A text to show with a file. */
  readonly caption?: string
}

/** The metadata of a message. A reader gets more of it while the reply goes on. */
export interface UIMetadata {
  /** Id of the agent's session. */
  readonly sessionID?: string
  /** Prompts that joined the running reply, in order. Absent if none did. */
  readonly prompts?: readonly UIPrompt[]
  /** How the reply ended. Absent until then, also of a message that stopped at an ask. */
  readonly outcome?: Outcome
  /** Why its end was not seen. Only with the outcome `lost`. */
  readonly lostReason?: LostReason
  /** The model that answered. */
  readonly model?: { readonly providerID: string; readonly modelID: string }
  /** The tokens of the reply and all its sub-agents. */
  readonly usage?: UIUsage
  /** What the reply and all its sub-agents cost, in US dollars. */
  readonly cost?: number
  /** The last error. Always set if the outcome is `failed` or `lost`. */
  readonly error?: { readonly name: string; readonly message: string }
}

/** A prompt that joined a running reply. */
export interface UIPrompt {
  /** The agent's id of the prompt. */
  readonly id: string
  /** Its text. */
  readonly text: string
  /** The names of its files. */
  readonly files: readonly string[]
}

/** Tokens, as `Usage` of the core counts them. */
export interface UIUsage {
  /** Tokens of the input, without those in `cacheRead` and `cacheWrite`. */
  readonly input: number
  /** Tokens of the output. */
  readonly output: number
  /** Tokens of the thoughts. */
  readonly reasoning: number
  /** Tokens that the provider had in its cache. */
  readonly cacheRead: number
  /** Tokens that the provider put into its cache. */
  readonly cacheWrite: number
  /** Finished calls of the model. */
  readonly steps: number
  /** Tokens in the context after the last call. Absent if unknown. */
  readonly contextTokens?: number
  /** The size of the model's context. Absent if unknown. */
  readonly contextLimit?: number
}

/** The data of `data-ask`: a permission or a question. Its part's id is the agent's id of the ask. */
export interface UIAsk {
  /** Names the ask with its content in an answer. It changes with the content, so an old answer never allows a new command. */
  readonly id: string
  /** What is asked for. */
  readonly type: Ask['type']
  /** Only `pending` asks can be answered. */
  readonly status: Ask['status']
  /** The session that asks: that of the reply or of a sub-agent. */
  readonly sessionID: string
  /** Set if it can be answered at this tool part. Otherwise send the answer in the body. */
  readonly toolCallId?: string
  /** One line for people. */
  readonly title: string
  /** The whole call to allow. Show all of it. Absent if the input is unknown, and the call then can't be allowed. */
  readonly details?: readonly AskDetail[]
  /** The answers that a permission takes. Empty once it is closed. */
  readonly choices: readonly ('once' | 'always' | 'reject')[]
  /** What `always` would allow from then on. Absent unless it is one of the choices. */
  readonly always?: readonly string[]
  /** The questions, each with its options. Absent for a permission. */
  readonly questions?: readonly Question[]
  /** How a permission was answered. */
  readonly reply?: 'once' | 'always' | 'reject'
  /** How the questions were answered, one list for each. */
  readonly answers?: readonly (readonly string[])[]
}

/** The data of `data-agent`: a sub-agent. Its part's id is the sub-agent's session. */
export interface UIAgent {
  /** Session of the sub-agent. */
  readonly sessionID: string
  /** Session of the agent that started it. */
  readonly parentID: string
  /** Its name. Absent until it is known. */
  readonly agent?: string
  /** Its task in a few words. Absent until it is known. */
  readonly title?: string
  /** Whether it may outlive the reply. */
  readonly background: boolean
  /** What it does at the moment, as in `Reply.phase`. */
  readonly phase: 'waiting' | 'working' | 'retrying' | 'blocked' | 'settled'
  /** How it ended. Absent until then. */
  readonly outcome?: Outcome
  /** What it does, in a few words. Absent if nothing is known. */
  readonly activity?: string
  /** The tool part that started it. Absent until it is known, and if a sub-agent started it. */
  readonly toolCallId?: string
}

/** The data of `data-todos`. */
export interface UITodos {
  /** The checklist, in order. */
  readonly todos: readonly Todo[]
}

/** The data of `data-retry`, which is only passed to `onData`. */
export type UIRetry =
  | {
      /** The provider failed, and the agent waits. */
      readonly state: 'waiting'
      /** The number of the retry, from 1. */
      readonly attempt?: number
      /** The provider's error. */
      readonly message: string
      /** When it tries again, in ms since the epoch. */
      readonly nextAt?: number
    }
  | {
      /** The agent tried again. */
      readonly state: 'over'
    }

/** The data of `data-file`: a file that a browser can't load by its URL, because it is on the agent's computer. */
export interface UIFile {
  /** Its id, as in `ReplyFile`. */
  readonly id: string
  /** Its MIME type. */
  readonly mime: string
  /** Its name. */
  readonly filename?: string
  /** Its size in bytes. */
  readonly size?: number
  /** A text to show with it. */
  readonly caption?: string
}

/** The data of `data-retracted`: parts that the agent took back after they had ended. */
export interface UIRetracted {
  /** Their ids: `part` in the metadata of texts and files, `toolCallId` of tools. */
  readonly parts: readonly string[]
}

/** The data parts of a message, for `UIMessage<UIMetadata, UIDataParts>` of the AI SDK. */
export type UIDataParts = {
  /** Permissions and questions. */
  readonly ask: UIAsk
  /** Sub-agents. */
  readonly agent: UIAgent
  /** The checklist. */
  readonly todos: UITodos
  /** Files that a browser can't load. */
  readonly file: UIFile
  /** What the agent took back. */
  readonly retracted: UIRetracted
  /** A failed call of the provider. */
  readonly retry: UIRetry
}

/** A chunk of a UI message stream of the AI SDK 6, also read by 7. It fits `UIMessageChunk` of `ai`. */
export type UIChunk =
  | { readonly type: 'start'; readonly messageId?: string; readonly messageMetadata: UIMetadata }
  | { readonly type: 'message-metadata'; readonly messageMetadata: UIMetadata }
  | { readonly type: 'start-step' }
  | { readonly type: 'finish-step' }
  | {
      readonly type: 'text-start' | 'reasoning-start'
      readonly id: string
      readonly providerMetadata: UIPartMetadata
    }
  | { readonly type: 'text-delta' | 'reasoning-delta'; readonly id: string; readonly delta: string }
  | {
      readonly type: 'text-end' | 'reasoning-end'
      readonly id: string
      readonly providerMetadata?: UIPartMetadata
    }
  | {
      readonly type: 'tool-input-start'
      readonly toolCallId: string
      readonly toolName: string
      readonly dynamic: true
      readonly providerExecuted: boolean
      readonly title?: string
    }
  | {
      readonly type: 'tool-input-available'
      readonly toolCallId: string
      readonly toolName: string
      readonly input: unknown
      readonly dynamic: true
      readonly providerExecuted: boolean
      readonly title?: string
    }
  | {
      readonly type: 'tool-approval-request'
      readonly toolCallId: string
      readonly approvalId: string
      /** The `UIAsk`, only with version 7. */
      readonly approvalDescriptor?: UIAsk
    }
  | {
      readonly type: 'tool-output-available'
      readonly toolCallId: string
      readonly output: string
      readonly dynamic: true
      readonly providerExecuted: boolean
      readonly preliminary?: true
    }
  | {
      readonly type: 'tool-output-error'
      readonly toolCallId: string
      readonly errorText: string
      readonly dynamic: true
      readonly providerExecuted: boolean
    }
  | { readonly type: 'tool-output-denied'; readonly toolCallId: string }
  | {
      readonly type: 'file'
      readonly url: string
      readonly mediaType: string
      readonly providerMetadata: UIPartMetadata
    }
  | { readonly type: 'data-ask'; readonly id: string; readonly data: UIAsk }
  | { readonly type: 'data-agent'; readonly id: string; readonly data: UIAgent }
  | { readonly type: 'data-todos'; readonly id: string; readonly data: UITodos }
  | { readonly type: 'data-file'; readonly id: string; readonly data: UIFile }
  | { readonly type: 'data-retracted'; readonly id: string; readonly data: UIRetracted }
  | { readonly type: 'data-retry'; readonly data: UIRetry; readonly transient: true }
  | { readonly type: 'abort'; readonly reason?: string }
  | {
      readonly type: 'finish'
      readonly finishReason: 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other'
      readonly messageMetadata: UIMetadata
    }

/** A chunk of a UI message stream of the AI SDK 7. It fits `UIMessageChunk` of `ai` 7. */
export type UIChunk7 =
  | UIChunk
  /** Takes back all parts of the current step. They follow anew. */
  | { readonly type: 'reset-step' }
  /** A prompt that joined the running reply. */
  | {
      readonly type: 'steering-message'
      readonly id: string
      readonly parts: { readonly type: 'text'; readonly text: string }[]
    }
  | { readonly type: 'tool-approval-response'; readonly approvalId: string; readonly approved: boolean }
