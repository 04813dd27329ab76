import type { RecordedSession } from '../../src/recordings.ts'
import type { Frame } from '../tape.ts'

/** A question or a permission that waits for an answer. */
export interface Request {
  readonly type: 'question' | 'permission'
  readonly id: string
  readonly sessionID: string
}

/** A person's prompt: text, attached files, and settings of this prompt. */
interface Prompt {
  readonly text: string
  readonly parts: readonly unknown[]
  readonly more: object
}

/** The calls and events of one generation of the server. Drivers and the kit know only these. */
export interface Wire {
  /** The path and query of the event stream. */
  readonly stream: string
  /** The headers that every request must have. */
  readonly headers: Readonly<Record<string, string>>
  /** The session that this event reports as idle. Undefined for any other event. */
  idleIn(frame: Frame): string | undefined
  /** The question or permission that this event reports as asked. Undefined for any other event. */
  askedIn(frame: Frame): Request | undefined
  /** Whether the event says that the model is called. */
  isStart(frame: Frame): boolean
  /** Whether the event says that the server waits before it calls the model again. */
  isRetry(frame: Frame): boolean
  /** Whether the event says that the server has a prompt. */
  isPrompt(frame: Frame): boolean
  /** Whether the event says that a run failed. */
  isFailure(frame: Frame): boolean

  /** Creates a session, and resolves with its id. */
  create(): Promise<string>
  prompt(sessionID: string, prompt: Prompt): Promise<void>
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
  /** Forks a session, and resolves with the new one's id. */
  fork(sessionID: string): Promise<string>
  remove(sessionID: string): Promise<void>

  /** The ids of a session's user messages, in order. */
  users(sessionID: string): Promise<readonly string[]>
  /** The ids of the sessions that are running. */
  working(): Promise<readonly string[]>
  /** A session's state over REST. */
  truth(sessionID: string): Promise<RecordedSession>
}

/** The project, and the calls that a wire makes. See `Kit`. */
export interface Calls {
  /** The project's directory. */
  readonly directory: string
  /** Calls the server and records the call. Resolves with the JSON response, or undefined if it has no body. */
  send(method: string, path: string, body?: unknown): Promise<unknown>
  read(path: string): Promise<unknown>
}
