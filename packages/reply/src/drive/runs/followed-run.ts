import { observersOf } from '../../dispatch.ts'
import { ReplyError } from '../../error.ts'
import type { Reduction } from '../../reduce/reduce.ts'
import { emptyReply } from '../../reduce/shape.ts'
import type { LiveReply } from '../replies.ts'
import type { AbortRequest } from '../stop/abort.ts'
import type { Start } from './recognize.ts'
import { createReplyStream, type ReplyStream } from './reply-stream.ts'
import type { RunOptions } from './run-options.ts'
import type { RunRequest, RunServer } from './run-server.ts'
import { reportOnce, type StandInOptions, standIn } from './stand-in.ts'
import { isBegunByOther, whenFirstPromptShown } from './whose-run.ts'

/** One prompt's stream and its control, from before the post to the end of its run. */
export interface FollowedRun {
  readonly stream: ReplyStream
  /** Aborts when the run must end before its reply was found. */
  readonly unwanted: AbortSignal
  /** Aborts when the prompt is no longer wanted. A run that it joined goes on. */
  readonly dropped: AbortSignal
  /** Aborts when the stream has its result, so the search can stop. */
  readonly over: AbortSignal
  /** Whether the caller asked to end the run or to leave it. */
  isStopped(): boolean
  /** Whether the reply was found. */
  isAttached(): boolean
  /** Call it when the server may have the prompt. */
  posted(post: Post): void
  /** Connects the stream and the observers to the reply, to its end. */
  attach(live: LiveReply, start: Start): void
  /** Ends the stream as aborted, because the prompt was not posted and never will be. */
  drop(sessionID: string): void
  /** Ends the stream as failed, because nothing runs on the server. */
  fail(sessionID: string, error: unknown): void
  /** Ends the stream with a stand-in reply, because nothing runs on the server. */
  endWith(how: Pick<StandInOptions, 'sessionID' | 'end'>): void
  /** Ends the stream with a whole run that has ended. `joined`: another prompt had begun it. */
  show(step: Reduction, joined: boolean): void
}

export interface Post {
  /** The id of the prompt's message, if known. */
  readonly messageID: string | undefined
  /** Settles when the server has responded. */
  readonly answered: Promise<unknown>
}

/**
 * Creates the stream of one prompt. `abort` ends its run on the server, even a shared one. A signal or a timeout ends
 * only a run that this prompt began, and otherwise only leaves it.
 */
export function createFollowedRun(
  server: RunServer,
  request: Pick<RunRequest, 'kind' | 'text'> & { readonly sessionID?: string | undefined },
  options: RunOptions,
): FollowedRun {
  const { engine, clock, onError } = server
  const { kind, sessionID: given = '' } = request
  const { signal, timeoutMs } = options
  checkTimeout(options)
  /** The reply that includes the prompt. Undefined until it is found. */
  let live: LiveReply | undefined
  /** Undefined until the prompt is posted. */
  let post: Post | undefined
  /** The caller's request: end the run, or leave it if others began it. */
  let stopRequest: 'abort' | 'leave' | undefined = signal?.aborted ? 'leave' : undefined
  let isShown = false
  const unwanted = new AbortController()
  const dropped = new AbortController()
  const over = new AbortController()
  const stopClosed = server.onClosed(() => {
    over.abort()
    fail(given, new ReplyError('closed', 'The connection was closed before the reply began.'))
  })
  const source = createReplyStream({ abort })
  signal?.addEventListener('abort', cancel, { once: true })
  void source.stream.result.then(() => {
    stopClosed()
    over.abort()
    signal?.removeEventListener('abort', cancel)
  })
  return {
    stream: source.stream,
    unwanted: unwanted.signal,
    dropped: dropped.signal,
    over: over.signal,
    isStopped: () => stopRequest !== undefined,
    isAttached: () => live !== undefined,
    posted: (given) => {
      post = given
    },
    attach,
    drop,
    fail,
    endWith,
    show,
  }

  function attach(next: LiveReply, { reply, joined }: Start): void {
    live = next
    source.attach(next, joined)
    next.observe(observersOf(options.observe, reply, onError))
    // Deferred, because this runs within a step and the stall timer receives the reply right after it.
    if (timeoutMs !== undefined)
      queueMicrotask(() => {
        if (isCurrent(server, next))
          server.stallTimer.limit(next.sessionID, { timeoutMs, onTimeOut: () => timeOut(next) })
      })
    if (stopRequest === 'abort') void end(next)
    else if (stopRequest === 'leave') cancel()
  }

  /** Ends the run, even a joined one. A note has no run, so it stays once posted. */
  async function abort(): Promise<void> {
    stopRequest = 'abort'
    if (!live && !post) return drop(given)
    if (kind === 'note') return
    // Waits for the post, because an abort that overtakes it would leave the run going. Doesn't wait for a command,
    // whose post lasts until its run ends.
    const after = kind === 'command' ? undefined : post?.answered
    if (!live) await after?.catch(() => {})
    if (live) await end(live, { after })
    else unwanted.abort()
  }

  /** Skips a run that has ended, because the session may be running another one. */
  async function end(reply: LiveReply, how: AbortRequest = {}): Promise<void> {
    if (isCurrent(server, reply) || mayGoOn(reply)) await server.aborting.abort(reply.sessionID, how)
  }

  /**
   * Whether the run may still be going after an abort that could not be confirmed: no newer run of the session is
   * known.
   */
  function mayGoOn(reply: LiveReply): boolean {
    return reply.reply().lostReason === 'not-stopped' && engine.replies.newest(reply.sessionID) === reply
  }

  /** Handles the caller's signal. */
  function cancel(): void {
    stopRequest ??= 'leave'
    if (!live && !post) return drop(given)
    if (kind === 'note' || isShared()) return source.stream.leave()
    // Until the run is found, it isn't known which prompt began it.
    if (live) void abortOwn(live)
    else dropped.abort()
  }

  /** Aborts the run unless another client began it after the session was seen idle. */
  async function abortOwn(reply: LiveReply): Promise<void> {
    if (post?.messageID !== undefined) await whenFirstPromptShown(reply, { clock, posting: post.answered })
    if (isShared()) source.stream.leave()
    else await abort()
  }

  function timeOut(reply: LiveReply): void {
    if (isShared()) source.stream.leave()
    else void end(reply, { reason: 'timed-out' })
  }

  /** Whether another prompt began the run. */
  function isShared(): boolean {
    return source.stream.joined === true || (live !== undefined && isBegunByOther(live.reply(), post?.messageID))
  }

  function drop(sessionID: string): void {
    endWith({ sessionID, end: { type: 'aborted' } })
  }

  function fail(sessionID: string, error: unknown): void {
    endWith({ sessionID, end: { type: 'failed', error } })
  }

  function endWith(how: Pick<StandInOptions, 'sessionID' | 'end'>): void {
    if (!live && !isShown) show(standIn({ ...how, text: request.text, at: clock.now() }), false)
  }

  function show(step: Reduction, joined: boolean): void {
    if (live || isShown) return
    isShown = true
    source.show(step, joined)
    reportOnce(observersOf(options.observe, emptyReply(step.reply.sessionID), onError), step, onError)
  }
}

/** Throws `invalid` for a time-out that isn't above 0. */
export function checkTimeout({ timeoutMs }: Pick<RunOptions, 'timeoutMs'>): void {
  if (timeoutMs !== undefined && !(timeoutMs > 0))
    throw new ReplyError('invalid', `timeoutMs is ${timeoutMs}. Pass a number above 0.`)
}

/** Whether this is still the session's open reply. A slow call may return after another reply has begun. */
export function isCurrent({ engine }: RunServer, reply: LiveReply): boolean {
  return reply.reply().phase !== 'settled' && engine.replies.newest(reply.sessionID) === reply
}
