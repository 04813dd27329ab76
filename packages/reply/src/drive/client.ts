import type { Ask } from '../ask.ts'
import type { ChangeType } from '../change.ts'
import type { Observe } from '../observer.ts'
import type { CommandInput, PromptInput } from '../source/input.ts'
import type { Answer } from './asks/check-answers.ts'
import type { WatchOptions, WatchTarget } from './connection/watch.ts'
import type { Queries } from './queries.ts'
import type { PostedPrompt, Resumed } from './runs/posted-prompt.ts'
import type { ReplyStream } from './runs/reply-stream.ts'
import type { ResumeOptions, RunOptions } from './runs/run-options.ts'
import type { StopTarget } from './runs/stop/stop-target.ts'

/** A connection to one OpenCode server. It reconnects by itself until `close`. */
export interface Client extends Queries {
  /**
   * Resolves when the stream is first up. Rejects if the first attempt finds no server or is refused, or if streams
   * keep breaking off for `connectTimeoutMs`. Retries continue either way.
   */
  readonly ready: Promise<void>
  /**
   * Posts a prompt when the stream is up, so that the server takes it once, also if it is killed and started again before
   * it runs the prompt. Without a `sessionID` it creates a session.
   */
  prompt(input: PromptInput, options?: RunOptions): ReplyStream
  /** Runs one of the server's slash commands. */
  command(input: CommandInput, options?: RunOptions): ReplyStream
  /**
   * Finds the run of a prompt that an earlier process posted or was about to post: see `Resumed`. Posts only with
   * `again`. Observers receive the reply as in `prompt`; `joined` says whether another prompt began the run. A prompt that
   * the server has but never ran is posted again with `again`; else it fails as `NeverStarted` after half a minute. Says
   * `absent` 10 s after the post at the earliest, because the server may still be storing the prompt. Rejects if the server can't be read, with `gone` if the session is.
   */
  resume(posted: PostedPrompt, options?: ResumeOptions): Promise<Resumed>
  /** Observes every reply of a session, directory or server, even running ones. Returns a function that stops it. */
  watch(target: WatchTarget, options: WatchOptions): () => void
  /**
   * Calls the listener with each change of this type, in every reply that the server reports from now on, also to other
   * clients' prompts; `reply.sessionID` says whose. For example `client.on('replySettled', ({ reply, outcome }) => …)`. The
   * same rules hold as for observers: nothing is awaited, and a listener that throws is reported to `onError`, without
   * stopping the others. Runs after the reply's observers. To also receive what a running reply did before, use `watch`.
   * Returns a function that removes the listener.
   */
  on<T extends ChangeType>(type: T, listener: Observe<T>): () => void
  /**
   * Answers a question or allows a permission, together with all equal asks (see `isEqualAsk`). Rejects with `invalid`
   * if the answer doesn't fit or the ask has changed since that copy of it was taken; with `already-resolved` if it is
   * too late. A copy without `call` is allowed unseen: let a person allow only what `askDetails` shows.
   */
  answer(ask: Ask, answer: Answer): Promise<void>
  /** Rejects an ask. OpenCode passes a message to the model and continues. Only permissions take one. */
  reject(ask: Ask, message?: string): Promise<void>
  /**
   * Ends all work in a session and its sub-agents, even if another client or an earlier run of this program started it;
   * see `StopTarget`. From the call on, their asks can't be answered. Resolves once the server is seen at rest with
   * nothing pending, also if it already was. Rejects with `not-stopped` if that isn't seen within 30 s, with `gone` if
   * the server doesn't know the session.
   */
  abort(target: StopTarget): Promise<void>
  /** Closes the stream. Open replies end as `lost` here; on the server they continue. */
  close(): Promise<void>
}
