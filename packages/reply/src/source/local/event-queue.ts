import type { ReplyError } from '../../error.ts'
import type { ReplyEvent } from '../../event.ts'

/** The events for the one connection. Without a connection they are dropped: no source repeats what was missed. */
export interface EventQueue {
  /** A connection begins; one before it ends. */
  open(): void
  isOpen(): boolean
  push(events: readonly ReplyEvent[]): void
  /** The events of the connection that was opened last, until the signal aborts. Throws once it failed. */
  read(signal: AbortSignal): AsyncIterable<readonly ReplyEvent[]>
  /** Breaks the connection, after the events so far. */
  fail(error: ReplyError): void
}

interface Channel {
  waiting: ReplyEvent[]
  failure: ReplyError | undefined
  isOver: boolean
  wake: () => void
}

export function createEventQueue(): EventQueue {
  let channel: Channel | undefined
  return { open, isOpen: () => channel !== undefined && !channel.failure, push, read, fail }

  function open(): void {
    const before = channel
    channel = { waiting: [], failure: undefined, isOver: false, wake: () => {} }
    if (!before) return
    before.isOver = true
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
      while (!signal.aborted && !mine.isOver) {
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
