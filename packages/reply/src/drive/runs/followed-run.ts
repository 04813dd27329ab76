import { within } from '../../clock.ts'
import { observersOf } from '../../dispatch.ts'
import { ReplyError } from '../../error.ts'
import type { ReplyObserver } from '../../observer.ts'
import type { Reduction } from '../../reduce/reduce.ts'
import { diff } from '../../track/diff.ts'
import type { LiveReply } from '../replies.ts'
import { type AbortRequest, postMs } from '../stop/abort.ts'
import type { FoundReply } from './recognize.ts'
import { createReplyStream, type ReplyStream } from './reply-stream.ts'
import type { RunOptions } from './run-options.ts'
import type { RunRequest, RunServer } from './run-server.ts'
import { type StandInEnd, sendToObservers, standIn } from './stand-in.ts'
import { isBegunByOther, whenFirstPromptShown } from './whose-run.ts'

/**
 * One prompt's stream and its control, from before the post to the end of its run. The `end…` functions do nothing once
 * the stream is attached or has ended.
 */
export interface FollowedRun {
  readonly stream: ReplyStream
  /** Aborts when the run must end although its reply wasn't found yet. A waiting prompt is withdrawn instead. */
  readonly mustEnd: AbortSignal
  /** Aborts when only the prompt must be withdrawn if it still waits. A run that it joined goes on. */
  readonly dropped: AbortSignal
  /** Aborts when the stream has its result, so the search can stop. */
  readonly over: AbortSignal
  /** Whether the caller asked to end the run or to leave it. */
  isStopped(): boolean
  /** Whether the reply was found. */
  isAttached(): boolean
  /** Records that the server may have the prompt. From now on, a stop has to reach the server. */
  markPosted(post: SentPrompt): void
  /**
   * Connects the stream and the observers to the reply until it ends, and starts the time-out. If the caller has asked
   * to stop, ends or leaves the run. After `detach`, they go on from what they have. If the caller returned no observers
   * then, it is asked again.
   */
  attach(live: LiveReply, foundReply: FoundReply): void
  /** Disconnects the stream and the observers from a reply that isn't the prompt's, before they get the present step. */
  detach(): void
  /** Ends the stream as aborted, because nothing ran for the prompt and nothing will. */
  endAsAborted(sessionID: string): void
  /** Ends the stream as failed, because nothing runs on the server. */
  endAsFailed(sessionID: string, error: unknown): void
  /** Ends the stream with a stand-in reply, because nothing runs on the server. */
  endWithStandIn(sessionID: string, end: StandInEnd): void
  /** Ends the stream with a settled reply. `joined`: another prompt began its run. */
  endWithRun(step: Reduction, joined: boolean): void
}

export interface SentPrompt {
  /** The id of the prompt's message, if known. */
  readonly messageID: string | undefined
  /** Settles when the server has responded. */
  readonly answered: Promise<unknown>
  /** Cancels the post, also if it was sent. The server may have the prompt nevertheless. Does nothing once it has responded. */
  readonly cancel: () => void
}

/**
 * Creates the stream of one prompt. `abort` ends its run on the server, even a shared one. A signal or a timeout ends
 * only a run that this prompt began, and otherwise only leaves it. If the connection is closed before the reply is
 * found, the stream ends as failed. Throws `invalid` for a bad `timeoutMs`.
 */
export function createFollowedRun(
  server: RunServer,
  request: Pick<RunRequest, 'kind' | 'text'> & { readonly sessionID?: string | undefined },
  options: RunOptions,
): FollowedRun {
  const { engine, clock, onError } = server
  const { kind, sessionID: requestedID = '' } = request
  const { signal, timeoutMs } = options
  checkTimeout(options)
  /** The reply that includes the prompt. Undefined until it is found. */
  let live: LiveReply | undefined
  /** Empty until the reply is found, and if the caller returned none for it. */
  let observers: readonly ReplyObserver[] = []
  let stopObserving = (): void => {}
  /** Undefined until the prompt is posted. */
  let sentPrompt: SentPrompt | undefined
  /** The caller's request: end the run, or leave it if others began it. */
  let stopRequest: 'abort' | 'leave' | undefined = signal?.aborted ? 'leave' : undefined
  let hasEnded = false
  const mustEnd = new AbortController()
  const dropped = new AbortController()
  const over = new AbortController()
  const stopClosed = server.onClosed(() => {
    over.abort()
    endAsFailed(requestedID, new ReplyError('closed', 'The connection was closed before the reply began.'))
  })
  const source = createReplyStream(abort)
  const hold = server.following.hold(request.sessionID)
  signal?.addEventListener('abort', dropAbortOrLeave, { once: true })
  void source.stream.result.then(() => {
    hold.release()
    stopClosed()
    over.abort()
    signal?.removeEventListener('abort', dropAbortOrLeave)
  })
  return {
    stream: source.stream,
    mustEnd: mustEnd.signal,
    dropped: dropped.signal,
    over: over.signal,
    isStopped: () => stopRequest !== undefined,
    isAttached: () => live !== undefined,
    markPosted: (sent) => {
      sentPrompt = sent
    },
    attach,
    detach,
    endAsAborted,
    endAsFailed,
    endWithStandIn,
    endWithRun,
  }

  /**
   * Connects the stream and the observers to the reply, starts the time-out, and stops the run if the caller has asked
   * for it.
   */
  function attach(next: LiveReply, { reply, joined }: FoundReply): void {
    live = next
    hold.cover(next.sessionID)
    const seen = observers.length > 0 ? source.stream.reply : undefined
    source.attach(next, joined)
    if (observers.length === 0) observers = observersOf(options.observe, reply, onError)
    stopObserving = next.observe(observers, seen)
    // Deferred, because this runs within a step and the stall timer receives the reply right after it.
    if (timeoutMs !== undefined)
      queueMicrotask(() => {
        if (isCurrent(server, next))
          server.stallTimer.addTimeout(next.sessionID, timeoutMs, () => abortAsTimedOut(next))
      })
    if (stopRequest === 'abort') void abortIfRunning(next)
    else if (stopRequest === 'leave') dropAbortOrLeave()
  }

  /** Disconnects the stream and the observers from the reply. They keep what they have of it. */
  function detach(): void {
    live = undefined
    source.detach()
    stopObserving()
  }

  /**
   * Ends the run on the server, even a joined one. Before the post, ends the stream as aborted instead. Does nothing to
   * a note that was posted, because it has no run. If the reply isn't found yet, waits for the post, cancels that
   * after `postMs`, and aborts `mustEnd` if it still isn't.
   */
  async function abort(): Promise<void> {
    stopRequest = 'abort'
    if (!live && !sentPrompt) return endAsAborted(requestedID)
    if (kind === 'note') return
    // Waits for the post, because an abort that overtakes it would leave the run going. Doesn't wait for a command,
    // whose post lasts until its run ends.
    const answered = kind === 'command' ? undefined : sentPrompt?.answered
    if (!live && answered)
      await within(
        clock,
        postMs,
        answered.catch(() => {}),
      )
    if (live) return await abortIfRunning(live, { posting: sentPrompt && { answered, cancel: sentPrompt.cancel } })
    if (kind !== 'command') sentPrompt?.cancel()
    mustEnd.abort()
  }

  /**
   * Aborts the reply's run on the server, and waits for the outcome. Does nothing if it has ended, because the session
   * may be running another. A run that could not be stopped before counts as running.
   */
  async function abortIfRunning(reply: LiveReply, how: AbortRequest = {}): Promise<void> {
    if (isCurrent(server, reply) || mayStillRun(reply)) await server.aborting.abort(reply.sessionID, how)
  }

  /** Whether the run may still be going: its abort could not be confirmed, and no newer run of the session is known. */
  function mayStillRun(reply: LiveReply): boolean {
    return reply.reply().lostReason === 'not-stopped' && engine.replies.newest(reply.sessionID) === reply
  }

  /**
   * Handles the caller's signal. Ends the stream as aborted before the post. Leaves a note, or a run that another
   * prompt began, and otherwise aborts the run. Aborts `dropped` if the reply isn't found yet.
   */
  function dropAbortOrLeave(): void {
    stopRequest ??= 'leave'
    if (!live && !sentPrompt) return endAsAborted(requestedID)
    if (kind === 'note' || isShared()) return source.stream.leave()
    // Until the run is found, it isn't known which prompt began it.
    if (live) void abortUnlessShared(live)
    else dropped.abort()
  }

  /**
   * Waits until the run shows its first prompt, then aborts the run if that prompt is this one, and otherwise leaves
   * it. Another client may have prompted the idle session at the same time. If it isn't this prompt's run at all, aborts
   * `dropped`. Doesn't wait if the prompt's id is unknown.
   */
  async function abortUnlessShared(reply: LiveReply): Promise<void> {
    if (sentPrompt?.messageID !== undefined) await whenFirstPromptShown(reply, clock, sentPrompt.answered)
    if (isShared()) source.stream.leave()
    else if (live === reply) await abort()
    else dropped.abort()
  }

  /**
   * Aborts the run as `timed-out`, or leaves a run that another prompt began. Does nothing if the run has ended, or
   * isn't the prompt's.
   */
  function abortAsTimedOut(reply: LiveReply): void {
    if (live !== reply) return
    if (isShared()) source.stream.leave()
    else void abortIfRunning(reply, { reason: 'timed-out' })
  }

  /** Whether another prompt began the run. False while that isn't known. */
  function isShared(): boolean {
    return source.stream.joined === true || (live !== undefined && isBegunByOther(live.reply(), sentPrompt?.messageID))
  }

  /** Ends the stream with a stand-in reply that is aborted. Does nothing once attached or ended. */
  function endAsAborted(sessionID: string): void {
    endWithStandIn(sessionID, { type: 'aborted' })
  }

  /** Ends the stream with a stand-in reply that failed. Does nothing once attached or ended. */
  function endAsFailed(sessionID: string, error: unknown): void {
    endWithStandIn(sessionID, { type: 'failed', error })
  }

  /** Ends the stream with a settled reply that ends this way. Does nothing once attached or ended. */
  function endWithStandIn(sessionID: string, end: StandInEnd): void {
    if (!live && !hasEnded) endWithRun(standIn(sessionID, request.text, clock.now(), end), false)
  }

  /**
   * Ends the stream with a settled reply, and sends it to the observers. Errors of observers go to `onError`. Does
   * nothing once attached or ended.
   */
  function endWithRun(step: Reduction, joined: boolean): void {
    if (live || hasEnded) return
    hasEnded = true
    const shown = observers.length > 0 ? source.stream.reply : undefined
    source.emitStep(step, joined)
    if (shown) return sendToObservers(observers, { ...step, changes: diff(shown, step.reply) }, onError)
    sendToObservers(observersOf(options.observe, step.reply, onError), step, onError)
  }
}

/** Throws `invalid` for a time-out that isn't above 0. Accepts an absent one. */
export function checkTimeout({ timeoutMs }: Pick<RunOptions, 'timeoutMs'>): void {
  if (timeoutMs !== undefined && !(timeoutMs > 0))
    throw new ReplyError('invalid', `timeoutMs is ${timeoutMs}. Pass a number above 0.`)
}

/** Whether the reply is still open, and the session's newest. A slow call may return after another reply has begun. */
export function isCurrent({ engine }: RunServer, reply: LiveReply): boolean {
  return reply.reply().phase !== 'settled' && engine.replies.newest(reply.sessionID) === reply
}
