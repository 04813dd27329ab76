import type { ReplyError } from '../../error.ts'
import type { ReplyEvent } from '../../event.ts'

/** Queues the events of one connection at a time. */
export interface EventQueue {
  /** Begins a connection and ends the one before it. */
  open(): void
  /** Whether there is a connection that has not failed. */
  isOpen(): boolean
  /**
   * Queues events for the connection. Drops them if there is none or it has failed, because a source never repeats
   * events.
   */
  push(events: readonly ReplyEvent[]): void
  /** Yields the events of the newest connection until the signal aborts. Throws once the connection failed. */
  read(signal: AbortSignal): AsyncIterable<readonly ReplyEvent[]>
  /** Makes `read` throw this error after the events that were pushed so far. Does nothing without a connection. */
  fail(error: ReplyError): void
}

interface Connection {
  waiting: ReplyEvent[]
  failure: ReplyError | undefined
  hasEnded: boolean
  wake: () => void
}

/** Creates the queue between an agent's runs, which push events, and the connection that reads them. It has none yet. */
export function createEventQueue(): EventQueue {
  let connection: Connection | undefined
  return {
    open: openConnection,
    isOpen: () => connection !== undefined && !connection.failure,
    push: queueEvents,
    read: readEvents,
    fail: breakConnection,
  }

  /** Sets an empty connection as the current one, and makes the `read` of the one before return. */
  function openConnection(): void {
    const before = connection
    connection = { waiting: [], failure: undefined, hasEnded: false, wake: () => {} }
    if (!before) return
    before.hasEnded = true
    before.wake()
  }

  /** Queues events for the connection and wakes its reader. Drops them if there is none or it has failed. */
  function queueEvents(events: readonly ReplyEvent[]): void {
    if (!connection || connection.failure || events.length === 0) return
    for (const event of events) connection.waiting.push(event)
    connection.wake()
  }

  /**
   * Yields what is queued for the connection that is current now, until it ends, fails (throws) or the signal aborts.
   */
  async function* readEvents(signal: AbortSignal): AsyncIterable<readonly ReplyEvent[]> {
    const own = connection
    if (!own) return
    const wake = (): void => own.wake()
    signal.addEventListener('abort', wake)
    try {
      while (!signal.aborted && !own.hasEnded) {
        const events = own.waiting
        if (events.length > 0) {
          own.waiting = []
          yield events
        } else if (own.failure) throw own.failure
        else
          await new Promise<void>((resolve) => {
            own.wake = resolve
          })
      }
    } finally {
      signal.removeEventListener('abort', wake)
      if (connection === own) connection = undefined
    }
  }

  /** Makes the reader of the connection throw this error, once it has yielded the queued events. */
  function breakConnection(error: ReplyError): void {
    if (!connection || connection.failure) return
    connection.failure = error
    connection.wake()
  }
}
