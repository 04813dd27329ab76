import { createDispatcher } from '../dispatch.ts'
import { type OnError, ReplyError } from '../error.ts'
import type { SessionScopedEvent } from '../event.ts'
import type { ReplyObserver } from '../observer.ts'
import type { Place } from '../place.ts'
import { emptyReply } from '../reduce/shape.ts'
import { reduce } from '../reduce.ts'
import type { Reply } from '../reply.ts'
import type { Clock } from './clock.ts'
import type { Engine } from './engine.ts'
import { join, type Start } from './join.ts'
import { observersOf } from './observers.ts'
import type { LiveReply } from './replies.ts'
import { createReplyStream, type ReplyStream } from './stream.ts'

export interface RunOptions {
  /** Asked once, when the reply is known; what it gives back observes it from its beginning to its end. */
  readonly observe?: ((reply: Reply) => readonly ReplyObserver[]) | undefined
  /** Aborts the reply on the server. */
  readonly signal?: AbortSignal | undefined
  /** Without progress for so long, not counting the time that people take to answer (the server's waits to try again count), the reply is aborted and ends as `timed-out`. Default: never. */
  readonly timeoutMs?: number | undefined
}

export interface RunDeps {
  readonly engine: Engine
  readonly clock: Clock
  readonly onError: OnError
  /** Resolves once the stream is up; rejects when it doesn't come up in time. */
  readonly whenLive: () => Promise<void>
  readonly abort: (live: LiveReply) => Promise<void>
  readonly limit: (sessionID: string, timeoutMs: number) => void
  /** Reads the session over REST and applies what it tells. Never rejects. */
  readonly refresh: (place: Place) => Promise<void>
  /** The words of a message of a person's, as far as they can be had. */
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
  readonly post: (place: Place) => Promise<unknown>
}

/** Starts a run at once and gives its stream. */
export function startRun(deps: RunDeps, run: Run, options: RunOptions): ReplyStream {
  const { engine, clock } = deps
  const { timeoutMs: givenMs } = options
  if (givenMs !== undefined && !(givenMs > 0))
    throw new ReplyError('invalid', `timeoutMs is ${givenMs}; give a number above 0.`)
  let live: LiveReply | undefined
  let isUnwanted = false
  let hasFailed = false
  let hasPosted = false
  let posting: Promise<unknown> = Promise.resolve()
  let onUnwanted = (): void => {}
  const over = new AbortController()
  const stopClosed = deps.onClosed(() => {
    over.abort()
    if (!live) fail(run.sessionID ?? '', new ReplyError('closed', 'The connection was closed before the reply began.'))
  })
  const source = createReplyStream({ abort })
  const { signal } = options
  const onAbort = (): void => void abort()
  if (signal?.aborted) isUnwanted = true
  signal?.addEventListener('abort', onAbort, { once: true })
  void source.stream.result.then(() => {
    stopClosed()
    over.abort()
    signal?.removeEventListener('abort', onAbort)
  })
  void start()
  return source.stream

  async function abort(): Promise<void> {
    isUnwanted = true
    if (!live && !hasPosted) return fail(run.sessionID ?? '', undefined)
    // An abort that overtakes the prompt would leave its run to go on.
    if (!run.isLong) await posting.catch(() => {})
    if (live) await deps.abort(live)
    else onUnwanted()
  }

  async function post(place: Place): Promise<void> {
    hasPosted = true
    posting = run.post(place)
    await posting
  }

  async function start(): Promise<void> {
    let sessionID = run.sessionID ?? ''
    try {
      if (isUnwanted) return fail(sessionID, undefined)
      await deps.whenLive()
      const place = await run.session()
      sessionID = place.sessionID
      if (isUnwanted) return fail(sessionID, undefined)
      if (engine.openReply(sessionID)) await joinIn(place)
      else await open(place)
    } catch (error) {
      fail(sessionID, error)
    }
  }

  async function open(place: Place): Promise<void> {
    const { sessionID } = place
    const stop = engine.replies.onOpened((opened, reply) => {
      if (opened.sessionID === sessionID) attach(opened, { reply, joined: false })
    })
    engine.apply([{ type: 'opened', sessionID, text: run.text, at: clock.now() }])
    stop()
    if (!live) throw new ReplyError('gone', `Session ${sessionID} was removed while the prompt was being sent.`)
    if (!run.noReply) deps.expect(sessionID)
    try {
      await post(place)
    } catch (error) {
      // Whether it was taken is found out by looking; it is never posted again.
      if (isUncertain(error) && run.noReply && isCurrent()) await deps.refresh(place)
      const isTaken = !run.noReply || (live?.reply().promptIDs.length ?? 0) > 0
      if ((isUncertain(error) && isTaken) || !isCurrent()) return
      return engine.apply([{ type: 'error', sessionID, at: clock.now(), error: toFailure(error) }])
    }
    if (run.noReply && isCurrent()) engine.apply([{ type: 'settle', sessionID, at: clock.now(), by: 'none' }])
  }

  /** The session's open reply is still this run's: a long call may answer after another has begun. */
  function isCurrent(): boolean {
    return live !== undefined && live.reply().phase !== 'settled' && engine.replies.newest(live.sessionID) === live
  }

  async function joinIn(place: Place): Promise<void> {
    const { text, noReply, isLong } = run
    const { refresh, said } = deps
    await join({
      engine,
      clock,
      place,
      text: isLong || text?.trim() === '' ? undefined : text,
      noReply,
      over: over.signal,
      post: () => post(place),
      isUncertain,
      refresh,
      said,
      onUnwanted: (listener) => {
        onUnwanted = listener
        if (isUnwanted) listener()
      },
      found: attach,
    })
    // Somebody wanted it aborted, and nothing of it was ever seen.
    if (!live) fail(place.sessionID, undefined)
  }

  function attach(next: LiveReply, { reply, joined }: Start): void {
    live = next
    source.attach(next, joined)
    next.observe(observersOf(options.observe, reply, deps.onError))
    if (options.timeoutMs !== undefined) {
      const { timeoutMs } = options
      // Within a step: the clock of progress hears of the reply right after it.
      queueMicrotask(() => deps.limit(next.sessionID, timeoutMs))
    }
    if (isUnwanted) void deps.abort(next)
  }

  /** Nothing runs on the server: a reply of its own tells why. */
  function fail(sessionID: string, error: unknown): void {
    if (live || hasFailed) return
    hasFailed = true
    const at = clock.now()
    const ending: SessionScopedEvent =
      error === undefined
        ? { type: 'settle', sessionID, at, by: 'none' }
        : { type: 'error', sessionID, at, error: toFailure(error) }
    const events: SessionScopedEvent[] = [{ type: 'opened', sessionID, text: run.text, at }]
    if (error === undefined) events.push({ type: 'abort-requested', sessionID, reason: 'requested', at })
    let reply = emptyReply(sessionID)
    const changes = [...events, ending].flatMap((event) => {
      const step = reduce(reply, event)
      reply = step.reply
      return step.changes
    })
    const dispatcher = createDispatcher({ onError: deps.onError })
    for (const observer of observersOf(options.observe, emptyReply(sessionID), deps.onError))
      dispatcher.observe(observer)
    source.fail({ reply, changes })
    dispatcher.dispatch({ reply, changes })
  }
}

function isUncertain(error: unknown): boolean {
  return error instanceof ReplyError && error.type === 'unreachable'
}

function toFailure(error: unknown): NonNullable<Reply['error']> {
  if (error instanceof ReplyError) return { name: error.type, message: error.message, raw: undefined }
  return { name: 'UnknownError', message: error instanceof Error ? error.message : String(error), raw: undefined }
}
