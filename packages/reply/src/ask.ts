export type AskStatus = 'pending' | 'answered' | 'rejected' | 'withdrawn'

interface AskFields {
  readonly requestID: string
  /** The session that asked: this one or a descendant. */
  readonly sessionID: string
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
  readonly questions: readonly Question[]
  /** One list per question, in order: labels or free text. Set once answered. */
  readonly answers?: readonly (readonly string[])[] | undefined
}

export interface PermissionAsk extends AskFields {
  readonly type: 'permission'
  /** What is to be done: `bash`, `edit`, `webfetch`, … */
  readonly permission: string
  readonly patterns: readonly string[]
  /** The patterns that `always` would allow from now on. */
  readonly always: readonly string[]
  /** One line for people. */
  readonly title: string
  readonly metadata: Readonly<Record<string, unknown>>
  readonly reply?: PermissionReply | undefined
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

/** The same permission, asked for by another call: a person is asked once, and the answer goes to both. */
export function isEqualAsk(a: Ask, b: Ask): boolean {
  if (a.type !== 'permission' || b.type !== 'permission' || a.permission !== b.permission) return false
  return a.patterns.length === b.patterns.length && a.patterns.every((pattern) => b.patterns.includes(pattern))
}
