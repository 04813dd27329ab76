import type { Clock } from '../clock.ts'
import { createTimers } from '../platform/timers.ts'
import { limits } from './limits.ts'

/** The kind of message to the app: an event, a person's use of a control, or a slash command. */
export type SlackEnvelope = 'events_api' | 'interactive' | 'slash_commands'

export interface Attempt {
  readonly type: SlackEnvelope
  readonly body: Readonly<Record<string, unknown>>
  /** The retry number, from 1; 0 for a first attempt. */
  readonly retry: number
  /** Aborts on timeout. */
  readonly signal: AbortSignal
}

export interface Receiver {
  /** Sends once. Resolves with whether it was acknowledged. */
  take(attempt: Attempt): Promise<boolean>
  /** Whether an app is connected: without one nothing is sent or retried. */
  isThere(): boolean
}

/** Delivers events to the app. */
export interface EventDelivery {
  /** Resolves with whether it was finally acknowledged. Only events are retried. */
  send(type: SlackEnvelope, body: Readonly<Record<string, unknown>>): Promise<boolean>
  /** Sets the only receiver. */
  setReceiver(receiver: Receiver | undefined): void
  /** Sends the next event twice although it is acknowledged: the acknowledgement was lost. */
  repeatNext(): void
  close(): void
}

export function createDelivery(clock: Clock): EventDelivery {
  let receiver: Receiver | undefined
  let repeats = 0
  let isClosed = false
  const timers = createTimers(clock)
  return {
    send,
    setReceiver: (next) => {
      receiver = next
    },
    repeatNext: () => {
      repeats += 1
    },
    close: () => {
      isClosed = true
      receiver = undefined
      timers.close()
    },
  }

  async function send(type: SlackEnvelope, body: Readonly<Record<string, unknown>>): Promise<boolean> {
    if (!receiver?.isThere()) return false
    if (await attempt(type, body, 0)) {
      if (type !== 'events_api' || repeats === 0) return true
      repeats -= 1
      return await attempt(type, body, 1)
    }
    if (type !== 'events_api') return false
    for (const [index, delayMs] of limits.retries.entries()) {
      if (delayMs > 0) await timers.wait(delayMs)
      if (isClosed) return false
      if (await attempt(type, body, index + 1)) return true
    }
    return false
  }

  async function attempt(
    type: SlackEnvelope,
    body: Readonly<Record<string, unknown>>,
    retry: number,
  ): Promise<boolean> {
    if (!receiver) return false
    const abort = new AbortController()
    const stop = timers.after(limits.ackMs, () => abort.abort())
    try {
      return await receiver.take({ type, body, retry, signal: abort.signal })
    } finally {
      stop()
    }
  }
}
