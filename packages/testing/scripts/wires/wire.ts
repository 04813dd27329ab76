import type { RecordedSession } from '../../src/recordings.ts'
import type { Frame } from '../tape.ts'

/** A question or a permission that waits for an answer. */
export interface Request {
  readonly type: 'question' | 'permission'
  readonly id: string
  readonly sessionID: string
}

/** What a person says: text, attached files, and settings of this prompt. */
export interface Said {
  readonly text: string
  readonly parts: readonly unknown[]
  readonly more: object
}

/** The calls and events of one generation of the server. Drivers and the kit know only these. */
export interface Wire {
  /** The path and query of the event stream. */
  readonly stream: string
  /** What every request must carry. */
  readonly headers: Readonly<Record<string, string>>
  /** The session that this event reports as idle. */
  idleIn(frame: Frame): string | undefined
  askedIn(frame: Frame): Request | undefined
  /** Whether the event says that the model is asked. */
  isStart(frame: Frame): boolean
  /** Whether the event says that the server waits before it calls the model again. */
  isRetry(frame: Frame): boolean
  /** Whether the event says that the server has a prompt. */
  isPrompt(frame: Frame): boolean
  /** Whether the event says that a run failed. */
  isFailure(frame: Frame): boolean

  create(): Promise<string>
  prompt(sessionID: string, said: Said): Promise<void>
  command(sessionID: string, name: string, words: string): Promise<void>
  shell(sessionID: string, command: string): Promise<void>
  compact(sessionID: string): Promise<void>
  abort(sessionID: string): Promise<void>
  answer(request: Request, answers: readonly (readonly string[])[]): Promise<void>
  /** Rejects a question. */
  dismiss(request: Request): Promise<void>
  permit(request: Request, answer: { readonly reply: string; readonly message?: string }): Promise<void>
  revert(sessionID: string, messageID: string): Promise<void>
  unrevert(sessionID: string): Promise<void>
  fork(sessionID: string): Promise<string>
  remove(sessionID: string): Promise<void>

  /** The ids of a session's user messages, in order. */
  users(sessionID: string): Promise<readonly string[]>
  /** The sessions that are at work. */
  working(): Promise<readonly string[]>
  /** A session's state over REST. */
  truth(sessionID: string): Promise<RecordedSession>
}

export interface Calls {
  /** The project's directory. */
  readonly directory: string
  /** Calls the server and notes the call down. Gives the JSON response, or undefined if it has no body. */
  send(method: string, path: string, body?: unknown): Promise<unknown>
  read(path: string): Promise<unknown>
}
