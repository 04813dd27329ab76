import type { Clock } from '@reply/core'
import type { ChatPace } from './pace.ts'

/**
 * Makes a call outside the sinks when it is its turn in that chat, with the priority of an ask. Rejects if the signal
 * aborts before that.
 */
export async function waitForTurn<T>(
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
    // Enter only now, as entering counts as a call even if none follows.
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
