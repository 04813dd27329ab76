import type { Clock } from '@reply/core'
import type { ChatPace } from '../pace.ts'

/**
 * Calls when it is the caller's turn in that chat, as one who waits for a person: for what is said beside the sinks.
 * Rejects when the signal aborts before that.
 */
export async function inTurn<T>(
  pace: ChatPace,
  clock: Clock,
  call: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const owner = {}
  for (;;) {
    signal?.throwIfAborted()
    const waitMs = pace.readyAt('ask') - clock.now()
    if (waitMs > 0) {
      await pause(clock, waitMs, signal)
      continue
    }
    // Not before: who enters is counted as a call, whether or not there is one.
    const leave = pace.isBehind(owner) ? undefined : pace.enter()
    if (!leave) {
      await new Promise<void>((resolve) => pace.onFree(resolve))
      continue
    }
    try {
      return await call()
    } finally {
      leave()
    }
  }
}

function pause(clock: Clock, forMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stop()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const stop = clock.after(forMs, done)
    signal?.addEventListener('abort', done)
  })
}
