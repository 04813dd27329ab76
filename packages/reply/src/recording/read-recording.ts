import type { OnError } from '../error.ts'
import type { ReplyEvent } from '../event.ts'
import { createAnyDecoder } from '../source/decode-any.ts'
import { createFrameReader } from '../wire/reader.ts'
import { createUtf8Reader } from '../wire/utf8.ts'

/** Raw server-sent events or JSON lines: whole, or in pieces of any size. */
export type Recording = string | Uint8Array | Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>

/** A frame of a recording, and what `decode` made of it. */
export interface RecordedFrame {
  /** Its data: a JSON text, unless the frame is malformed. */
  readonly data: string
  /** When it was received, in ms since the epoch. Without recorded times, the latest time of the server so far, or 0. */
  readonly at: number
  /** Its events, before consecutive deltas are merged. Empty if it concerns no reply, or is malformed. */
  readonly events: readonly ReplyEvent[]
}

/** Reads a recording piece by piece. */
export interface RecordingReader {
  /** The events that this piece completes. */
  push(piece: string | Uint8Array): readonly ReplyEvent[]
  /** The events of a last frame without its blank line. */
  end(): readonly ReplyEvent[]
}

/**
 * Creates a reader of a recording's events. Stamps each with the recorded time (`: at 1790000000000` before a frame).
 * Without such comments, uses the latest time in the server's messages and tool calls so far. Calls `onFrame` for each
 * frame once it is decoded, after the errors about it.
 */
export function createRecordingReader(onError?: OnError, onFrame?: (frame: RecordedFrame) => void): RecordingReader {
  const decoder = createAnyDecoder({ onError })
  const utf8 = createUtf8Reader()
  let recordedAt: number | undefined
  let newestServerTime = 0
  let isJsonLines: boolean | undefined
  let hasBegun = false
  const reader = createFrameReader({
    onError,
    decoder: { decode: (data) => decodeFrame(data, recordedAt ?? newestServerTime) },
    onComment: (comment) => {
      const match = /^at (\d+)$/.exec(comment)
      if (match) recordedAt = Number(match[1])
    },
  })
  return { push, end: () => reader.push('\n\n', newestServerTime) }

  /**
   * Returns the events that this piece completes. The first piece with a character other than white space decides
   * whether the recording is JSON lines. Returns none until then.
   */
  function push(piece: string | Uint8Array): readonly ReplyEvent[] {
    isJsonLines ??= startsWithBrace(piece)
    if (isJsonLines === undefined) return []
    return isJsonLines
      ? readLines(typeof piece === 'string' ? piece : utf8.read(piece))
      : reader.push(piece, newestServerTime)
  }

  /**
   * Reads each line as the data of a frame, and returns the events of those that have ended. A line in many pieces, or
   * without an end, costs no more than a frame.
   */
  function readLines(text: string): readonly ReplyEvent[] {
    const more = hasBegun ? text : `data: ${text.trimStart()}`
    hasBegun = true
    return reader.push(more.replaceAll('\n', '\n\ndata: '), newestServerTime)
  }

  /** Decodes a frame and stamps its events. Undefined for an empty line. */
  function decodeFrame(data: string, at: number): ReplyEvent | readonly ReplyEvent[] | undefined {
    if (isJsonLines && data.trim() === '') return undefined
    const decoded = decoder.decode(data, at)
    if (decoded !== undefined) {
      if (isSingle(decoded)) stampEvent(decoded)
      else for (const event of decoded) stampEvent(event)
    }
    onFrame?.({ data, at: recordedAt ?? newestServerTime, events: eventsIn(decoded) })
    return decoded
  }

  /**
   * Without recorded times, sets the event's time to the latest time of the server so far. Mutates the event. Leaves
   * deltas as they are.
   */
  function stampEvent(event: ReplyEvent): void {
    if (recordedAt !== undefined || event.type === 'delta') return
    const time = serverTimeOf(event)
    if (time !== undefined && time > newestServerTime) newestServerTime = time
    if (event.at !== newestServerTime) setTime(event, newestServerTime)
  }
}

/** Whether the frame gave one event, not a list. */
function isSingle(decoded: ReplyEvent | readonly ReplyEvent[]): decoded is ReplyEvent {
  return !Array.isArray(decoded)
}

/** What a frame gave, as a list. */
function eventsIn(decoded: ReplyEvent | readonly ReplyEvent[] | undefined): readonly ReplyEvent[] {
  if (decoded === undefined) return []
  return isSingle(decoded) ? [decoded] : decoded
}

/** Mutates the event, because copying it takes longer. No other code refers to it yet. */
function setTime(event: { at: number }, at: number): void {
  event.at = at
}

/** When the event happened by the server's clock. Undefined if it names no time. */
function serverTimeOf(event: ReplyEvent): number | undefined {
  if (event.type === 'session') return event.createdAt
  if (event.type === 'message') return event.message.completedAt ?? event.message.createdAt
  if (event.type === 'part' && event.part.type === 'tool') return event.part.state.endedAt ?? event.part.state.startedAt
  return undefined
}

const decoder = new TextDecoder()

/** JSON lines begin with a brace. Undefined for a piece of only white space. */
function startsWithBrace(piece: string | Uint8Array): boolean | undefined {
  const start = typeof piece === 'string' ? piece.slice(0, 64) : decoder.decode(piece.subarray(0, 64))
  const first = start.replace(/^[\uFEFF\s]+/, '')[0]
  return first === undefined ? undefined : first === '{'
}
