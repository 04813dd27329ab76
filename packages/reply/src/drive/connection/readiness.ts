import type { Clock } from '../../clock.ts'
import { ReplyError } from '../../error.ts'
import type { StreamLoss } from './event-stream.ts'

/** Whether the connection is up (the stream is open and missed events have been read), and callers that wait for it. */
export interface Readiness {
  /** See `Client.ready`. */
  readonly ready: Promise<void>
  isLive(): boolean
  /**
   * Resolves when the connection is up, at once if it is. Rejects after `connectTimeoutMs` with the reason of the last
   * loss, or with `unreachable` if there was none. Rejects earlier at a loss that waiting won't fix, and with `closed`
   * after `close`.
   */
  whenLive(): Promise<void>
  /**
   * Like `whenLive`, for calls that need no events: also resolves while the stream rests, because nothing is followed
   * then.
   */
  whenUsable(): Promise<void>
  /**
   * Resolves when the next caller waits for a connection to an agent that this program starts. The connection is then
   * tried at once, so that people learn without a back-off that a program is missing. Never resolves for a server.
   */
  whenWanted(): Promise<void>
  /** Restarts the time-out of all waiting callers, up to five times each. Called when the server responded. */
  extendWaits(): void
  /** Marks the connection as up. Resolves `ready` and all waiting callers. */
  markLive(): void
  /**
   * Marks the connection as down. Rejects `ready`: at once if no stream opened, otherwise after `connectTimeoutMs`
   * unless the connection is up by then. Also rejects all waiting callers if waiting won't help: after a wrong
   * password, and if an agent that this program starts opened no stream.
   */
  markLost(loss: StreamLoss): void
  /** Marks the connection as down on purpose, until it is up again or lost. */
  markResting(): void
  /** Marks the connection as being opened again after a rest. */
  markWoken(): void
  /** Rejects all waiting callers with this reason. */
  failWaiters(reason: ReplyError): void
  /** Marks the connection as down for good. Rejects `ready` and all waiting callers with `closed`. */
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

/**
 * How often a response extends a wait. A proxy may delay each of the responses that a connection needs, but streams may
 * also keep breaking.
 */
const maxExtensions = 5

/**
 * Creates the state of a connection that is not up yet. `name` is the source's, for errors. `connectTimeoutMs` is how
 * long a caller waits after the server's last response, and how long `ready` waits while streams keep breaking.
 * `isLocal` is as in `Source`.
 */
export function createReadiness(clock: Clock, name: string, connectTimeoutMs: number, isLocal = false): Readiness {
  const ready = promiseWithResolvers()
  let isUp = false
  let isResting = false
  let isClosed = false
  let lastReason: ReplyError | undefined
  let waiters: readonly Waiter[] = []
  let stopTimer: (() => void) | undefined
  let reportWanted = (): void => {}
  // Awaiting `ready` is optional, because prompts report a missing connection themselves.
  ready.promise.catch(() => {})
  return {
    ready: ready.promise,
    isLive: () => isUp,
    whenLive,
    whenUsable: () => (isResting ? Promise.resolve() : whenLive()),
    whenWanted,
    extendWaits,
    markLive,
    markLost,
    markResting,
    markWoken: () => {
      isResting = false
    },
    failWaiters,
    close,
  }

  /** Restarts the time-out of all waiting callers, up to five times each. */
  function extendWaits(): void {
    for (const waiter of waiters) waiter.extend()
  }

  /** Marks the connection as up. Resolves `ready` and all waiting callers. */
  function markLive(): void {
    isUp = true
    stopTimer?.()
    ready.resolve()
    for (const { resolve } of removeWaiters()) resolve()
  }

  /**
   * Marks the connection as down. Rejects `ready` at once if no stream opened, otherwise after `connectTimeoutMs`
   * unless the connection is up by then. Also rejects the waiting callers if waiting won't help.
   */
  function markLost({ reason, brokeOff }: StreamLoss): void {
    isUp = false
    lastReason = reason
    // The server is reachable, so the next attempt may succeed.
    if (brokeOff) stopTimer ??= clock.after(connectTimeoutMs, () => ready.reject(lastReason ?? reason))
    else ready.reject(reason)
    // Waiting doesn't fix a wrong password or a program that can't be started.
    if (reason.type === 'unauthorized' || (isLocal && !brokeOff)) failWaiters(reason)
  }

  /** Marks the connection as down on purpose. Later waits don't fail for an earlier reason. */
  function markResting(): void {
    isUp = false
    isResting = true
    lastReason = undefined
    stopTimer?.()
    stopTimer = undefined
  }

  /** Rejects all waiting callers with this reason. */
  function failWaiters(reason: ReplyError): void {
    for (const { reject } of removeWaiters()) reject(reason)
  }

  /** Marks the connection as down for good. Rejects `ready` and all waiting callers with `closed`. */
  function close(): void {
    isUp = false
    isResting = false
    isClosed = true
    stopTimer?.()
    const reason = closedError()
    ready.reject(reason)
    for (const { reject } of removeWaiters()) reject(reason)
  }

  /**
   * Resolves when the connection is up. Rejects after `connectTimeoutMs` with the reason of the last loss, or with
   * `unreachable` if there was none, and with `closed` after `close`. For a local agent, ends the wait of `whenWanted`.
   */
  function whenLive(): Promise<void> {
    if (isUp) return Promise.resolve()
    if (isClosed) return Promise.reject(closedError())
    const { promise, resolve, reject } = promiseWithResolvers()
    /** Rejects and removes the caller after `connectTimeoutMs`. Returns a function that stops the timer. */
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

  /**
   * Resolves when the next caller waits for a local agent, so that the agent is started at once instead of after the
   * back-off. Never resolves for a server. Only the newest call is answered.
   */
  function whenWanted(): Promise<void> {
    return new Promise((resolve) => {
      reportWanted = resolve
    })
  }

  /** Removes all waiting callers, and returns them. */
  function removeWaiters(): readonly Waiter[] {
    const removed = waiters
    waiters = []
    return removed
  }
}

/** Creates a promise together with the functions that settle it. */
function promiseWithResolvers(): Resolvers & { readonly promise: Promise<void> } {
  let resolve = (): void => {}
  let reject = (_error: ReplyError): void => {}
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve
    reject = onReject
  })
  return { promise, resolve, reject }
}

/** Creates an `unreachable` error that names the source and the limit. */
function noStreamError(name: string, limitMs: number): ReplyError {
  return new ReplyError('unreachable', `No event stream from ${name} within ${limitMs} ms: is it running?`)
}

/** Creates the `closed` error of calls after `close`. */
function closedError(): ReplyError {
  return new ReplyError('closed', 'The connection was closed. Create a new one.')
}
