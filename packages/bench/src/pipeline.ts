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

export interface Run {
  readonly observer: ReplyObserver
  /** The arrival time of chunk `index`. Default: a millisecond after the one before. */
  readonly atOf?: ((index: number) => number) | undefined
  /** Which OpenCode the stream is from. Default 1. */
  readonly generation?: 1 | 2 | undefined
}

/** Like a live stream: chunks are read, tracked and dispatched as they arrive. */
export function readLive(chunks: readonly Uint8Array[], { observer, atOf = (index) => index, generation }: Run): void {
  const decoder = generation === 2 ? createDecoder2({ onError: fail }) : undefined
  const reader = createEventReader({ onError: fail, decoder })
  const apply = follow(observer)
  // Not `entries()`, which builds a pair for each chunk: the floor does not pay for that either.
  let index = 0
  for (const chunk of chunks) for (const event of reader.push(chunk, atOf(index++))) apply(event)
}

/** The same from already parsed events. */
export function readParsed(events: readonly unknown[], { observer }: Run): void {
  const decoder = createDecoder({ onError: fail })
  const apply = follow(observer)
  for (const value of events) {
    const event = decoder.decodeValue(value, 0)
    if (event) apply(event)
  }
}

/** The public `replay`, which reads a whole recording. */
export async function readReplay(chunks: readonly Uint8Array[], { observer }: Run): Promise<void> {
  await replay(chunks, { onError: fail, observe: () => [observer] })
}

function follow(observer: ReplyObserver): (event: ReplyEvent) => void {
  const dispatcher = createDispatcher({ onError: fail })
  dispatcher.observe(observer)
  let state = emptyTrack()
  return (event) => {
    const tracked = track(state, event)
    state = tracked.state
    for (const step of tracked.steps) dispatcher.dispatch(step)
  }
}

/** Throws if a stream was not read to its end: its figure would be worthless. */
function fail(error: Error): never {
  throw error
}
