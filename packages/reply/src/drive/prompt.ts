import { type OnError, ReplyError } from '../error.ts'
import type { ReplyObserver } from '../observer.ts'
import type { Place } from '../place.ts'
import { emptyReply } from '../reduce/shape.ts'
import type { Reply } from '../reply.ts'
import type { Clock } from './clock.ts'
import type { Engine } from './engine.ts'
import { isUncertain, join, type Start } from './join.ts'
import { observersOf } from './observers.ts'
import type { Limit } from './progress.ts'
import type { LiveReply } from './replies.ts'
import { type StandInOptions, standIn, tellOnce, toFailure } from './stand-in.ts'
import { createReplyStream, type ReplyStream } from './stream.ts'

export interface RunOptions {
  /** Called once, when the reply is known; the observers it returns are told of the reply from its beginning to its end. */
  readonly observe?: ((reply: Reply) => readonly ReplyObserver[]) | undefined
  /** Aborts the run. A run that was under way before this prompt joined it goes on: then the stream leaves it. */
  readonly signal?: AbortSignal | undefined
  /** How long the run may go without progress before it is aborted and ends as `timed-out`. The time that people take to answer doesn't count, the server's waits between its tries do. A run that this prompt joined goes on: then the stream leaves it. Default: no limit. */
  readonly timeoutMs?: number | undefined
}

export interface RunDeps {
  readonly engine: Engine
  readonly clock: Clock
  readonly onError: OnError
  /** Resolves once the stream is up; rejects when it doesn't come up in time. */
  readonly whenLive: () => Promise<void>
  /** Ends the run on the server; what is being posted for it goes out first. */
  readonly abort: (live: LiveReply, after?: Promise<unknown>) => Promise<unknown>
  readonly timeOut: (live: LiveReply) => void
  readonly limit: (sessionID: string, limit: Limit) => void
  /** An id for the prompt's message; undefined where the server must make it. */
  readonly messageID: () => string | undefined
  /** Resolves when no abort of the session is under way, and lets its asks be answered again. */
  readonly whenStopped: (sessionID: string) => Promise<void>
  /** Reads the session over REST and applies what it tells. Never rejects. */
  readonly refresh: (place: Place) => Promise<void>
  /** The words of a user's message, as far as they can be had. */
  readonly said: (place: Place, messageID: string) => Promise<string | undefined>
  /** Told once, when the connection is closed by its owner. Returns the stop. */
  readonly onClosed: (listener: () => void) => () => void
  /** Something was posted that has to run: silence is a failure. */
  readonly expect: (sessionID: string) => void
}

export interface Run {
  /** The session that the caller named. */
  readonly sessionID?: string | undefined
  /** What the person said, if it is known. */
  readonly text?: string | undefined
  /** Nothing will run for it. */
  readonly noReply?: boolean | undefined
  /** Finds or makes the session and brings what is known of it up to date. */
  readonly session: () => Promise<Place>
  /** Its call answers only when the run is over. */
  readonly isLong?: boolean | undefined
  /** Posts, exactly once. A rejection of type `unreachable` leaves open whether the server took it. */
  readonly post: (place: Place, messageID: string | undefined) => Promise<unknown>
}

/** Starts a run at once and gives its stream. */
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

  /** Ends the run, also one that was joined. A note has no run: once posted it stays. */
  async function abort(): Promise<void> {
    unwanted = 'abort'
    if (!live && !hasPosted) return giveUp(run.sessionID ?? '')
    if (run.noReply) return
    if (live) return void (await deps.abort(live, run.isLong ? undefined : posting))
    if (!run.isLong) await posting.catch(() => {})
    if (live) await deps.abort(live)
    else onUnwanted()
  }

  /** The caller's signal: it ends this prompt's own run, never one that others began. */
  function cancel(): void {
    unwanted ??= 'leave'
    if (!live && !hasPosted) return giveUp(run.sessionID ?? '')
    if (run.noReply || isShared()) return source.stream.leave()
    // Until the run is found, nothing tells whose it is.
    if (live) void abort()
  }

  /** Another prompt began the run. */
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
      // Nothing is made for a prompt that is no longer wanted.
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
      // Whether it was taken is found out by looking; it is never posted again.
      if (isUncertain(error) || !isCurrent(opened)) return
      engine.apply([{ type: 'error', sessionID, at: clock.now(), error: toFailure(error) }])
    }
  }

  /** The reply exists from before its prompt is posted. */
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

  /** Its reply is over when the server has the message, also while a run goes on in the session. */
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

  /** The session's open reply is still this one: a long call may answer after another has begun. */
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
    // An abort was wanted, and nothing of the prompt was ever seen.
    if (!live && !noReply) giveUp(place.sessionID)
  }

  function attach(next: LiveReply, { reply, joined }: Start): void {
    live = next
    source.attach(next, joined)
    next.observe(observersOf(options.observe, reply, deps.onError))
    // Within a step: the clock of progress hears of the reply right after it.
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

  /** Nothing runs on the server: a reply of its own tells why. */
  function end(how: Pick<StandInOptions, 'sessionID' | 'end'>): void {
    if (live || hasEnded) return
    hasEnded = true
    const step = standIn({ ...how, text: run.text, at: clock.now() })
    source.fail(step)
    tellOnce(observersOf(options.observe, emptyReply(how.sessionID), deps.onError), step, deps.onError)
  }
}
