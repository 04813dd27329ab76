import type { Clock } from '@reply/core'
import type { ToPortError } from './network.ts'
import type { LookedUp } from './port.ts'
import { PortError, type PortErrorType } from './port-error.ts'

/** The deadline of each call to a platform, in ms, unless a port's options say otherwise. */
export const callTimeoutMs = 30_000

/** Bytes that an upload sends in a second on a slow line. */
const slowBytesPerSecond = 250_000

/** Returns the deadline of a call that sends so many bytes, in ms. */
export function uploadTimeoutMs(byteCount: number, timeoutMs: number = callTimeoutMs): number {
  return timeoutMs + Math.ceil((byteCount / slowBytesPerSecond) * 1000)
}

/** The name, the deadline and the errors of one call. */
export interface CallOptions {
  /** Names the call and its place in errors, as in "post in chat 7". */
  readonly what: string
  /** After this time, the call may or may not have taken effect. Default `callTimeoutMs`. */
  readonly timeoutMs?: number | undefined
  /** Ends the call, as the deadline does. */
  readonly signal?: AbortSignal | undefined
  /** Times the deadline. */
  readonly clock: Clock
  /** The channel's mapping of failed calls. */
  readonly toPortError: ToPortError
}

/**
 * Makes one call to a platform. Rejects with a `PortError`. At the deadline and when the signal aborts, its type is
 * `ambiguous`, even if the client can't abort the call. If the signal has already aborted, makes no call and rejects with
 * `unreachable`.
 */
export async function callPlatform<T>(
  make: (signal: AbortSignal) => Promise<T>,
  { what, timeoutMs = callTimeoutMs, signal, clock, toPortError }: CallOptions,
): Promise<T> {
  if (signal?.aborted) throw new PortError('unreachable', `${what}: not sent, because it was aborted.`)
  const abort = new AbortController()
  let unlisten = (): void => {}
  const ended = new Promise<never>((_, reject) => {
    const end = (why: string): void => {
      reject(new PortError('ambiguous', `${what}: ${why}.`))
      abort.abort()
    }
    const stopTimer = clock.after(timeoutMs, () => end(`no response within ${timeoutMs} ms`))
    const onAbort = (): void => end('no response before it was aborted')
    signal?.addEventListener('abort', onAbort)
    unlisten = () => {
      stopTimer()
      signal?.removeEventListener('abort', onAbort)
    }
  })
  try {
    return await Promise.race([make(abort.signal), ended])
  } catch (error) {
    throw toPortError(error, what)
  } finally {
    unlisten()
  }
}

/** Failures that mean that the platform accepts no calls yet. */
const unanswered: ReadonlySet<PortErrorType> = new Set(['ambiguous', 'unreachable', 'rate-limited'])

/**
 * Implements `ChannelPort.lookUp` for platforms that can't tell whether a post is there. `probe` is any call to the
 * platform. Resolves with `unknown` when the platform responds to it, even with a refusal. Rejects as the call does while
 * the platform doesn't respond or limits the rate.
 */
export async function lookUpByProbe(probe: Promise<unknown>): Promise<LookedUp> {
  try {
    await probe
  } catch (error) {
    if (!(error instanceof PortError) || unanswered.has(error.type)) throw error
  }
  return { type: 'unknown' }
}
