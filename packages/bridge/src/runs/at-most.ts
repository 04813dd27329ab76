import type { Clock } from '@reply/core'

/** Waits for something, but not longer than that, in ms. */
export async function atMost(done: Promise<unknown>, ms: number, clock: Clock): Promise<void> {
  let stopTimer = (): void => {}
  const late = new Promise<void>((resolve) => {
    stopTimer = clock.after(ms, resolve)
  })
  await Promise.race([done, late])
  stopTimer()
}
