import { type OnError, ReplyError } from '../../error.ts'
import type { ReplyEvent } from '../../event.ts'
import { excerptOf } from '../../text/excerpt.ts'
import type { FrameDecoder } from '../../wire/reader.ts'
import { setDirectory } from '../decode/directory.ts'
import { endsAsFrame } from '../decode/json-text.ts'
import { createRepeatCheck } from '../decode/repeat-check.ts'
import { timeOfID } from '../message-id.ts'
import { frameOf, typeOfUnstored } from './decode/frame.ts'
import { kindOf } from './decode/frame-kind.ts'
import { checkSequence, createMemory, type Memory } from './decode/memory.ts'
import { toDelta } from './decode/part.ts'
import { createRepeatedDeltas } from './decode/repeated-delta.ts'

export interface Decoder2 extends FrameDecoder {
  /** Decodes a frame without parsing it as a whole. Undefined if it must be parsed, `nothing` if it has no event. */
  decodeUnparsed(data: string, at: number): ReplyEvent | 'nothing' | undefined
  /** Decodes a parsed frame. Undefined if it isn't of this generation. */
  decodeValue(value: unknown, at: number): readonly ReplyEvent[] | undefined
  readonly memory: Memory
}

/**
 * Creates a decoder that turns the events of OpenCode 2 into `ReplyEvent`s. Keep one decoder per server across its
 * connections.
 */
export function createDecoder2({ onError }: { readonly onError?: OnError | undefined } = {}): Decoder2 {
  const memory = createMemory()
  const deltas = createRepeatedDeltas()
  const isRepeated = createRepeatCheck()
  return { decode, decodeUnparsed, decodeValue, memory }

  /**
   * Returns the events of a frame that arrived at `at`, in ms since the epoch. Empty for a frame that concerns no reply,
   * and for one that is reported: malformed, or not JSON.
   */
  function decode(data: string, at: number): ReplyEvent | readonly ReplyEvent[] {
    const unparsed = decodeUnparsed(data, at)
    if (unparsed) return unparsed === 'nothing' ? [] : unparsed
    let value: unknown
    try {
      value = JSON.parse(data)
    } catch {
      // Omits the parser's own error, because it quotes the text, which may contain secrets.
      reportMalformed(`Skipped a frame that is not JSON: ${excerptOf(data)}`)
      return []
    }
    const events = decodeValue(value, at)
    if (!events) reportMalformed('Skipped a frame that is not an event (expected an object with a "type" and "data")')
    return events ?? []
  }

  /**
   * Returns the event of a delta, or `nothing` for a duplicate and an irrelevant frame. Undefined if the frame must be
   * parsed: another type, a stored event, or a text that is cut off.
   */
  function decodeUnparsed(data: string, at: number): ReplyEvent | 'nothing' | undefined {
    const delta = deltas.read(data, at)
    if (delta) return isRepeated(delta.raw.id) ? 'nothing' : delta
    const type = typeOfUnstored(data)
    return type !== undefined && kindOf(type) === undefined && endsAsFrame(data) ? 'nothing' : undefined
  }

  /**
   * Returns a parsed frame's events, with `missed` if stored events before it are missing, and stores what later frames
   * don't repeat. Reports a malformed event. Empty for a duplicate and an irrelevant frame. Undefined if the frame
   * isn't of this generation.
   */
  function decodeValue(value: unknown, at: number): readonly ReplyEvent[] | undefined {
    const frame = frameOf(value)
    if (!frame) return undefined
    const raw = value
    if (frame.type === 'server.connected') {
      memory.reconnected(frame.id === undefined ? undefined : timeOfID(frame.id, at))
      return [{ type: 'connected', at, raw }]
    }
    if (frame.id !== undefined && isRepeated(frame.id)) return []
    const delta = toDelta(frame, at, raw)
    if (delta) return [delta]
    const sessionWithGap = checkSequence(frame, memory)
    const missed: readonly ReplyEvent[] =
      sessionWithGap === undefined ? [] : [{ type: 'missed', at, inSession: sessionWithGap }]
    const builtEvents = frame.kind?.read?.({ at, raw, frame, memory })
    if (builtEvents === undefined) return missed
    if (!('issues' in builtEvents)) {
      const { directory } = frame
      if (directory !== undefined) for (const event of builtEvents) setDirectory(event, directory)
      return sessionWithGap === undefined ? builtEvents : [...builtEvents, ...missed]
    }
    const [issue] = builtEvents.issues
    reportMalformed(
      `Skipped a malformed event "${frame.type}": data.${issue?.path.join('.')}: ${issue?.message}`,
      builtEvents,
    )
    return missed
  }

  /** Reports a `malformed` error to `onError`. */
  function reportMalformed(message: string, cause?: unknown): void {
    onError?.(new ReplyError('malformed', message, { cause }))
  }
}
