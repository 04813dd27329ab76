export type AskStatus = 'pending' | 'answered' | 'rejected' | 'withdrawn'

interface AskFields {
  readonly requestID: string
  /** The session that asked: this one or a descendant. */
  readonly sessionID: string
  /** The ask's directory in the server's spelling; answers are sent there. Undefined if the server didn't name it. */
  readonly directory: string | undefined
  /** The session ids from this reply's session down to the asking one, both included. */
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
  /** The permission asked for: `bash`, `edit`, `webfetch`, … Empty if only its end was seen. */
  readonly permission: string
  /**
   * What the server checks against its rules. Not everything that runs: OpenCode leaves out assignments, redirects and
   * more.
   */
  readonly patterns: readonly string[]
  /** The patterns that `always` would allow from now on. Offer `always` only if this is not empty. */
  readonly always: readonly string[]
  /** One line for people. */
  readonly title: string
  /** What the tool adds to its call: a diff, a path, a URL. `{}` for shell commands on servers up to 1.14. */
  readonly metadata: Readonly<Record<string, unknown>>
  /**
   * The tool call that runs once the permission is allowed. Absent until the source sends the call's input, and always
   * if the ask names no call. Never changes after the ask is closed.
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
  /** Whether several options may be picked. */
  readonly multiple: boolean
  /** Free text is allowed besides the options. */
  readonly custom: boolean
}

export interface QuestionOption {
  readonly label: string
  readonly description: string
}
