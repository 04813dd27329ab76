import type { ReplyStream } from './reply-stream.ts'

/** A prompt that was posted, or was about to be. Can be stored as JSON and given to `Client.resume`. */
export interface PostedPrompt {
  /** Its session: `ses_…`. */
  readonly sessionID: string
  /** The directory of its session, in the server's spelling. Absent if unknown. */
  readonly directory?: string | undefined
  /** The id of its message. Absent on servers that make the ids. */
  readonly messageID?: string | undefined
  /**
   * The session's newest message before the post. Absent if it had none. The prompt is looked for after it, so it also
   * limits how far back the session is read.
   */
  readonly after?: string | undefined
  /**
   * What the person said: servers that make the ids are asked for a message with this text. Absent for a command, and
   * for a prompt without a text: then the first user message after `after` counts.
   */
  readonly text?: string | undefined
  /** Whether it is a prompt with `noReply`: nothing runs for it. */
  readonly noReply?: true | undefined
  /** When it was about to be posted, in ms since the epoch by this computer's clock. */
  readonly at: number
}

/**
 * What the server has of a posted prompt.
 *
 * - `found`: the server has it. The stream follows its run, or has settled if that ended.
 * - `absent`: the server doesn't have it, so it can be posted.
 * - `unknown`: the server doesn't show its sessions, or keeps the note aside.
 */
export type Resumed =
  | { readonly type: 'found'; readonly stream: ReplyStream }
  | { readonly type: 'absent' }
  | { readonly type: 'unknown' }
