import type { Conversation } from './request.ts'

/** How a vendor's protocol asks for an answer and streams it. */
export interface Dialect {
  /** Whether a POST to this path asks for an answer. */
  readonly isAnswerPath: (path: string) => boolean
  /** Reads a request's body. An unknown shape counts as empty. */
  readonly readConversation: (body: unknown) => Conversation
  /** The body of an error. */
  readonly errorBody: (status: number, message: string) => unknown
  /** Whether a POST to this path asks for an answer that is not streamed. Default: none does. */
  readonly isJoinedPath?: (path: string) => boolean
  /** Makes such an answer of the frames that a stream would have. Present if `isJoinedPath` is. */
  readonly joinFrames?: (frames: readonly Frame[]) => unknown
  /** Begins one answer. */
  readonly createEncoder: (answer: Answer) => AnswerEncoder
}

/** The facts of a request that its answer depends on. */
export interface Answer {
  /** Counts the answers of one model from 1, for ids. */
  readonly number: number
  /** The model's name in the request. */
  readonly model: string
}

/** The tokens of one answer. */
interface Spent {
  readonly input: number
  readonly output: number
  readonly cached: number
}

/** Makes the frames of one answer. Called in the order of the script's pieces, between `begin` and `end`. */
export interface AnswerEncoder {
  readonly begin: (spent: Spent) => readonly Frame[]
  readonly text: (chunks: readonly string[]) => readonly Frame[]
  readonly reasoning: (chunks: readonly string[]) => readonly Frame[]
  /** A call whose input is streamed as pieces of JSON. */
  readonly tool: (call: ToolCall) => readonly Frame[]
  /** `reason` is the script's own, in the vendor's spelling. Undefined for the usual one. */
  readonly end: (spent: Spent, reason: string | undefined) => readonly Frame[]
}

/** A tool call of the model. */
interface ToolCall {
  readonly id: string
  readonly name: string
  /** Its input as JSON, in pieces. */
  readonly pieces: readonly string[]
}

/** A server-sent event. */
export interface Frame {
  /** Its name. Absent if the vendor sends none. */
  readonly event?: string
  /** JSON, or a text that is sent as it is. */
  readonly data: unknown
}
