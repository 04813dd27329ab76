import { type OnError, ReplyError } from '../../error.ts'
import type { DeltaEvent, ReplyEvent } from '../../event.ts'
import { describeType, excerptOf } from '../../text/excerpt.ts'
import { setDirectory } from '../decode/directory.ts'
import { createRepeatCheck } from '../decode/repeat-check.ts'
import { describeFirstIssue, frameReaders } from './decode/event-builders.ts'
import { type Frame, frameOf, typeOfPlainFrame } from './decode/frame.ts'
import { createGrowingTexts } from './decode/growing-text.ts'
import { createRepeatedDeltas } from './decode/repeated-delta.ts'

/** The options of `createDecoder`. */
export interface DecoderOptions {
  /** Called for each known event that is malformed, and for data that isn't JSON. */
  readonly onError?: OnError | undefined
}

/** Decodes the frames of one server. */
export interface Decoder {
  /**
   * Decodes one frame's JSON text, received at `at` (ms since the epoch). Undefined for frames that don't concern a
   * reply: unknown types, duplicates, and malformed events, which are reported.
   */
  decode(data: string, at: number): ReplyEvent | undefined
  /** Like `decode`, for a frame that is already parsed. */
  decodeValue(value: unknown, at: number): ReplyEvent | undefined
}

/** A decoder for text that the caller has parsed, or that may not need parsing as a whole. */
export interface TextDecoder1 extends Decoder {
  /** Decodes a frame without parsing it as a whole. Undefined if it must be parsed, `nothing` if it has no event. */
  decodeUnparsed(data: string, at: number): ReplyEvent | 'nothing' | undefined
  /** Like `decode`, for a text that is already parsed. */
  decodeParsed(data: string, value: unknown, at: number): ReplyEvent | undefined
}

/**
 * Creates a decoder that turns wire events of every known dialect into `ReplyEvent`s. Its only state is the last event
 * ids and frames that later ones may repeat. Keep one decoder per server, across its connections.
 */
export function createDecoder(options: DecoderOptions = {}): Decoder {
  return createTextDecoder(options)
}

/**
 * Creates a decoder of OpenCode 1's frames. Keep one for all connections to a server, because it drops duplicate events.
 * `createAnyDecoder` also uses its steps: events without parsing, and events of parsed frames.
 */
export function createTextDecoder(options: DecoderOptions = {}): TextDecoder1 {
  const isRepeated = createRepeatCheck()
  const deltas = createRepeatedDeltas()
  const texts = createGrowingTexts()
  return { decode, decodeValue, decodeUnparsed, decodeParsed }

  /**
   * Returns the event of a frame that arrived at `at`, in ms since the epoch. Undefined for a frame that concerns no reply,
   * and for one that is reported: malformed, or not JSON.
   */
  function decode(data: string, at: number): ReplyEvent | undefined {
    const unparsed = decodeUnparsed(data, at)
    if (unparsed) return unparsed === 'nothing' ? undefined : unparsed
    let value: unknown
    try {
      value = JSON.parse(data)
    } catch {
      // Omits the parser's own error, because it quotes the text, which may contain secrets.
      reportMalformed(`Skipped a frame that is not JSON: ${excerptOf(data)}`)
      return undefined
    }
    return decodeParsed(data, value, at)
  }

  /**
   * Returns the event of a repeated delta or a growing text, or `nothing` for a duplicate, an irrelevant frame and a
   * malformed text, which is reported. Undefined if the frame must be parsed.
   */
  function decodeUnparsed(data: string, at: number): ReplyEvent | 'nothing' | undefined {
    const delta = deltas.read(data, at)
    if (delta) return typeof delta.raw.id === 'string' && isRepeated(delta.raw.id) ? 'nothing' : delta
    const value = texts.parse(data)
    if (value !== undefined) return decodeValue(value, at) ?? 'nothing'
    const type = typeOfPlainFrame(data)
    return type !== undefined && isIrrelevantType(stripVersion(type)) ? 'nothing' : undefined
  }

  /**
   * Returns the event of a parsed frame, and stores a delta or a part as the template for the next frames. Undefined
   * like `decodeValue`.
   */
  function decodeParsed(data: string, value: unknown, at: number): ReplyEvent | undefined {
    const event = decodeValue(value, at)
    if (event?.type === 'delta') deltas.learn(data, event)
    else if (event?.type === 'part') texts.learn(data, value)
    return event
  }

  /**
   * Returns a frame's event, in the directory of its wrapping. Undefined for duplicates, unknown types, and malformed
   * events, which are reported.
   */
  function decodeValue(value: unknown, at: number): ReplyEvent | undefined {
    const frame = frameOf(value)
    if (!frame) {
      reportMalformed(`Skipped a frame that is not an event (expected an object with a "type"): ${describeType(value)}`)
      return undefined
    }
    // A durable event comes twice, with the same id.
    if (frame.type === 'sync' || (typeof frame.id === 'string' && isRepeated(frame.id))) return undefined
    const type = stripVersion(frame.type)
    if (type === 'message.part.delta') return toDeltaEvent(frame, at) ?? reportMalformedDelta(frame)
    if (type === 'server.heartbeat') return { type: 'heartbeat', at, raw: frame }
    if (type === 'server.connected') return { type: 'connected', at, raw: frame }
    const directory = wrappedDirectory(value)
    const decoded = frameReaders.get(type)?.(frame, { at, directory })
    if (!decoded || !('issues' in decoded)) {
      if (decoded && directory !== undefined) setDirectory(decoded, directory)
      return decoded
    }
    reportMalformed(`Skipped a malformed event "${type}": ${describeFirstIssue(decoded)}`, decoded)
    return undefined
  }

  /** Reports which field of a delta is not a string. */
  function reportMalformedDelta(frame: Frame): undefined {
    const wrong = ['sessionID', 'messageID', 'partID', 'field', 'delta'].find(
      (key) => typeof (frame.properties as Record<string, unknown> | undefined)?.[key] !== 'string',
    )
    reportMalformed(`Skipped a malformed event "${frame.type}": properties.${wrong} is not a string`)
  }

  /** Reports a `malformed` error to `onError`. */
  function reportMalformed(message: string, cause?: unknown): void {
    options.onError?.(new ReplyError('malformed', message, { cause }))
  }
}

/** The types that `decodeValue` reads without a schema. */
const typesWithoutSchema: ReadonlySet<string> = new Set(['message.part.delta', 'server.heartbeat', 'server.connected'])

/** Whether a type of OpenCode 1, with or without its version, may concern a reply. */
export function isRelevantType(type: string): boolean {
  return !isIrrelevantType(stripVersion(type))
}

/** Whether a type concerns no reply. */
function isIrrelevantType(type: string): boolean {
  return !frameReaders.has(type) && !typesWithoutSchema.has(type)
}

/**
 * Returns the directory in `{directory, payload}`. Undefined without one, and for "global", which some frames have,
 * such as the server's own.
 */
function wrappedDirectory(value: unknown): string | undefined {
  const { directory, payload } = value as { directory?: unknown; payload?: unknown }
  return payload !== undefined && typeof directory === 'string' && directory !== 'global' ? directory : undefined
}

/** Converts a delta. Undefined if one of its fields is not a string. */
function toDeltaEvent(frame: Frame, at: number): DeltaEvent | undefined {
  const wire = frame.properties as Partial<DeltaEvent> | null | undefined
  if (typeof wire !== 'object' || wire === null) return undefined
  const { sessionID, messageID, partID, field, delta } = wire
  if (typeof sessionID !== 'string' || typeof messageID !== 'string' || typeof partID !== 'string') return undefined
  if (typeof field !== 'string' || typeof delta !== 'string') return undefined
  return { type: 'delta', at, raw: frame, sessionID, messageID, partID, field, delta }
}

/** Returns the type without the version that some servers append, for example in `message.updated.1`. */
function stripVersion(type: string): string {
  const last = type.charCodeAt(type.length - 1)
  return last >= 48 && last <= 57 ? type.replace(/\.\d+$/, '') : type
}
