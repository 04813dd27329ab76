import type { Clock } from '@reply/core'
import { PortError } from '@reply/sink'
import { toBaileysPortError } from './failure.ts'

export interface CallOptions {
  /** What for, and where. */
  readonly what: string
  readonly timeoutMs: number
  readonly clock: Clock
}

/** One call to a socket. A socket can't be told to give it up, so it is only not waited for any more. Rejects with a `PortError`. */
export async function callSocket<T>(make: () => Promise<T>, { what, timeoutMs, clock }: CallOptions): Promise<T> {
  let stop = (): void => {}
  const late = new Promise<never>((_, reject) => {
    stop = clock.after(timeoutMs, () =>
      reject(new PortError('ambiguous', `${what}: it took more than ${timeoutMs} ms.`)),
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
