import type { Ask, PermissionAsk, PermissionReply, QuestionAsk } from './ask.ts'
import type { Part, ReplyFailure, Tokens, ToolPart, ToolStatus } from './part.ts'
import type { Child, Compaction, Message, Outcome, Phase, Todo, Usage } from './reply.ts'

/**
 * One change of a reply. The changes of one event are listed in the order in which they happened. An event that changed
 * nothing has none.
 *
 * `index` is the part's position among all parts of the reply at that moment.
 */
export type Change =
  | { readonly type: 'replyStarted' }
  | { readonly type: 'phaseChanged'; readonly phase: Phase; readonly before: Phase }
  | { readonly type: 'messageUpdated'; readonly message: Message }
  | { readonly type: 'messageRemoved'; readonly messageID: string }
  | { readonly type: 'partAdded'; readonly part: Part; readonly index: number }
  /** `delta` is only set if the new text equals the old text plus `delta`. Without it, read `part.text` again. */
  | { readonly type: 'partChanged'; readonly part: Part; readonly index: number; readonly delta?: string | undefined }
  /**
   * The part closed. Fires at every close, even if nothing differs from the last change, so that a throttled observer
   * can flush.
   */
  | { readonly type: 'partFinalized'; readonly part: Part; readonly index: number }
  | {
      readonly type: 'partRemoved'
      readonly part: Part
      /** Where it was. */
      readonly index: number
      /** `removed`: by the server. `abandoned`: its step was retried. `reverted`: its message was undone. */
      readonly reason: 'removed' | 'abandoned' | 'reverted'
    }
  /**
   * A tool call's status advanced, or its title, input, output, files, error or metadata changed. Also fires for the first
   * status.
   */
  | {
      readonly type: 'toolProgressed'
      readonly part: ToolPart
      readonly index: number
      /** The same as `part.state.status`. */
      readonly status: ToolStatus
      /** `payload`: the status stayed, something else changed. */
      readonly changed: 'status' | 'payload'
    }
  | {
      readonly type: 'stepFinished'
      /** The step's message. */
      readonly messageID: string
      /** The cost of this step alone, in US dollars. */
      readonly cost: number
      /** The tokens of this step alone. */
      readonly tokens: Tokens
      /** Set if the step wrote the summary of a compaction. Its message isn't in `reply.messages`. */
      readonly summary?: true | undefined
    }
  | { readonly type: 'todosChanged'; readonly todos: readonly Todo[] }
  | { readonly type: 'usageChanged'; readonly usage: Usage }
  | { readonly type: 'questionAsked'; readonly ask: QuestionAsk }
  | {
      readonly type: 'questionReplied'
      readonly ask: QuestionAsk
      /** One list per question, in order: labels or free text. */
      readonly answers: readonly (readonly string[])[]
      /** In ms since the epoch. Absent if its asking was missed. */
      readonly askedAt?: number | undefined
    }
  | { readonly type: 'questionRejected'; readonly ask: QuestionAsk; readonly askedAt?: number | undefined }
  | { readonly type: 'permissionAsked'; readonly ask: PermissionAsk }
  | {
      readonly type: 'permissionReplied'
      readonly ask: PermissionAsk
      /** Not named `reply`: an observer receives the whole reply under that name. */
      readonly answer: PermissionReply
      /** In ms since the epoch. Absent if its asking was missed. */
      readonly askedAt?: number | undefined
    }
  /**
   * A pending ask changed: the input of its call became known or changed, or the server sent the same request with
   * other content. Anything shown for it before is out of date.
   */
  | { readonly type: 'askChanged'; readonly ask: Ask }
  /**
   * The ask closed without an answer and can't be answered any more: the reply ended, or the server dropped the ask.
   */
  | { readonly type: 'askWithdrawn'; readonly ask: Ask }
  | {
      readonly type: 'sessionRetried'
      /** The number of this retry, from 1. Absent if the server doesn't report it. */
      readonly attempt?: number | undefined
      /** The provider's error message. May be empty. */
      readonly message: string
      /** When the server tries again, in ms since the epoch. */
      readonly nextAt?: number | undefined
    }
  /** `text` is "Name: message". An error doesn't always end the reply: wait for `replySettled`. */
  | { readonly type: 'sessionErrored'; readonly text: string; readonly error: ReplyFailure }
  | { readonly type: 'compactionChanged'; readonly compaction: Compaction }
  | { readonly type: 'childStarted'; readonly child: Child }
  /**
   * A change inside a sub-agent's reply. `child` is that sub-agent, at any depth, and `change` is the change of its own
   * reply.
   */
  | { readonly type: 'childChanged'; readonly child: Child; readonly change: OwnChange }
  | { readonly type: 'childSettled'; readonly child: Child }
  | { readonly type: 'connectionChanged'; readonly connection: 'live' | 'lost' }
  | { readonly type: 'stalledChanged'; readonly stalled: boolean }
  /** The reply ended. Fires exactly once. Only `replyAmended` may follow. */
  | { readonly type: 'replySettled'; readonly outcome: Outcome }
  /** Late events changed the data of a settled reply. */
  | { readonly type: 'replyAmended' }

/** A change of a reply itself, not of a sub-agent's reply. */
export type OwnChange = Exclude<Change, { type: 'childChanged' }>

/** The names of the changes, which are also the names of an observer's methods. */
export type ChangeType = Change['type']

/** The change of a given type. */
export type ChangeOf<T extends ChangeType> = Extract<Change, { type: T }>
