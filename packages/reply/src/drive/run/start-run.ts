import { ReplyError } from '../../error.ts'
import type { Place } from '../../place.ts'
import { emptyReply } from '../../reduce/shape.ts'
import type { Reply } from '../../reply.ts'
import { observersOf } from '../store/observers.ts'
import type { LiveReply } from '../store/replies.ts'
import type { AbortRequest } from './abort.ts'
import { isUncertain, join } from './join.ts'
import { openReplyFor } from './open-reply.ts'
import { requireDelivery } from './prompt-input.ts'
import type { Start } from './recognize.ts'
import { createReplyStream, type ReplyStream } from './reply-stream.ts'
import type { RunOptions } from './run-options.ts'
import type { RunRequest, RunServer } from './run-server.ts'
import { reportOnce, type StandInOptions, standIn, toFailure } from './stand-in.ts'
import { whenSettled } from './when-settled.ts'

/**
 * Posts a prompt and follows the reply to it:
 *
 * 1. Prepare: waits for the connection, finds or creates the session. Nothing is posted yet, so a stop drops the prompt.
 * 2. Post, exactly once. If the session is at rest, its next reply is opened first (`postToOwnReply`). If it is busy,
 * the running reply takes the prompt, or the next one does (`postIntoRun`). A note may be posted in either case
 * (`postNote`).
 * 3. Attach: once the reply is found, the stream and the observers follow it to its end.
 *
 * If nothing runs for the prompt, a stand-in reply carries the reason (`endWith`).
 *
 * `abort` ends the stream's run on the server, even a shared one. A signal or a time-out ends only a run that this prompt
 * began, and otherwise just leaves it.
 */
export function startRun(server: RunServer, request: RunRequest, options: RunOptions): ReplyStream {
  const { engine, clock, onError } = server
  const { kind } = request
  const { signal, timeoutMs } = options
  if (timeoutMs !== undefined && !(timeoutMs > 0))
    throw new ReplyError('invalid', `timeoutMs is ${timeoutMs}; give a number above 0.`)
  /** The reply that took the prompt; undefined until it is found. */
  let live: LiveReply | undefined
  /** Undefined until the prompt is posted. */
  let posting: Promise<unknown> | undefined
  let messageID: string | undefined
  /** What the caller asked for: to end the run, or to leave it if others began it. */
  let stopRequest: 'abort' | 'leave' | undefined = signal?.aborted ? 'leave' : undefined
  let hasStandIn = false
  /** Aborts when the run must end although its reply was not found yet. */
  const unwanted = new AbortController()
  /** Aborts when the stream has its result: nothing is left to look for. */
  const over = new AbortController()
  const stopClosed = server.onClosed(() => {
    over.abort()
    fail(request.input.sessionID ?? '', new ReplyError('closed', 'The connection was closed before the reply began.'))
  })
  const source = createReplyStream({ abort })
  signal?.addEventListener('abort', cancel, { once: true })
  void source.stream.result.then(() => {
    stopClosed()
    over.abort()
    signal?.removeEventListener('abort', cancel)
  })
  void start()
  return source.stream

  async function start(): Promise<void> {
    let sessionID = request.input.sessionID ?? ''
    try {
      if (stopRequest) return drop(sessionID)
      await whenReady()
      requireDelivery(request.delivery, server.info.current())
      // Don't create a session for a prompt that is no longer wanted.
      if (stopRequest) return drop(sessionID)
      const place = await server.sessions.prepare(request.input)
      sessionID = place.sessionID
      if (stopRequest) return drop(sessionID)
      // Between the check and the post nothing may run: another prompt may wait for the same end.
      for (let running = runBefore(sessionID); running; running = runBefore(sessionID)) {
        await whenSettled(running, over.signal)
        if (stopRequest || over.signal.aborted) return drop(sessionID)
        // The run may have ended with the connection, or by a stop that covered this session's asks.
        await whenReady()
        if (stopRequest) return drop(sessionID)
      }
      messageID = server.info.current().nextMessageID?.()
      if (kind === 'note') await postNote(place)
      else if (engine.openReply(sessionID)) await postIntoRun(place)
      else await postToOwnReply(place)
    } catch (error) {
      fail(sessionID, error)
    }
  }

  /** From then on the session's asks can be answered again. */
  async function whenReady(): Promise<void> {
    await server.liveness.whenLive()
    if (request.input.sessionID !== undefined) await server.stopping.reopen(request.input.sessionID)
  }

  /** The run that must end before the prompt can be posted: on servers where a busy session takes no prompt. */
  function runBefore(sessionID: string): LiveReply | undefined {
    if (server.info.current().takesPromptsWhileBusy) return undefined
    return engine.openReply(sessionID) && engine.replies.newest(sessionID)
  }

  async function postToOwnReply(place: Place): Promise<void> {
    const { sessionID } = place
    const opened = openReply(sessionID)
    attach(opened, { reply: opened.reply(), joined: false })
    server.idleCheck.expectRun(sessionID)
    try {
      await post(place)
    } catch (error) {
      // A later check finds out whether the server took it; it is never posted again.
      if (!isUncertain(error) && isCurrent(opened)) failReply(sessionID, error)
    }
  }

  async function postIntoRun(place: Place): Promise<void> {
    await findReply(place, attach)
    // An abort was requested, and the prompt was never seen.
    if (!live) drop(place.sessionID)
  }

  /** Posts a note. Its reply ends when the server has the message, even while a run continues in the session. */
  async function postNote(place: Place): Promise<void> {
    const { sessionID } = place
    if (!server.info.current().showsNotes)
      return await post(place).then(() => endWith({ sessionID, end: { type: 'noted' } }))
    const own = engine.openReply(sessionID) ? undefined : openReply(sessionID)
    let holder: LiveReply | undefined
    try {
      holder = await new Promise<LiveReply | undefined>((resolve, reject) => {
        findReply(place, resolve).then(() => resolve(undefined), reject)
      })
    } catch (error) {
      if (own && isCurrent(own) && own.reply().phase === 'waiting') failReply(sessionID, error)
      throw error
    }
    if (!holder || !isCurrent(holder) || !holdsOnlyANote(holder.reply()))
      return endWith({ sessionID, end: { type: 'noted' } })
    attach(holder, { reply: holder.reply(), joined: false })
    engine.apply([{ type: 'settle', sessionID, at: clock.now(), by: 'none' }])
  }

  function openReply(sessionID: string): LiveReply {
    return openReplyFor({ type: 'opened', sessionID, text: request.text, at: clock.now() }, engine)
  }

  async function findReply(place: Place, found: (live: LiveReply, start: Start) => void): Promise<void> {
    const text = kind === 'command' || request.text?.trim() === '' ? undefined : request.text
    const signals = { unwanted: unwanted.signal, over: over.signal }
    await join({ server, place, messageID, text, post: () => post(place), ...signals, found })
  }

  async function post(place: Place): Promise<void> {
    posting = request.post(place, messageID)
    await posting
  }

  /** Whether this is still the session's open reply: a long call may answer after another reply has begun. */
  function isCurrent(reply: LiveReply): boolean {
    return reply.reply().phase !== 'settled' && engine.replies.newest(reply.sessionID) === reply
  }

  function failReply(sessionID: string, error: unknown): void {
    engine.apply([{ type: 'error', sessionID, at: clock.now(), error: toFailure(error) }])
  }

  function attach(next: LiveReply, { reply, joined }: Start): void {
    live = next
    source.attach(next, joined)
    next.observe(observersOf(options.observe, reply, onError))
    // Deferred, because this runs within a step: the progress timer receives the reply right after it.
    if (timeoutMs !== undefined)
      queueMicrotask(() => {
        if (isCurrent(next)) server.stallTimer.limit(next.sessionID, { timeoutMs, onTimeOut: () => timeOut(next) })
      })
    if (stopRequest === 'abort') void end(next)
    else if (stopRequest === 'leave') cancel()
  }

  /** Ends the run, even a joined one, unless it has ended. A note has no run: once posted, it stays. */
  async function abort(): Promise<void> {
    stopRequest = 'abort'
    if (!live && !posting) return drop(request.input.sessionID ?? '')
    if (kind === 'note') return
    // An abort that overtakes the post would leave the run going. A command's post lasts until its run is over.
    const after = kind === 'command' ? undefined : posting
    if (!live) await after?.catch(() => {})
    if (live) await end(live, { after })
    else unwanted.abort()
  }

  /** A run that has ended is not aborted: what works in its session now is another run. */
  async function end(reply: LiveReply, how: AbortRequest = {}): Promise<void> {
    if (isCurrent(reply) || mayGoOn(reply)) await server.aborting.abort(reply.sessionID, how)
  }

  /** Whether an abort could not be confirmed, and no newer run of the session is known. */
  function mayGoOn(reply: LiveReply): boolean {
    return reply.reply().lostReason === 'not-stopped' && engine.replies.newest(reply.sessionID) === reply
  }

  /** Handles the caller's signal. */
  function cancel(): void {
    stopRequest ??= 'leave'
    if (!live && !posting) return drop(request.input.sessionID ?? '')
    if (kind === 'note' || isShared()) return source.stream.leave()
    // Until the run is found, its owner is unknown.
    if (live) void abort()
  }

  function timeOut(reply: LiveReply): void {
    if (isShared()) source.stream.leave()
    else void end(reply, { reason: 'timed-out' })
  }

  /** Whether another prompt began the run. */
  function isShared(): boolean {
    if (source.stream.joined) return true
    const first = live?.reply().promptIDs[0]
    return messageID !== undefined && first !== undefined && first !== messageID
  }

  function drop(sessionID: string): void {
    endWith({ sessionID, end: { type: 'aborted' } })
  }

  function fail(sessionID: string, error: unknown): void {
    endWith({ sessionID, end: { type: 'failed', error } })
  }

  /** Nothing runs on the server: a stand-in reply carries the reason. */
  function endWith(how: Pick<StandInOptions, 'sessionID' | 'end'>): void {
    if (live || hasStandIn) return
    hasStandIn = true
    const step = standIn({ ...how, text: request.text, at: clock.now() })
    source.fail(step)
    reportOnce(observersOf(options.observe, emptyReply(how.sessionID), onError), step, onError)
  }
}

function holdsOnlyANote({ phase, promptIDs }: Reply): boolean {
  return phase === 'waiting' && promptIDs.length === 1
}
