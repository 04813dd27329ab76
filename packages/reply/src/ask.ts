/**
 * `pending`: waits for a person. `answered`, `rejected`: by a person, here or in another client. `withdrawn`: closed
 * without an answer, because the reply ended or the server dropped the ask.
 */
export type AskStatus = 'pending' | 'answered' | 'rejected' | 'withdrawn'

/** Fields of questions and permissions. */
interface AskFields {
  /** The ask's id as the server assigned it: `que_…` for a question, `per_…` for a permission. */
  readonly requestID: string
  /** The session that asked: this one or a descendant. */
  readonly sessionID: string
  /** The ask's directory in the server's spelling. Answers are sent there. Undefined if the server didn't name it. */
  readonly directory: string | undefined
  /** The session ids from this reply's session down to the asking one, both included. */
  readonly path: readonly string[]
  /** The tool call that asks. Absent if the ask names none. */
  readonly callID?: string | undefined
  /** The assistant message with that call. Absent if the ask names none. */
  readonly messageID?: string | undefined
  /** Only `pending` asks can be answered. */
  readonly status: AskStatus
  /**
   * When it was first seen, in ms since the epoch. Never goes back within a process, and other processes can compare
   * it, also after a restart. If the computer's clock is set forward before `closedAt`, the time between the two
   * includes that step. Absent if only its end was seen.
   */
  readonly askedAt?: number | undefined
  /** When its end was received, in ms since the epoch. Absent while it is pending. */
  readonly closedAt?: number | undefined
}

/** The model asks one or more questions, and waits for the answers to all of them. */
export interface QuestionAsk extends AskFields {
  readonly type: 'question'
  /** Empty if only its end was seen. */
  readonly questions: readonly Question[]
  /** One list per question, in order: labels or free text. Set once answered. */
  readonly answers?: readonly (readonly string[])[] | undefined
}

/** A tool call waits until a person allows or rejects it. */
export interface PermissionAsk extends AskFields {
  readonly type: 'permission'
  /** The permission asked for: `bash`, `edit`, `webfetch`, … Empty if only its end was seen. */
  readonly permission: string
  /**
   * The patterns that the server checks against its rules, for example `npm test`. Don't show them as the command:
   * OpenCode leaves out assignments, redirects and more.
   */
  readonly patterns: readonly string[]
  /** The patterns that `always` would allow from now on. Call `alwaysOffer` before you offer it. */
  readonly always: readonly string[]
  /** One line for people. */
  readonly title: string
  /**
   * Data that the tool adds to its call, for example a diff, a path or a URL. `{}` for shell commands on servers up to
   * 1.14.
   */
  readonly metadata: Readonly<Record<string, unknown>>
  /**
   * The tool call that runs once the permission is allowed. Absent until the source sends the call's input, always if
   * the ask names no call, and while several unfinished calls have the id that it names: providers may repeat ids.
   * Never changes after the ask is closed.
   */
  readonly call?: AskCall | undefined
  /** How it was answered. Absent while it is pending, and if it was withdrawn. */
  readonly reply?: PermissionReply | undefined
}

/** A tool call that waits for a permission. */
export interface AskCall {
  /** The tool's name: `bash`, `edit`, … */
  readonly tool: string
  /** The arguments as the model gave them. */
  readonly input: Readonly<Record<string, unknown>>
}

/** A question or a permission request during a run. Answer it with `Client.answer` or `Client.reject`. */
export type Ask = QuestionAsk | PermissionAsk

/**
 * `once`: this call only. `always`: also later calls that fit the ask's `always` patterns. `reject`: the call isn't
 * made.
 */
export type PermissionReply = 'once' | 'always' | 'reject'

/** One question of a `QuestionAsk`. */
export interface Question {
  /** A short title, for example "Database". May be empty. */
  readonly header: string
  /** The whole question. May contain Markdown. */
  readonly question: string
  /** The choices, in the model's order. Empty if only free text is expected. */
  readonly options: readonly QuestionOption[]
  /** Whether several options may be picked. */
  readonly multiple: boolean
  /** Free text is allowed besides the options. */
  readonly custom: boolean
}

/** One choice of a question. */
export interface QuestionOption {
  /** The choice in a few words. Pass this label to `Client.answer` to pick it. */
  readonly label: string
  /** Explains the choice. Empty if the model gave no explanation. */
  readonly description: string
}
