import type { Clock } from '@reply/core'
import type { ToPortError } from './network.ts'
import { PortError } from './port-error.ts'

/** The deadline of each call to a platform, in ms, unless a port's options say otherwise. */
export const callTimeoutMs = 30_000

/** How one call is named, timed and reported. */
export interface CallOptions {
  /** Names the call and its place in errors, as in "post in chat 7". */
  readonly what: string
  /** After it, the call may or may not have taken effect. Default `callTimeoutMs`. */
  readonly timeoutMs?: number | undefined
  /** Aborts the call, as the deadline does. */
  readonly signal?: AbortSignal | undefined
  /** Times the deadline. */
  readonly clock: Clock
  /** The channel's mapping of failed calls. */
  readonly toPortError: ToPortError
}

/**
 * Makes one call to a platform. Rejects with a `PortError`: at the deadline with `ambiguous`, even if the client can't
 * abort the call.
 */
export async function callPlatform<T>(
  make: (signal: AbortSignal) => Promise<T>,
  { what, timeoutMs = callTimeoutMs, signal, clock, toPortError }: CallOptions,
): Promise<T> {
  const abort = new AbortController()
  const end = (): void => abort.abort()
  signal?.addEventListener('abort', end)
  let stop = (): void => {}
  const late = new Promise<never>((_, reject) => {
    stop = clock.after(timeoutMs, () => {
      reject(new PortError('ambiguous', `${what}: no response within ${timeoutMs} ms.`))
      end()
    })
  })
  try {
    return await Promise.race([make(abort.signal), late])
  } catch (error) {
    throw toPortError(error, what)
  } finally {
    stop()
    signal?.removeEventListener('abort', end)
  }
}
