import { toError } from '../error.ts'
import type { ChatPlace } from '../place.ts'
import type { BridgeEvent, EventPlace } from './event.ts'

/** Receives the events of a bridge. */
export type BridgeObserver = (event: BridgeEvent) => void

/** Returns an observer that calls all observers. If one throws, its error is reported and the others still run. */
export function emitTo(observers: readonly BridgeObserver[], onError: (error: Error) => void): BridgeObserver {
  return (event) => {
    for (const observe of observers) {
      try {
        observe(event)
      } catch (error) {
        onError(toError(error))
      }
    }
  }
}

/** Returns the place and time of an event. The thread is absent outside threads. */
export function eventPlace({ channel, chat }: ChatPlace, at: number): EventPlace {
  return { at, channel, chat: chat.id, ...(chat.thread !== undefined && { thread: chat.thread }) }
}
