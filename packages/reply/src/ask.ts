export type AskStatus = 'pending' | 'answered' | 'rejected' | 'withdrawn'

interface AskFields {
  readonly requestID: string
  /** The session that asked: this one or a descendant. */
  readonly sessionID: string
  /** Where the server keeps it, as the server spells it: the answer goes there. Undefined where that was not told. */
  readonly directory: string | undefined
  /** The sessions from this reply's down to the one that asked, both included. */
  readonly path: readonly string[]
  readonly callID?: string | undefined
  readonly messageID?: string | undefined
  readonly status: AskStatus
  /** When it was first seen, ms since the epoch. Absent if only its end was seen. */
  readonly askedAt?: number | undefined
  readonly closedAt?: number | undefined
}

export interface QuestionAsk extends AskFields {
  readonly type: 'question'
  /** Empty if only its end was seen. */
  readonly questions: readonly Question[]
  /** One list per question, in order: labels or free text. Set once answered. */
  readonly answers?: readonly (readonly string[])[] | undefined
}

export interface PermissionAsk extends AskFields {
  readonly type: 'permission'
  /** What is to be done: `bash`, `edit`, `webfetch`, … Empty if only its end was seen. */
  readonly permission: string
  /** What the server checks against its rules. Not all that runs: OpenCode leaves assignments, redirects and more out. */
  readonly patterns: readonly string[]
  /** The patterns that `always` would allow from now on. `always` can be offered only if there are any. */
  readonly always: readonly string[]
  /** One line for people. */
  readonly title: string
  /** What the tool adds to its call: a diff, a path, a URL. `{}` for shell commands on servers up to 1.14. */
  readonly metadata: Readonly<Record<string, unknown>>
  /**
   * The tool call that waits for it: what runs once it is allowed. Absent until the source told the call's input, and
   * for ever where the ask names no call. It never changes once the ask is closed.
   */
  readonly call?: AskCall | undefined
  readonly reply?: PermissionReply | undefined
}

export interface AskCall {
  readonly tool: string
  /** The arguments as the model gave them. */
  readonly input: Readonly<Record<string, unknown>>
}

export type Ask = QuestionAsk | PermissionAsk

export type PermissionReply = 'once' | 'always' | 'reject'

export interface Question {
  /** A few words; may be empty. */
  readonly header: string
  readonly question: string
  readonly options: readonly QuestionOption[]
  /** More than one option may be picked. */
  readonly multiple: boolean
  /** An answer outside the options is allowed. */
  readonly custom: boolean
}

export interface QuestionOption {
  readonly label: string
  readonly description: string
}
