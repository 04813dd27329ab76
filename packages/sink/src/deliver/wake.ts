import type { Clock } from '@reply/core'
import { earliest } from '../view/view.ts'
import type { Operation } from './operation.ts'

/** The timer of one reply. */
export interface Wake {
  /** Wakes it at that time, if any, or as soon as one of the operations may be sent. Replaces the timer before. */
  at(time: number | undefined, operations: readonly Operation[]): void
  stop(): void
}

export interface WakeOptions {
  readonly clock: Clock
  /** When the operation may be sent, as far as is known now, in ms since the epoch. */
  readonly readyAt: (operation: Operation) => number
  readonly work: () => void
}

/** Other chats of the client may take the room that many wait for: those that got none only set their timers anew. */
export function createWake({ clock, readyAt, work }: WakeOptions): Wake {
  let stop = (): void => {}
  return { at: set, stop: () => stop() }

  function set(time: number | undefined, operations: readonly Operation[]): void {
    stop()
    const dueAt = earliest(time, ...operations.map(readyAt))
    if (dueAt === undefined) return
    stop = clock.after(Math.max(0, dueAt - clock.now()), () => {
      const now = clock.now()
      const isDue = (time !== undefined && time <= now) || operations.some((operation) => readyAt(operation) <= now)
      if (isDue) work()
      else set(time, operations)
    })
  }
}
