import { request } from 'node:http'
import type { TestClock } from '../clock.ts'

/**
 * Posts to a bot's address. Resolves with the status when the response has ended. Rejects if the connection fails or
 * `signal` aborts.
 */
export function postTo(
  url: string,
  body: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method: 'POST', headers, agent: false, signal }, (answer) => {
      answer.resume()
      answer.on('end', () => resolve(answer.statusCode ?? 0))
      answer.on('error', reject)
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

/** Delay before the first retry, doubled each time up to the longest, and the number of attempts. */
interface RetryLimits {
  readonly firstMs: number
  /** Default: none. */
  readonly longestMs?: number
  readonly attempts: number
}

interface WebhookEvents<Event> {
  readonly clock: TestClock
  readonly limits: RetryLimits
  /** The event to send next. Undefined if no event waits, or if there is no address to send it to. */
  oldest(): Event | undefined
  /** Sends it once. Resolves with the status. */
  post(event: Event, signal: AbortSignal): Promise<number>
  /** Drops the oldest event: it was accepted, or the attempts are used up. */
  drop(): void
  /** Called with the reason after each attempt that failed. */
  onFailure?(reason: string): void
}

/** Sends events one after another, each until it is accepted or the attempts are used up. */
interface WebhookQueue {
  /** Sends the oldest event, unless one is being sent or waits for its retry. Does nothing if there is no event. */
  sendNext(): void
  /** Breaks the request that is being sent, cancels a retry, and forgets the attempts. The event stays the oldest. */
  stop(): void
}

/**
 * Returns a queue that sends nothing before `sendNext` is called. A status other than 2xx is a failed attempt, as is
 * a broken connection.
 */
export function createWebhookQueue<Event>(options: WebhookEvents<Event>): WebhookQueue {
  const { clock, limits, oldest, post, drop, onFailure } = options
  let attempts = 0
  let isSending = false
  let stopWaiting: (() => void) | undefined
  let abort = new AbortController()
  return { sendNext, stop }

  /**
   * Aborts the request and cancels the retry, without a failed attempt, so that nothing is reported or dropped.
   * Forgets the attempts.
   */
  function stop(): void {
    stopWaiting?.()
    stopWaiting = undefined
    abort.abort()
    abort = new AbortController()
    isSending = false
    attempts = 0
  }

  /** Sends the oldest event. Does nothing while an event is sent or waits for its retry, and without an event. */
  function sendNext(): void {
    if (isSending || stopWaiting) return
    const event = oldest()
    if (event === undefined) return
    isSending = true
    const { signal } = abort
    post(event, signal).then(
      (status) => {
        const isTaken = status >= 200 && status < 300
        if (!signal.aborted) finishAttempt(isTaken ? undefined : `Wrong response from the webhook: ${status}`)
      },
      (error: unknown) => {
        if (!signal.aborted) finishAttempt(`Connection failed: ${String(error)}`)
      },
    )
  }

  /**
   * Reports a failure. Drops an event that was accepted or had its last attempt, and sends the next. Schedules a retry
   * of any other. `failure` is undefined if the event was accepted.
   */
  function finishAttempt(failure: string | undefined): void {
    isSending = false
    attempts = failure === undefined ? 0 : attempts + 1
    if (failure !== undefined) onFailure?.(failure)
    if (failure === undefined || attempts >= limits.attempts) {
      attempts = 0
      drop()
      return sendNext()
    }
    const { firstMs, longestMs = Number.POSITIVE_INFINITY } = limits
    stopWaiting = clock.after(Math.min(longestMs, firstMs * 2 ** (attempts - 1)), () => {
      stopWaiting = undefined
      sendNext()
    })
  }
}
