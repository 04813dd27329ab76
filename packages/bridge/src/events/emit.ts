import type { ChatPlace } from '../place.ts'
import type { BridgeEvent, EventPlace } from './event.ts'

/** Gets what happens in a bridge. */
export type BridgeObserver = (event: BridgeEvent) => void

/** Tells all observers. The failure of one is reported, and touches no other. */
export function emitTo(observers: readonly BridgeObserver[], onError: (error: Error) => void): BridgeObserver {
  return (event) => {
    for (const observe of observers) {
      try {
        observe(event)
      } catch (error) {
        onError(error instanceof Error ? error : new Error(String(error)))
      }
    }
  }
}

/** A place as events name it. */
export function eventPlace({ channel, chat }: ChatPlace, at: number): EventPlace {
  return { at, channel, chat: chat.id, ...(chat.thread !== undefined && { thread: chat.thread }) }
}
