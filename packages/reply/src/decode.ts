import type { z } from 'zod'
import { toOldPermission, toPermission, toQuestion } from './decode/ask.ts'
import { toFailure } from './decode/failure.ts'
import { toHead, toSession } from './decode/message.ts'
import { toPart } from './decode/part.ts'
import { eventSchemas } from './decode/schema.ts'
import { type OnError, ReplyError } from './error.ts'
import type { DeltaEvent, ReplyEvent } from './event.ts'

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

type Schemas = typeof eventSchemas
type WireType = keyof Schemas
type Readers = { readonly [T in WireType]: (properties: z.infer<Schemas[T]>, at: number, raw: object) => Decoded }
type Decoded = ReplyEvent | z.ZodError | undefined

/** How many of the last event ids are remembered to drop doubled events. A reconnect can double at most what was in flight. */
const remembered = 512

/**
 * Turns the wire's events, of every dialect known, into `ReplyEvent`s. It remembers the last event ids, nothing else:
 * keep one for a server across its connections.
 */
export function createDecoder(options: DecoderOptions = {}): Decoder {
  const seen = new Set<string>()
  return { decode, decodeValue }

  function decode(data: string, at: number): ReplyEvent | undefined {
    let value: unknown
    try {
      value = JSON.parse(data)
    } catch (cause) {
      report(`A frame is no JSON and was skipped: ${JSON.stringify(data.slice(0, 120))}`, cause)
      return undefined
    }
    return decodeValue(value, at)
  }

  function decodeValue(value: unknown, at: number): ReplyEvent | undefined {
    const frame = unwrap(value)
    if (!frame) {
      report(`A frame is no event (no object with a "type") and was skipped: ${JSON.stringify(value)?.slice(0, 120)}`)
      return undefined
    }
    // A durable event's second copy has the id of the first.
    if (frame.type === 'sync' || (typeof frame.id === 'string' && isSecond(frame.id))) return undefined
    if (frame.type === 'message.part.delta') return toDelta(frame, at) ?? reportDelta(frame)
    if (frame.type === 'server.heartbeat') return { type: 'heartbeat', at, raw: frame }
    if (frame.type === 'server.connected') return { type: 'connected', at, raw: frame }
    const type = stripVersion(frame.type)
    if (!isKnown(type)) return undefined
    const decoded = read(type, frame, at)
    if (!decoded || !('issues' in decoded)) return decoded
    report(`An event "${type}" is malformed and was skipped: ${firstIssue(decoded)}`, decoded)
    return undefined
  }

  function isSecond(id: string): boolean {
    if (seen.has(id)) return true
    seen.add(id)
    if (seen.size > remembered) for (const oldest of seen) return !seen.delete(oldest)
    return false
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
  const outer = value as { payload?: unknown; type?: unknown } | null
  const frame =
    typeof outer === 'object' && outer !== null && outer.payload !== undefined && outer.type === undefined
      ? outer.payload
      : outer
  return typeof frame === 'object' && frame !== null && typeof (frame as Frame).type === 'string'
    ? (frame as Frame)
    : undefined
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

function isKnown(type: string): type is WireType {
  return Object.hasOwn(eventSchemas, type)
}

function read<T extends WireType>(type: T, frame: Frame, at: number): Decoded {
  const parsed = eventSchemas[type].safeParse(frame.properties)
  if (!parsed.success) return parsed.error
  return readers[type](parsed.data as z.infer<Schemas[T]>, at, frame)
}

function firstIssue(error: z.ZodError): string {
  const issue = error.issues[0]
  return issue ? `properties.${issue.path.join('.')}: ${issue.message}` : error.message
}

const readers: Readers = {
  'session.created': toSessionEvent,
  'session.updated': toSessionEvent,
  'session.deleted': ({ info }, at, raw) => ({ type: 'session-removed', at, raw, sessionID: info.id }),
  'session.status': ({ sessionID, status }, at, raw) => {
    if (status.type !== 'retry') return { type: 'status', at, raw, sessionID, status: status.type }
    const { attempt, message = '', next: nextAt } = status
    return { type: 'retry', at, raw, sessionID, attempt, message, nextAt }
  },
  'session.idle': ({ sessionID }, at, raw) => ({ type: 'status', at, raw, sessionID, status: 'idle' }),
  'session.error': ({ sessionID, error }, at, raw) =>
    sessionID === undefined ? undefined : { type: 'error', at, raw, sessionID, error: toFailure(error ?? {}) },
  'session.compacted': ({ sessionID }, at, raw) => ({ type: 'compacted', at, raw, sessionID }),
  'message.updated': ({ info }, at, raw) => ({
    type: 'message',
    at,
    raw,
    sessionID: info.sessionID,
    message: toHead(info),
  }),
  'message.removed': ({ sessionID, messageID }, at, raw) => ({
    type: 'message-removed',
    at,
    raw,
    sessionID,
    messageID,
  }),
  'message.part.updated': ({ part: wire }, at, raw) => {
    const part = toPart(wire)
    return 'issues' in part ? part : { type: 'part', at, raw, ...part }
  },
  'message.part.removed': ({ sessionID, messageID, partID }, at, raw) => ({
    type: 'part-removed',
    at,
    raw,
    sessionID,
    messageID,
    partID,
  }),
  'todo.updated': ({ sessionID, todos }, at, raw) => ({
    type: 'todos',
    at,
    raw,
    sessionID,
    todos: todos.map(({ content, status, priority }) => ({ content, status, priority })),
  }),
  'question.asked': (wire, at, raw) => ({
    type: 'asked',
    at,
    raw,
    sessionID: wire.sessionID,
    ask: toQuestion(wire, at),
  }),
  'question.replied': ({ sessionID, requestID, answers }, at, raw) => ({
    type: 'ask-closed',
    at,
    raw,
    sessionID,
    requestID,
    how: { type: 'answered', answers },
  }),
  'question.rejected': ({ sessionID, requestID }, at, raw) => ({
    type: 'ask-closed',
    at,
    raw,
    sessionID,
    requestID,
    how: { type: 'rejected' },
  }),
  'permission.asked': (wire, at, raw) => ({
    type: 'asked',
    at,
    raw,
    sessionID: wire.sessionID,
    ask: toPermission(wire, at),
  }),
  'permission.updated': (wire, at, raw) => ({
    type: 'asked',
    at,
    raw,
    sessionID: wire.sessionID,
    ask: toOldPermission(wire, at),
  }),
  'permission.replied': (wire, at, raw) => {
    const [requestID, reply] = 'requestID' in wire ? [wire.requestID, wire.reply] : [wire.permissionID, wire.response]
    return {
      type: 'ask-closed',
      at,
      raw,
      sessionID: wire.sessionID,
      requestID: String(requestID),
      how: { type: 'permission', reply: reply as 'once' },
    }
  },
  'server.instance.disposed': ({ directory }, at, raw) => ({ type: 'disposed', at, raw, directory }),
}

function toSessionEvent({ info }: z.infer<Schemas['session.created']>, at: number, raw: object): Decoded {
  return { type: 'session', at, raw, sessionID: info.id, ...toSession(info) }
}
