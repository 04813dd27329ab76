import {
  createDecoder,
  createDispatcher,
  createEventReader,
  emptyTrack,
  type ReplyEvent,
  type ReplyObserver,
  replay,
  track,
} from '@reply/core'
import { createDecoder2 } from '@reply/core/internal'

/**
 * Reads, tracks and dispatches chunks as a live stream of OpenCode 1 or 2 does. `atOf` is the arrival time of chunk
 * `index`, by default a millisecond after the one before. Throws if a frame can't be read.
 */
export function readLive(
  chunks: readonly Uint8Array[],
  observer: ReplyObserver,
  generation: 1 | 2 = 1,
  atOf: (index: number) => number = (index) => index,
): void {
  const decoder = generation === 2 ? createDecoder2({ onError: rethrow }) : undefined
  const reader = createEventReader({ onError: rethrow, decoder })
  const apply = createApplier(observer)
  // Not `entries()`, which builds a pair for each chunk: the floor does not pay for that either.
  let index = 0
  for (const chunk of chunks) for (const event of reader.push(chunk, atOf(index++))) apply(event)
}

/** Decodes, tracks and dispatches events of OpenCode 1 that were parsed before. Throws if one can't be decoded. */
export function readParsed(events: readonly unknown[], observer: ReplyObserver): void {
  const decoder = createDecoder({ onError: rethrow })
  const apply = createApplier(observer)
  for (const value of events) {
    const event = decoder.decodeValue(value, 0)
    if (event) apply(event)
  }
}

/** Reads a whole recording with the public `replay`. Rejects if a frame can't be read. */
export async function readReplay(chunks: readonly Uint8Array[], observer: ReplyObserver): Promise<void> {
  await replay(chunks, { onError: rethrow, observe: () => [observer] })
}

/** Returns a function that tracks an event after those before, and reports the changes to the observer. */
function createApplier(observer: ReplyObserver): (event: ReplyEvent) => void {
  const dispatcher = createDispatcher({ onError: rethrow })
  dispatcher.observe(observer)
  let state = emptyTrack()
  return (event) => {
    const tracked = track(state, event)
    state = tracked.state
    for (const step of tracked.steps) dispatcher.dispatch(step)
  }
}

/** Throws if a stream was not read to its end: its figure would be worthless. */
function rethrow(error: Error): never {
  throw error
}
