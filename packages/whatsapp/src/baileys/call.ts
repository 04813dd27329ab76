import type { Clock } from '@reply/core'
import { PortError } from '@reply/sink/channel'
import { toBaileysPortError } from './failure.ts'

export interface CallOptions {
  /** Names the call and the chat in errors. */
  readonly what: string
  readonly timeoutMs: number
  readonly clock: Clock
}

/**
 * Makes one socket call. A socket can't abort a call, so a timeout only stops waiting for it. Rejects with a
 * `PortError`.
 */
export async function callSocket<T>(make: () => Promise<T>, { what, timeoutMs, clock }: CallOptions): Promise<T> {
  let stop = (): void => {}
  const late = new Promise<never>((_, reject) => {
    stop = clock.after(timeoutMs, () =>
      reject(new PortError('ambiguous', `${what}: no response within ${timeoutMs} ms.`)),
    )
  })
  try {
    return await Promise.race([make(), late])
  } catch (error) {
    throw toBaileysPortError(error, what)
  } finally {
    stop()
  }
}
