import type { Clock } from '../../clock.ts'
import { ReplyError } from '../../error.ts'
import type { StreamLoss } from './event-stream.ts'

export interface ReadinessOptions {
  readonly clock: Clock
  /** The source's name, for errors. */
  readonly name: string
  /**
   * How long a caller waits for the connection after the server's last response, and how long `ready` waits while
   * streams keep breaking, in ms.
   */
  readonly connectTimeoutMs: number
  /** As in `Source`. */
  readonly isLocal?: boolean | undefined
}

/** Whether the connection is up (the stream is open and missed events have been read), and callers that wait for it. */
export interface Readiness {
  /** See `Client.ready`. */
  readonly ready: Promise<void>
  isLive(): boolean
  /** Resolves when the connection is up. Rejects if that takes too long. */
  whenLive(): Promise<void>
  /**
   * Resolves when the next caller waits for a connection to an agent that this program starts. The connection is then
   * tried at once, so that people learn without a back-off that a program is missing. Never resolves for a server.
   */
  whenWanted(): Promise<void>
  /** Called when the server responded. Callers wait for the full time again, up to five times. */
  extendWaits(): void
  markLive(): void
  markLost(loss: StreamLoss): void
  /** Makes all waiting callers fail, because waiting won't help. */
  failWaiters(reason: ReplyError): void
  close(): void
}

interface Resolvers {
  readonly resolve: () => void
  readonly reject: (error: ReplyError) => void
}

interface Waiter extends Resolvers {
  /** Restarts the wait. */
  readonly extend: () => void
}

/** How often a response extends a wait, because streams may keep breaking. */
const maxExtensions = 5

export function createReadiness({ clock, name, connectTimeoutMs, isLocal = false }: ReadinessOptions): Readiness {
  const first = promiseWithResolvers()
  let isUp = false
  let isClosed = false
  let lastReason: ReplyError | undefined
  let waiters: readonly Waiter[] = []
  let stopTimer: (() => void) | undefined
  let reportWanted = (): void => {}
  // Awaiting `ready` is optional, because prompts report a missing connection themselves.
  first.promise.catch(() => {})
  return {
    ready: first.promise,
    isLive: () => isUp,
    whenLive,
    whenWanted,
    extendWaits,
    markLive,
    markLost,
    failWaiters,
    close,
  }

  /** A proxy may delay each of the responses that a connection needs. */
  function extendWaits(): void {
    for (const waiter of waiters) waiter.extend()
  }

  function markLive(): void {
    isUp = true
    stopTimer?.()
    first.resolve()
    for (const { resolve } of removeWaiters()) resolve()
  }

  function markLost({ reason, brokeOff }: StreamLoss): void {
    isUp = false
    lastReason = reason
    // The server is reachable, so the next attempt may succeed.
    if (brokeOff) stopTimer ??= clock.after(connectTimeoutMs, () => first.reject(lastReason ?? reason))
    else first.reject(reason)
    // Waiting doesn't fix a wrong password or a program that can't be started.
    if (reason.type === 'unauthorized' || (isLocal && !brokeOff)) failWaiters(reason)
  }

  function failWaiters(reason: ReplyError): void {
    for (const { reject } of removeWaiters()) reject(reason)
  }

  function close(): void {
    isUp = false
    isClosed = true
    stopTimer?.()
    const reason = closedError()
    first.reject(reason)
    for (const { reject } of removeWaiters()) reject(reason)
  }

  function whenLive(): Promise<void> {
    if (isUp) return Promise.resolve()
    if (isClosed) return Promise.reject(closedError())
    const { promise, resolve, reject } = promiseWithResolvers()
    const startTimeout = (): (() => void) =>
      clock.after(connectTimeoutMs, () => {
        waiters = waiters.filter((other) => other !== waiter)
        reject(lastReason ?? noStreamError(name, connectTimeoutMs))
      })
    let stop = startTimeout()
    let extensions = 0
    const waiter: Waiter = {
      extend: () => {
        if (extensions === maxExtensions) return
        extensions += 1
        stop()
        stop = startTimeout()
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
    if (isLocal) reportWanted()
    return promise
  }

  function whenWanted(): Promise<void> {
    return new Promise((resolve) => {
      reportWanted = resolve
    })
  }

  function removeWaiters(): readonly Waiter[] {
    const removed = waiters
    waiters = []
    return removed
  }
}

function promiseWithResolvers(): Resolvers & { readonly promise: Promise<void> } {
  let resolve = (): void => {}
  let reject = (_error: ReplyError): void => {}
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve
    reject = onReject
  })
  return { promise, resolve, reject }
}

function noStreamError(name: string, limitMs: number): ReplyError {
  return new ReplyError('unreachable', `No event stream from ${name} within ${limitMs} ms: is it running?`)
}

function closedError(): ReplyError {
  return new ReplyError('closed', 'The connection was closed. Create a new one.')
}
