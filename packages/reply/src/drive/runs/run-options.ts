import type { ReplyObserver } from '../../observer.ts'
import type { Reply } from '../../reply.ts'
import type { PromptInput } from '../../source/input.ts'
import type { PostedPrompt } from './posted-prompt.ts'

/** Observers of a run, and limits on it. */
export interface RunOptions {
  /** Called once, when the reply is known; the returned observers receive the reply from its beginning to its end. */
  readonly observe?: ((reply: Reply) => readonly ReplyObserver[]) | undefined
  /** Aborts the run. If this prompt joined a run that was already going, the run continues and only the stream ends. */
  readonly signal?: AbortSignal | undefined
  /**
   * How long the run may go without progress, in ms, before it ends as `timed-out`. Excludes time that people take to
   * answer, but not the server's retry waits. A joined run continues; only the stream ends. Default: no limit.
   */
  readonly timeoutMs?: number | undefined
  /**
   * Called and awaited right before the prompt is posted, with what `Client.resume` needs to find it again, such as
   * after a crash. If it throws or rejects, nothing is posted and the reply fails with that error. Not called for a
   * prompt that is dropped before, nor by `resume`.
   */
  readonly onPosting?: ((posted: PostedPrompt) => unknown) | undefined
}

/** Options of `resume`. */
export interface ResumeOptions extends RunOptions {
  /**
   * Called if the server has stored the prompt, but nothing ran or runs for it, as when it was killed in between. Returns
   * the prompt, which is posted again under the id that it has there, so that the server still has it once and runs it
   * once. If it throws or rejects, the reply fails with that error. Called up to three times, if the connection breaks off
   * again before anything runs. Not called for a note, nor with a server that would store it twice: OpenCode 1 replaces it. Default: nothing is posted, and the reply fails as `NeverStarted`.
   */
  readonly again?: (() => PromptInput | Promise<PromptInput>) | undefined
}
