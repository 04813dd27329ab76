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

export interface Run {
  readonly observer: ReplyObserver
  /** When chunk number `index` came. Default: a millisecond after the one before. */
  readonly atOf?: ((index: number) => number) | undefined
}

/** The way of a live stream: chunks are read, tracked and dispatched as they come. */
export function readLive(chunks: readonly Uint8Array[], { observer, atOf = (index) => index }: Run): void {
  const reader = createEventReader({ onError: fail })
  const apply = follow(observer)
  for (const [index, chunk] of chunks.entries()) for (const event of reader.push(chunk, atOf(index))) apply(event)
}

/** The same from events that somebody else has parsed already. */
export function readParsed(events: readonly unknown[], { observer }: Run): void {
  const decoder = createDecoder({ onError: fail })
  const apply = follow(observer)
  for (const value of events) {
    const event = decoder.decodeValue(value, 0)
    if (event) apply(event)
  }
}

/** The public replay, which reads a whole recording. */
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

/** A figure of a stream that was not read whole would be worth nothing. */
function fail(error: Error): never {
  throw error
}
