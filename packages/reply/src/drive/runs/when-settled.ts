import type { LiveReply } from '../replies.ts'

/** Resolves when the reply settles, or when the signal aborts. */
export function whenSettled(live: LiveReply, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stop()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const stop = live.follow(({ reply }) => {
      if (reply.phase === 'settled') done()
    })
    signal.addEventListener('abort', done, { once: true })
  })
}
