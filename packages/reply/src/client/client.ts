import type { Ask } from '../ask.ts'
import type { ChangeType } from '../change.ts'
import type { Answer } from '../drive/asks/check-answers.ts'
import type { WatchOptions, WatchTarget } from '../drive/connection/watch.ts'
import type { PostedPrompt, Resumed } from '../drive/runs/posted-prompt.ts'
import type { ReplyStream } from '../drive/runs/reply-stream.ts'
import type { ResumeOptions, RunOptions } from '../drive/runs/run-options.ts'
import type { Observe } from '../observer.ts'
import type { CommandInput, PromptInput } from '../source/input.ts'
import type { Queries } from './queries.ts'
import type { StopTarget } from './stop-target.ts'

/** A connection to one agent server. It reconnects automatically until you call `close`. */
export interface Client extends Queries {
  /**
   * Resolves when the event stream is up for the first time. Rejects if the first attempt finds no server or is
   * refused, or if streams keep breaking for `connectTimeoutMs`. The client keeps retrying in either case.
   */
  readonly ready: Promise<void>
  /**
   * Posts a prompt once the stream is up. A prompt never runs twice. If it is unknown whether it runs, the reply says so:
   * `failed` with `NeverStarted`, or `lost`. Creates a session if you pass no `sessionID`. For example `await
   * client.prompt({ text: 'Fix the tests.' }).result`.
   */
  prompt(input: PromptInput, options?: RunOptions): ReplyStream
  /** Runs one of the server's slash commands, for example `client.command({ command: 'review' })`. */
  command(input: CommandInput, options?: RunOptions): ReplyStream
  /**
   * Finds the run of a prompt that an earlier process posted or was about to post (see `Resumed`). Your observers
   * receive the reply as with `prompt`. `joined` tells you whether another prompt began the run. Posts nothing, unless
   * you pass `again` and the server has the prompt but never ran it. Without `again`, such a prompt fails as
   * `NeverStarted` after half a minute. Returns `absent` 10 s after the post at the earliest, because the server may
   * still be storing the prompt. Rejects if the server can't be read, with `gone` if the session no longer exists.
   */
  resume(posted: PostedPrompt, options?: ResumeOptions): Promise<Resumed>
  /**
   * Observes every reply of a session, a directory or the whole server, including replies that are already running.
   * Returns a function that stops watching.
   */
  watch(target: WatchTarget, options: WatchOptions): () => void
  /**
   * Calls the listener with each change of this type, in every reply that the server reports from now on. That includes
   * prompts of other clients, unless this one only follows its own sessions (see `ConnectOptions.follow`).
   * `reply.sessionID` tells you the session. For example `client.on('replySettled', ({ reply, outcome }) => …)`.
   * Listeners follow the rules of observers: they aren't awaited, and an error that one throws goes to `onError` without
   * stopping the others. They run after the reply's observers. Use `watch` if you also need what a running reply did
   * before. Returns a function that removes the listener.
   */
  on<T extends ChangeType>(type: T, listener: Observe<T>): () => void
  /**
   * Answers a question or allows a permission, together with all equal asks (see `isEqualAsk`). Rejects with `invalid`
   * if the answer doesn't fit, or if the ask has changed since you took your copy of it. Rejects with
   * `already-resolved` if it is too late. A copy without `call` is allowed unseen, so only let people allow what
   * `askDetails` shows.
   */
  answer(ask: Ask, answer: Answer): Promise<void>
  /** Rejects an ask. OpenCode passes the message to the model and continues. Only permissions take a message. */
  reject(ask: Ask, message?: string): Promise<void>
  /**
   * Ends all work in a session and its sub-agents, including work that another client or an earlier run of your program
   * started (see `StopTarget`). From the call on, asks of these sessions can't be answered. Resolves once the server is
   * idle there with nothing pending, which may be at once. Rejects with `not-stopped` if that takes longer than 30 s,
   * and with `gone` if the server doesn't know the session.
   */
  abort(target: StopTarget): Promise<void>
  /** Closes the connection. Open replies end as `lost` here. On the server they continue. */
  close(): Promise<void>
}
