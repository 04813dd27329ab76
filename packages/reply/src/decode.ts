import { firstIssue, frameReaders } from './decode/read.ts'
import { createSeen } from './decode/seen.ts'
import { type OnError, ReplyError } from './error.ts'
import type { DeltaEvent, ReplyEvent } from './event.ts'
import { excerptOf, kindOf } from './excerpt.ts'

export interface DecoderOptions {
  /** Told of each known event that has not its shape, and of data that is no JSON. */
  readonly onError?: OnError | undefined
}

export interface Decoder {
  /**
   * One frame's JSON text, received at `at` (ms since the epoch). Undefined for what says nothing about a reply: types
   * not known, second copies, malformed events (reported).
   */
  decode(data: string, at: number): ReplyEvent | undefined
  /** The same for a frame that is parsed already. */
  decodeValue(value: unknown, at: number): ReplyEvent | undefined
}

/**
 * Turns the wire's events, of every dialect known, into `ReplyEvent`s. It remembers the last event ids, nothing else:
 * keep one for a server across its connections.
 */
export function createDecoder(options: DecoderOptions = {}): Decoder {
  const isSecond = createSeen()
  return { decode, decodeValue }

  function decode(data: string, at: number): ReplyEvent | undefined {
    let value: unknown
    try {
      value = JSON.parse(data)
    } catch {
      // The parser's own error is left out: it quotes the text, secrets and all.
      report(`A frame is no JSON and was skipped: ${excerptOf(data)}`)
      return undefined
    }
    return decodeValue(value, at)
  }

  function decodeValue(value: unknown, at: number): ReplyEvent | undefined {
    const frame = unwrap(value)
    if (!frame) {
      report(`A frame is no event (an object with a "type" was expected) and was skipped: ${kindOf(value)}`)
      return undefined
    }
    // A durable event's second copy has the id of the first.
    if (frame.type === 'sync' || (typeof frame.id === 'string' && isSecond(frame.id))) return undefined
    const type = stripVersion(frame.type)
    if (type === 'message.part.delta') return toDelta(frame, at) ?? reportDelta(frame)
    if (type === 'server.heartbeat') return { type: 'heartbeat', at, raw: frame }
    if (type === 'server.connected') return { type: 'connected', at, raw: frame }
    const directory = directoryOf(value)
    const decoded = frameReaders.get(type)?.(frame, { at, directory })
    if (!decoded || !('issues' in decoded)) return decoded && withDirectory(decoded, directory)
    report(`An event "${type}" is malformed and was skipped: ${firstIssue(decoded)}`, decoded)
    return undefined
  }

  function reportDelta(frame: Frame): undefined {
    const wrong = ['sessionID', 'messageID', 'partID', 'field', 'delta'].find(
      (key) => typeof (frame.properties as Record<string, unknown> | undefined)?.[key] !== 'string',
    )
    report(`An event "${frame.type}" is malformed and was skipped: properties.${wrong} is no string`)
  }

  function report(message: string, cause?: unknown): void {
    options.onError?.(new ReplyError('malformed', message, { cause }))
  }
}

interface Frame {
  readonly type: string
  readonly id?: unknown
  readonly properties?: unknown
}

/** Takes `{directory, payload}` apart. */
function unwrap(value: unknown): Frame | undefined {
  if (isFrame(value)) return value
  const outer = value as { payload?: unknown; type?: unknown } | null | undefined
  return outer?.type === undefined && isFrame(outer?.payload) ? outer.payload : undefined
}

/** The directory that `{directory, payload}` names. Some frames, as those of the server itself, name "global". */
function directoryOf(value: unknown): string | undefined {
  const { directory, payload } = value as { directory?: unknown; payload?: unknown }
  return payload !== undefined && typeof directory === 'string' && directory !== 'global' ? directory : undefined
}

/** What the event itself says of its session's directory counts more. */
function withDirectory(event: ReplyEvent, directory: string | undefined): ReplyEvent {
  if (directory === undefined || !('sessionID' in event) || event.directory !== undefined) return event
  return { ...event, directory }
}

function isFrame(value: unknown): value is Frame {
  return typeof value === 'object' && value !== null && typeof (value as Partial<Frame>).type === 'string'
}

function toDelta(frame: Frame, at: number): DeltaEvent | undefined {
  const wire = frame.properties as Partial<DeltaEvent> | null | undefined
  if (typeof wire !== 'object' || wire === null) return undefined
  const { sessionID, messageID, partID, field, delta } = wire
  if (typeof sessionID !== 'string' || typeof messageID !== 'string' || typeof partID !== 'string') return undefined
  if (typeof field !== 'string' || typeof delta !== 'string') return undefined
  return { type: 'delta', at, raw: frame, sessionID, messageID, partID, field, delta }
}

/** Some servers name an event with its version, as in `message.updated.1`. */
function stripVersion(type: string): string {
  const last = type.charCodeAt(type.length - 1)
  return last >= 48 && last <= 57 ? type.replace(/\.\d+$/, '') : type
}
