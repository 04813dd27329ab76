/** One piece of a scripted answer. */
export type AnswerPiece =
  /** Visible text, streamed in pieces of `chunk` code points. */
  | { readonly type: 'text'; readonly text: string; readonly chunk?: number }
  /** Thinking, streamed as the protocol does: `reasoning_content`, a `thinking` block, … */
  | { readonly type: 'reasoning'; readonly text: string; readonly chunk?: number }
  /**
   * A tool call. Its arguments are streamed in pieces of `chunk` code points. `{session}` in them becomes the last
   * session id in a result.
   */
  | { readonly type: 'tool'; readonly tool: string; readonly input: unknown; readonly chunk?: number }
  /** Answers with this HTTP status instead of a stream. Only as the first piece. */
  | { readonly type: 'error'; readonly status: number; readonly message: string; readonly headers?: Headers }
  /** Breaks the connection in mid-answer. Only as the last piece. */
  | { readonly type: 'cut' }
  /** Waits until `release(name)`, or until the client disconnects. */
  | { readonly type: 'hold'; readonly name: string }
  /** Tokens to report for this answer. The default is small. */
  | { readonly type: 'usage'; readonly input: number; readonly output: number; readonly cached?: number }
  /** The finish reason, in the protocol's own spelling. Default: the one for text or for calls. */
  | { readonly type: 'finish'; readonly reason: string }

type Headers = Readonly<Record<string, string>>

/** One answer of the model, in order. */
export type ModelAnswer = readonly AnswerPiece[]

/**
 * One model step. To script a retry, `attempts` answers the first, second, … request for this step, and the last one
 * repeats. `branches` selects by the content of the tool results and later texts of the user since the prompt.
 */
export type ScriptStep =
  | ModelAnswer
  | { readonly attempts: readonly ModelAnswer[] }
  | {
      readonly branches: readonly { readonly includes: string; readonly pieces: ModelAnswer }[]
      readonly otherwise: ModelAnswer
    }

/** The nth step answers the request that has n answered tool rounds since the message that names the script. */
export interface Script {
  /** By the number of the step. */
  readonly steps: readonly ScriptStep[]
  /** The answer to a title request. */
  readonly title?: string
  /** The answer to a summary request (compaction). May name the script that continues after it. */
  readonly summary?: ScriptStep
}

/** Scripts by the name that a prompt gives. */
export type Scripts = Readonly<Record<string, Script>>

/** Visible text, in pieces of `chunk` code points. Default: the model's own. */
export const sayText = (text: string, chunk?: number): AnswerPiece =>
  chunk === undefined ? { type: 'text', text } : { type: 'text', text, chunk }

/** Thinking before an answer. */
export const think = (text: string): AnswerPiece => ({ type: 'reasoning', text })

/** A call of the tool with that name. */
export const callTool = (name: string, input: unknown): AnswerPiece => ({ type: 'tool', tool: name, input })

/** Waits until the test releases it. See `ScriptedModel.release`. */
export const holdAnswer = (name: string): AnswerPiece => ({ type: 'hold', name })

/** Breaks the connection after what the answer has so far. */
export const cutConnection: AnswerPiece = { type: 'cut' }

/** Answers with an HTTP error. */
export const httpError = (status: number, message: string, headers?: Headers): AnswerPiece =>
  headers === undefined ? { type: 'error', status, message } : { type: 'error', status, message, headers }

/** The tokens to report for the answer. */
export const reportUsage = (input: number, output: number): AnswerPiece => ({ type: 'usage', input, output })

const token = /\[scenario:([\w./-]+)\]/g

/** Returns `[scenario:name]`. Put it into a prompt to choose the script. */
export const scenarioToken = (name: string): string => `[scenario:${name}]`

/** Returns the last scenario that a text names by its token. Undefined if it names none. */
export const scenarioIn = (text: string): string | undefined => [...text.matchAll(token)].at(-1)?.[1]
