import type { Clock } from '@reply/core'
import type { ChatPace } from '../pace.ts'

/** Calls when it is the caller's turn in that chat, as one who waits for a person: for what is said beside the sinks. */
export async function inTurn<T>(pace: ChatPace, clock: Clock, call: () => Promise<T>): Promise<T> {
  let leave = pace.enter()
  while (!leave || pace.readyAt('ask') > clock.now()) {
    leave?.()
    await new Promise<void>((resolve) => {
      if (leave) clock.after(Math.max(1, pace.readyAt('ask') - clock.now()), resolve)
      else pace.onFree(resolve)
    })
    leave = pace.enter()
  }
  try {
    return await call()
  } finally {
    leave()
  }
}
