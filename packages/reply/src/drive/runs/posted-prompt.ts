import type { ReplyStream } from './reply-stream.ts'

/** A prompt that was posted, or was about to be. Store it as JSON and pass it to `Client.resume`. */
export interface PostedPrompt {
  /** The id of its session, `ses_…`. */
  readonly sessionID: string
  /** The session's directory, in the server's spelling. Absent if unknown. */
  readonly directory?: string | undefined
  /** The id of its message. Absent if the server makes the ids itself. */
  readonly messageID?: string | undefined
  /**
   * The id of the session's newest message before the post. Absent if there was none. `resume` only reads messages
   * after it.
   */
  readonly after?: string | undefined
  /**
   * The prompt's text. On servers that make the ids, `resume` looks for a message with this text. Absent for a command
   * and for a prompt without a text, which match the first user message after `after`.
   */
  readonly text?: string | undefined
  /**
   * How many prompts of the session had the same text before the post, so that `resume` doesn't take one of them for
   * this one. Absent if the server keeps the ids of prompts. If it is absent otherwise, `resume` only finds the prompt if
   * the server reports its time, or if no other prompt has the text.
   */
  readonly sameTextBefore?: number | undefined
  /** Set for a prompt with `noReply`, which runs nothing. */
  readonly noReply?: true | undefined
  /** When it was about to be posted, in ms since the epoch by this computer's clock. */
  readonly at: number
}

/**
 * Whether the server has a posted prompt.
 *
 * - `found`: the server has it. The stream follows its run, or has settled if the run ended.
 * - `absent`: the server doesn't have it, so you can post it.
 * - `unknown`: the server doesn't show its sessions, or stores the note elsewhere. Or it doesn't keep the ids of prompts,
 *   and the prompt can't be told apart from others with the same text.
 */
export type Resumed =
  | { readonly type: 'found'; readonly stream: ReplyStream }
  | { readonly type: 'absent' }
  | { readonly type: 'unknown' }
