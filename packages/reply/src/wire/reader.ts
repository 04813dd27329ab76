import { type OnError, ReplyError } from '../error.ts'
import type { DeltaEvent, ReplyEvent } from '../event.ts'
import { createSseReader } from './frames.ts'

export interface FrameReaderOptions {
  /** Receives what was skipped: malformed or too large frames, and a failing `onFrame`. Default: errors are ignored. */
  readonly onError?: OnError | undefined
  /** Called with every frame's data as it arrived, before it is parsed. */
  readonly onFrame?: ((data: string, at: number) => void) | undefined
  /** Called with each comment line of the stream, without its colon. `record` notes arrival times in comments. */
  readonly onComment?: ((comment: string) => void) | undefined
  /**
   * The maximum size of an unfinished frame, in UTF-16 units. A larger one is reported as `too-large` and skipped.
   * Default 16,777,216: OpenCode sends whole tool outputs and files in one frame.
   */
  readonly maxFrame?: number | undefined
  readonly decoder: FrameDecoder
}

/** Decodes one frame's JSON text: no event, one, or several. */
export interface FrameDecoder {
  /** `at` is when it was received, in ms since the epoch. */
  decode(data: string, at: number): ReplyEvent | readonly ReplyEvent[] | undefined
}

/** Reads one stream of server-sent events. */
export interface EventReader {
  /** The events that this chunk completes, stamped with `at`. Consecutive deltas of one part are merged. */
  push(chunk: Uint8Array | string, at: number): readonly ReplyEvent[]
  /** Forgets an unfinished frame. Call it when the connection was lost, before the bytes of the next. */
  reset(): void
}

/**
 * Creates a reader that turns bytes into events: splits and decodes frames, and merges consecutive deltas within a
 * chunk. Reports an error of `onFrame` and continues.
 */
export function createFrameReader(options: FrameReaderOptions): EventReader {
  const { decoder } = options
  let events: ReplyEvent[] = []
  let stamp = 0
  const sse = createSseReader({
    onData: readFrame,
    onComment: options.onComment,
    onError: options.onError,
    maxFrame: options.maxFrame,
  })
  return { push, reset: sse.reset }

  /** Returns the events that the chunk completes, stamped with `at`. */
  function push(chunk: Uint8Array | string, at: number): readonly ReplyEvent[] {
    events = []
    stamp = at
    sse.push(chunk)
    return events
  }

  /** Decodes a frame, and appends its events. */
  function readFrame(data: string): void {
    callOnFrame(data)
    const decoded = decoder.decode(data, stamp)
    if (isList(decoded)) for (const event of decoded) appendEvent(event)
    else if (decoded) appendEvent(decoded)
  }

  /** Appends an event to those of this chunk. A delta of the same part as the last event is merged into it. */
  function appendEvent(event: ReplyEvent): void {
    const last = events.length - 1
    // Reading index -1 of an array is slow.
    const merged = event.type === 'delta' && last >= 0 ? mergedDelta(events[last], event) : undefined
    if (merged) events[last] = merged
    // Mostly there is only one event: a literal is smaller than an array that grows by push.
    else if (last === -1) events = [event]
    else events.push(event)
  }

  /**
   * Passes the data to `onFrame` and reports its errors. A failing recorder, such as one with a full disk, must not end
   * the stream.
   */
  function callOnFrame(data: string): void {
    try {
      options.onFrame?.(data, stamp)
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      options.onError?.(new ReplyError('observer', `"onFrame" failed: ${reason}. The stream continues.`, { cause }))
    }
  }
}

/** Whether several events were decoded. `Array.isArray` alone doesn't narrow a readonly array. */
function isList(decoded: ReplyEvent | readonly ReplyEvent[] | undefined): decoded is readonly ReplyEvent[] {
  return Array.isArray(decoded)
}

/**
 * One delta for two consecutive ones of the same field of a part, with the later one's `raw`. Undefined for any other
 * event before.
 */
function mergedDelta(before: ReplyEvent | undefined, event: DeltaEvent): DeltaEvent | undefined {
  if (before?.type !== 'delta' || before.partID !== event.partID || before.field !== event.field) return undefined
  if (before.messageID !== event.messageID || before.sessionID !== event.sessionID) return undefined
  const { at, raw, sessionID, messageID, partID, field } = event
  return { type: 'delta', at, raw, sessionID, messageID, partID, field, delta: before.delta + event.delta }
}
