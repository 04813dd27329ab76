import { createDecoder, type Decoder } from './decode.ts'
import { type OnError, ReplyError } from './error.ts'
import type { DeltaEvent, ReplyEvent } from './event.ts'
import { createSseReader } from './sse.ts'

export interface EventReaderOptions {
  readonly onError?: OnError | undefined
  /** Every frame's data as it came, before anything is made of it. */
  readonly onFrame?: ((data: string, at: number) => void) | undefined
  readonly onComment?: ((comment: string) => void) | undefined
  readonly maxFrame?: number | undefined
  /** Keeps what it knows of doubled events across connections to one server. */
  readonly decoder?: Decoder | undefined
}

export interface EventReader {
  /** The events that this chunk completes, stamped with `at`. Deltas of one part that follow on each other come as one. */
  push(chunk: Uint8Array | string, at: number): readonly ReplyEvent[]
  reset(): void
}

/** Bytes in, events out: frames are cut, parsed, decoded, and neighbouring deltas of a chunk merged. */
export function createEventReader(options: EventReaderOptions = {}): EventReader {
  const decoder = options.decoder ?? createDecoder({ onError: options.onError })
  let events: ReplyEvent[] = []
  let stamp = 0
  const sse = createSseReader({
    onData,
    onComment: options.onComment,
    onError: options.onError,
    maxFrame: options.maxFrame,
  })
  return { push, reset: sse.reset }

  function push(chunk: Uint8Array | string, at: number): readonly ReplyEvent[] {
    events = []
    stamp = at
    sse.push(chunk)
    return events
  }

  function onData(data: string): void {
    tap(data)
    const event = decoder.decode(data, stamp)
    if (!event) return
    const last = events.length - 1
    // A list is slow at -1.
    const joined = event.type === 'delta' && last >= 0 ? joinDeltas(events[last], event) : undefined
    if (joined) events[last] = joined
    // A literal for the first, which is mostly the only one: a list that is pushed to is made for many.
    else if (last === -1) events = [event]
    else events.push(event)
  }

  /** A recorder whose disk is full is no reason to lose the stream. */
  function tap(data: string): void {
    try {
      options.onFrame?.(data, stamp)
    } catch (cause) {
      const words = cause instanceof Error ? cause.message : String(cause)
      options.onError?.(new ReplyError('observer', `"onFrame" failed: ${words}. The stream goes on.`, { cause }))
    }
  }
}

/** Lossless: nothing lies between the two. `raw` is then the later one's. */
function joinDeltas(before: ReplyEvent | undefined, event: DeltaEvent): DeltaEvent | undefined {
  if (before?.type !== 'delta' || before.partID !== event.partID || before.field !== event.field) return undefined
  if (before.messageID !== event.messageID || before.sessionID !== event.sessionID) return undefined
  const { at, raw, sessionID, messageID, partID, field } = event
  return { type: 'delta', at, raw, sessionID, messageID, partID, field, delta: before.delta + event.delta }
}
