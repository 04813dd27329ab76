import type { ReplyError } from '../../error.ts'
import type { ReplyEvent } from '../../event.ts'

/** The events of the one connection. Without a connection they are dropped, because no source repeats missed events. */
export interface EventQueue {
  /** Begins a connection and ends the one before it. */
  open(): void
  isOpen(): boolean
  push(events: readonly ReplyEvent[]): void
  /** Yields the events of the newest connection until the signal aborts. Throws once the connection failed. */
  read(signal: AbortSignal): AsyncIterable<readonly ReplyEvent[]>
  /** Breaks the connection after the events that were pushed so far. */
  fail(error: ReplyError): void
}

interface Channel {
  waiting: ReplyEvent[]
  failure: ReplyError | undefined
  hasEnded: boolean
  wake: () => void
}

export function createEventQueue(): EventQueue {
  let channel: Channel | undefined
  return { open, isOpen: () => channel !== undefined && !channel.failure, push, read, fail }

  function open(): void {
    const before = channel
    channel = { waiting: [], failure: undefined, hasEnded: false, wake: () => {} }
    if (!before) return
    before.hasEnded = true
    before.wake()
  }

  function push(events: readonly ReplyEvent[]): void {
    if (!channel || channel.failure || events.length === 0) return
    for (const event of events) channel.waiting.push(event)
    channel.wake()
  }

  async function* read(signal: AbortSignal): AsyncIterable<readonly ReplyEvent[]> {
    const mine = channel
    if (!mine) return
    const wake = (): void => mine.wake()
    signal.addEventListener('abort', wake)
    try {
      while (!signal.aborted && !mine.hasEnded) {
        const events = mine.waiting
        if (events.length > 0) {
          mine.waiting = []
          yield events
        } else if (mine.failure) throw mine.failure
        else
          await new Promise<void>((resolve) => {
            mine.wake = resolve
          })
      }
    } finally {
      signal.removeEventListener('abort', wake)
      if (channel === mine) channel = undefined
    }
  }

  function fail(error: ReplyError): void {
    if (!channel || channel.failure) return
    channel.failure = error
    channel.wake()
  }
}
