import type { Clock } from '../../clock.ts'
import { ReplyError } from '../../error.ts'
import type { StreamLoss } from './event-stream.ts'

export interface LivenessOptions {
  readonly clock: Clock
  /** The source, in errors. */
  readonly name: string
  /** How long a caller waits for the connection without a sign of the server, and `ready` for a stream that keeps breaking off, in ms. */
  readonly connectTimeoutMs: number
  /** As in `Source`. */
  readonly isLocal?: boolean | undefined
}

/** Whether the connection is up: the stream is open, and missed events were read. Callers wait for it here. */
export interface Liveness {
  /** Settles once: see `OpenCode.ready`. */
  readonly ready: Promise<void>
  isLive(): boolean
  /** Resolves when the connection is up; rejects if that takes too long. */
  whenLive(): Promise<void>
  /**
   * Resolves when the next caller waits for a connection to an agent of this program: it should be tried at once, as
   * people must not wait for a back-off to learn that a program is missing. Never resolves for a server.
   */
  whenWanted(): Promise<void>
  /** The server answered: the waiting callers wait as long again. */
  heard(): void
  up(): void
  lost(loss: StreamLoss): void
  /** What the callers wait for will not come by waiting: they fail. */
  refuse(reason: ReplyError): void
  close(): void
}

interface Settling {
  readonly resolve: () => void
  readonly reject: (error: ReplyError) => void
}

interface Waiter extends Settling {
  /** Begins the wait anew. */
  readonly heard: () => void
}

/** How often a sign of the server prolongs a wait: its streams may go on breaking off. */
const mostSigns = 5

export function createLiveness({ clock, name, connectTimeoutMs, isLocal = false }: LivenessOptions): Liveness {
  const first = promiseWithResolvers()
  let isUp = false
  let isClosed = false
  let lastReason: ReplyError | undefined
  let waiters: readonly Waiter[] = []
  let stopTimer: (() => void) | undefined
  let want = (): void => {}
  // Awaiting `ready` is optional: prompts report a missing connection themselves.
  first.promise.catch(() => {})
  return { ready: first.promise, isLive: () => isUp, whenLive, whenWanted, heard, up, lost, refuse, close }

  /** A proxy may hold back each of the answers that a connection takes. */
  function heard(): void {
    for (const waiter of waiters) waiter.heard()
  }

  function up(): void {
    isUp = true
    stopTimer?.()
    first.resolve()
    for (const { resolve } of takeWaiters()) resolve()
  }

  function lost({ reason, brokeOff }: StreamLoss): void {
    isUp = false
    lastReason = reason
    // The server is there, so the next attempt may hold.
    if (brokeOff) stopTimer ??= clock.after(connectTimeoutMs, () => first.reject(lastReason ?? reason))
    else first.reject(reason)
    // Waiting doesn't fix a wrong password, nor a program that can't be started.
    if (reason.type === 'unauthorized' || (isLocal && !brokeOff)) refuse(reason)
  }

  function refuse(reason: ReplyError): void {
    for (const { reject } of takeWaiters()) reject(reason)
  }

  function close(): void {
    isUp = false
    isClosed = true
    stopTimer?.()
    const reason = closedError()
    first.reject(reason)
    for (const { reject } of takeWaiters()) reject(reason)
  }

  function whenLive(): Promise<void> {
    if (isUp) return Promise.resolve()
    if (isClosed) return Promise.reject(closedError())
    const { promise, resolve, reject } = promiseWithResolvers()
    const wait = (): (() => void) =>
      clock.after(connectTimeoutMs, () => {
        waiters = waiters.filter((other) => other !== waiter)
        reject(lastReason ?? noStream(name, connectTimeoutMs))
      })
    let stop = wait()
    let signs = 0
    const waiter: Waiter = {
      heard: () => {
        if (signs === mostSigns) return
        signs += 1
        stop()
        stop = wait()
      },
      resolve: () => {
        stop()
        resolve()
      },
      reject: (error) => {
        stop()
        reject(error)
      },
    }
    waiters = [...waiters, waiter]
    if (isLocal) want()
    return promise
  }

  function whenWanted(): Promise<void> {
    return new Promise((resolve) => {
      want = resolve
    })
  }

  function takeWaiters(): readonly Waiter[] {
    const taken = waiters
    waiters = []
    return taken
  }
}

function promiseWithResolvers(): Settling & { readonly promise: Promise<void> } {
  let resolve = (): void => {}
  let reject = (_error: ReplyError): void => {}
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve
    reject = onReject
  })
  return { promise, resolve, reject }
}

function noStream(name: string, limitMs: number): ReplyError {
  return new ReplyError('unreachable', `No event stream from ${name} within ${limitMs} ms: is it running?`)
}

function closedError(): ReplyError {
  return new ReplyError('closed', 'The connection was closed; connect() creates a new one.')
}
