import type { ReplyObserver } from '../../observer.ts'
import type { Reply } from '../../reply.ts'
import type { PromptInput } from '../../source/input.ts'
import type { PostedPrompt } from './posted-prompt.ts'

/** Observers of a run, and limits on it. */
export interface RunOptions {
  /**
   * Called when the reply is known. The observers that you return receive the whole reply, from its beginning to its
   * end. If another client's run turns out to have no answer to the prompt, they go on with the reply that has, and see the
   * difference. Called again then if you returned none.
   */
  readonly observe?: ((reply: Reply) => readonly ReplyObserver[]) | undefined
  /** Aborts the run. If the prompt joined a run that was already going, the run continues and only the stream ends. */
  readonly signal?: AbortSignal | undefined
  /**
   * How long the run may go without progress, in ms, before it ends as `timed-out`. Excludes the time that people take
   * to answer, but not the server's retry waits. A joined run continues, and only the stream ends. Default: no limit.
   */
  readonly timeoutMs?: number | undefined
  /**
   * Called and awaited right before the prompt is posted, with the data that `Client.resume` needs to find it again,
   * for example after a crash. If it throws or rejects, nothing is posted and the reply fails with that error. Not
   * called by `resume`, nor for a prompt that is dropped before it is posted. If the prompt is dropped during the call,
   * the stream ends without waiting for it.
   */
  readonly onPosting?: ((posted: PostedPrompt) => unknown) | undefined
}

/** Options of `resume`. */
export interface ResumeOptions extends RunOptions {
  /**
   * Called if the server has stored the prompt but never ran it, for example because it was killed in between. Return
   * the prompt. It is posted again under its stored id, so the server still has it once and runs it once. If the
   * function throws or rejects, the reply fails with that error. Called up to three times, if the connection keeps
   * breaking before anything runs. Not called for a note, nor on a server that would store the prompt twice. Default:
   * nothing is posted, and the reply fails as `NeverStarted`.
   */
  readonly again?: (() => PromptInput | Promise<PromptInput>) | undefined
}
