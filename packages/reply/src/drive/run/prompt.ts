import { type OnError, ReplyError } from '../../error.ts'
import type { Place } from '../../place.ts'
import { emptyReply } from '../../reduce/shape.ts'
import type { Clock } from '../clock.ts'
import type { Engine } from '../store/engine.ts'
import { observersOf } from '../store/observers.ts'
import type { LiveReply } from '../store/replies.ts'
import { isUncertain, join, type Start } from './join.ts'
import { createReplyStream, type ReplyStream } from './reply-stream.ts'
import type { RunOptions } from './run-options.ts'
import type { Limit } from './stall-timer.ts'
import { type StandInOptions, standIn, tellOnce, toFailure } from './stand-in.ts'

export interface RunDeps {
  readonly engine: Engine
  readonly clock: Clock
  readonly onError: OnError
  /** Resolves once the stream is up; rejects if it doesn't come up in time. */
  readonly whenLive: () => Promise<void>
  /** Ends the run on the server, after a post in flight. */
  readonly abort: (live: LiveReply, after?: Promise<unknown>) => Promise<unknown>
  readonly timeOut: (live: LiveReply) => void
  readonly limit: (sessionID: string, limit: Limit) => void
  /** An id for the prompt's message; undefined if the server must make it. */
  readonly messageID: () => string | undefined
  /** Resolves when no abort of the session is running, and allows its asks to be answered again. */
  readonly whenStopped: (sessionID: string) => Promise<void>
  /** Reads the session over REST and applies the result. Never rejects. */
  readonly refresh: (place: Place) => Promise<void>
  readonly said: (place: Place, messageID: string) => Promise<string | undefined>
  /** Calls the listener once, when the owner closes the connection. Returns a function that removes it. */
  readonly onClosed: (listener: () => void) => () => void
  /** Marks the session as having a posted prompt that must run: silence is a failure. */
  readonly expect: (sessionID: string) => void
}

export interface Run {
  readonly sessionID?: string | undefined
  /** What the person said, if known. */
  readonly text?: string | undefined
  /** Nothing will run for it. */
  readonly noReply?: boolean | undefined
  /** Finds or creates the session and reads its current state. */
  readonly session: () => Promise<Place>
  /** The call answers only when the run is over. */
  readonly isLong?: boolean | undefined
  /** Posts, exactly once. A rejection of type `unreachable` leaves open whether the server took it. */
  readonly post: (place: Place, messageID: string | undefined) => Promise<unknown>
}

export function startRun(deps: RunDeps, run: Run, options: RunOptions): ReplyStream {
  const { engine, clock } = deps
  const { signal, timeoutMs } = options
  if (timeoutMs !== undefined && !(timeoutMs > 0))
    throw new ReplyError('invalid', `timeoutMs is ${timeoutMs}; give a number above 0.`)
  let live: LiveReply | undefined
  let messageID: string | undefined
  let unwanted: 'abort' | 'leave' | undefined = signal?.aborted ? 'leave' : undefined
  let hasEnded = false
  let hasPosted = false
  let posting: Promise<unknown> = Promise.resolve()
  let onUnwanted = (): void => {}
  const over = new AbortController()
  const stopClosed = deps.onClosed(() => {
    over.abort()
    if (!live) fail(run.sessionID ?? '', new ReplyError('closed', 'The connection was closed before the reply began.'))
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

  /** Ends the run, even a joined one. A note has no run: once posted, it stays. */
  async function abort(): Promise<void> {
    unwanted = 'abort'
    if (!live && !hasPosted) return giveUp(run.sessionID ?? '')
    if (run.noReply) return
    if (live) return void (await deps.abort(live, run.isLong ? undefined : posting))
    if (!run.isLong) await posting.catch(() => {})
    if (live) await deps.abort(live)
    else onUnwanted()
  }

  /** Handles the caller's signal: ends this prompt's own run, never one that others began. */
  function cancel(): void {
    unwanted ??= 'leave'
    if (!live && !hasPosted) return giveUp(run.sessionID ?? '')
    if (run.noReply || isShared()) return source.stream.leave()
    // Until the run is found, its owner is unknown.
    if (live) void abort()
  }

  /** Whether another prompt began the run. */
  function isShared(): boolean {
    if (source.stream.joined) return true
    const first = live?.reply().promptIDs[0]
    return messageID !== undefined && first !== undefined && first !== messageID
  }

  async function post(place: Place): Promise<void> {
    hasPosted = true
    posting = run.post(place, messageID)
    await posting
  }

  async function start(): Promise<void> {
    let sessionID = run.sessionID ?? ''
    try {
      if (unwanted) return giveUp(sessionID)
      await deps.whenLive()
      if (run.sessionID !== undefined) await deps.whenStopped(run.sessionID)
      // Don't create a session for a prompt that is no longer wanted.
      if (unwanted) return giveUp(sessionID)
      const place = await run.session()
      sessionID = place.sessionID
      if (unwanted) return giveUp(sessionID)
      messageID = deps.messageID()
      if (run.noReply) await note(place)
      else if (engine.openReply(sessionID)) await joinIn(place, attach)
      else await open(place)
    } catch (error) {
      fail(sessionID, error)
    }
  }

  async function open(place: Place): Promise<void> {
    const { sessionID } = place
    const opened = announce(sessionID)
    attach(opened, { reply: opened.reply(), joined: false })
    deps.expect(sessionID)
    try {
      await post(place)
    } catch (error) {
      // A later check finds out whether the server took it; it is never posted again.
      if (isUncertain(error) || !isCurrent(opened)) return
      engine.apply([{ type: 'error', sessionID, at: clock.now(), error: toFailure(error) }])
    }
  }

  /** Opens the reply before its prompt is posted. */
  function announce(sessionID: string): LiveReply {
    let opened: LiveReply | undefined
    const stop = engine.replies.onOpened((next) => {
      if (next.sessionID === sessionID) opened = next
    })
    engine.apply([{ type: 'opened', sessionID, text: run.text, at: clock.now() }])
    stop()
    if (!opened) throw new ReplyError('gone', `Session ${sessionID} was removed while the prompt was being sent.`)
    return opened
  }

  /** Posts a note. Its reply ends when the server has the message, even while a run continues in the session. */
  async function note(place: Place): Promise<void> {
    const { sessionID } = place
    const own = engine.openReply(sessionID) ? undefined : announce(sessionID)
    let holder: LiveReply | undefined
    try {
      holder = await new Promise<LiveReply | undefined>((resolve, reject) => {
        joinIn(place, resolve).then(() => resolve(undefined), reject)
      })
    } catch (error) {
      if (own && isCurrent(own) && own.reply().phase === 'waiting')
        engine.apply([{ type: 'error', sessionID, at: clock.now(), error: toFailure(error) }])
      throw error
    }
    const isAlone = holder?.reply().phase === 'waiting' && holder.reply().promptIDs.length === 1
    if (!holder || !isAlone || !isCurrent(holder)) return end({ sessionID, end: { type: 'noted' } })
    attach(holder, { reply: holder.reply(), joined: false })
    engine.apply([{ type: 'settle', sessionID, at: clock.now(), by: 'none' }])
  }

  /** Whether this is still the session's open reply: a long call may answer after another reply has begun. */
  function isCurrent(reply: LiveReply): boolean {
    return reply.reply().phase !== 'settled' && engine.replies.newest(reply.sessionID) === reply
  }

  async function joinIn(place: Place, found: (live: LiveReply, start: Start) => void): Promise<void> {
    const { text, noReply, isLong } = run
    const { refresh, said } = deps
    await join({
      engine,
      clock,
      place,
      messageID,
      text: isLong || text?.trim() === '' ? undefined : text,
      over: over.signal,
      post: () => post(place),
      refresh,
      said,
      onUnwanted: (listener) => {
        onUnwanted = listener
        if (unwanted === 'abort' && !noReply) listener()
      },
      found,
    })
    // An abort was requested, and the prompt was never seen.
    if (!live && !noReply) giveUp(place.sessionID)
  }

  function attach(next: LiveReply, { reply, joined }: Start): void {
    live = next
    source.attach(next, joined)
    next.observe(observersOf(options.observe, reply, deps.onError))
    // Deferred, because this runs within a step: the progress timer receives the reply right after it.
    if (timeoutMs !== undefined)
      queueMicrotask(() => deps.limit(next.sessionID, { timeoutMs, onTimeOut: () => timeOut(next) }))
    if (unwanted === 'abort') void deps.abort(next)
    else if (unwanted === 'leave') cancel()
  }

  function timeOut(next: LiveReply): void {
    if (isShared()) source.stream.leave()
    else deps.timeOut(next)
  }

  function giveUp(sessionID: string): void {
    end({ sessionID, end: { type: 'aborted' } })
  }

  function fail(sessionID: string, error: unknown): void {
    end({ sessionID, end: { type: 'failed', error } })
  }

  /** Nothing runs on the server: a stand-in reply carries the reason. */
  function end(how: Pick<StandInOptions, 'sessionID' | 'end'>): void {
    if (live || hasEnded) return
    hasEnded = true
    const step = standIn({ ...how, text: run.text, at: clock.now() })
    source.fail(step)
    tellOnce(observersOf(options.observe, emptyReply(how.sessionID), deps.onError), step, deps.onError)
  }
}
