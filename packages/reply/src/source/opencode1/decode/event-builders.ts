import type * as z from 'zod/mini'
import { $ZodError } from 'zod/v4/core'
import type { ReplyEvent } from '../../../event.ts'
import { sentenceOf } from '../../../text/sentence.ts'
import { checkOf, inEnglish } from '../../decode/check.ts'
import { type AskOrigin, toOldPermission, toPermission, toQuestion } from './ask.ts'
import { toFailure, toHead, toSessionFields } from './message.ts'
import { toPart } from './part.ts'
import { eventSchemas } from './schema.ts'

type Schemas = typeof eventSchemas
type EventType = keyof Schemas
type EventBuilders = {
  readonly [T in EventType]: (
    properties: z.infer<Schemas[T]>,
    at: number,
    raw: object,
    directory: string | undefined,
  ) => Decoded
}
type Decoded = ReplyEvent | $ZodError | undefined

/**
 * Reads a frame of one type. Returns the event or the validation error, or undefined if the frame belongs to no
 * session.
 */
export type FrameReader = (frame: { readonly properties?: unknown }, origin: AskOrigin) => Decoded

/** Returns the path and message of an event's first problem. The error's own message if it lists none. */
export function describeFirstIssue(error: $ZodError): string {
  let issue = error.issues[0]
  const path: PropertyKey[] = ['properties']
  // The first of several allowed shapes is the current one, so its error is the most useful.
  for (; issue?.code === 'invalid_union' && issue.errors[0]?.[0]; [issue] = issue.errors[0]) path.push(...issue.path)
  return issue ? `${[...path, ...issue.path].join('.')}: ${issue.message}` : error.message
}

/** Returns a copy of the error with this key before each path. */
function prefixPath(key: string, error: $ZodError): $ZodError {
  return new $ZodError(error.issues.map((issue) => ({ ...issue, path: [key, ...issue.path] })))
}

/**
 * The builder of each event that concerns a reply. All other types are ignored. A new event needs its schema in
 * `eventSchemas` and a builder here.
 */
const eventBuilders: EventBuilders = {
  'session.created': toSessionEvent,
  'session.updated': toSessionEvent,
  'session.deleted': ({ info }, at, raw) => ({ type: 'session-removed', at, raw, sessionID: info.id }),
  /** Returns the status, or a `retry` while the server waits to call the model again. */
  'session.status': ({ sessionID, status }, at, raw) => {
    if (status.type !== 'retry') return { type: 'status', at, raw, sessionID, status: status.type }
    const { attempt, message = '', next: nextAt } = status
    return { type: 'retry', at, raw, sessionID, attempt, message: sentenceOf(message), nextAt }
  },
  'session.idle': ({ sessionID }, at, raw) => ({ type: 'status', at, raw, sessionID, status: 'idle' }),
  /** Returns the error. Undefined if it names no session. */
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
  /** Returns the part, or the validation error of its own schema. */
  'message.part.updated': ({ part: wire }, at, raw) => {
    const read = toPart(wire)
    return 'issues' in read
      ? prefixPath('part', read)
      : { type: 'part', at, raw, sessionID: read.sessionID, part: read.part }
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
  'question.asked': (wire, at, raw, directory) => ({
    type: 'asked',
    at,
    raw,
    sessionID: wire.sessionID,
    ask: toQuestion(wire, { at, directory }),
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
  'permission.asked': (wire, at, raw, directory) => ({
    type: 'asked',
    at,
    raw,
    sessionID: wire.sessionID,
    ask: toPermission(wire, { at, directory }),
  }),
  /** The name of `permission.asked` on servers up to 1.0.223. */
  'permission.updated': (wire, at, raw, directory) => ({
    type: 'asked',
    at,
    raw,
    sessionID: wire.sessionID,
    ask: toOldPermission(wire, { at, directory }),
  }),
  /** Closes the permission. Older servers name its id and the reply differently. */
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

/** Converts a created or updated session to a `session` event. */
function toSessionEvent({ info }: z.infer<Schemas['session.created']>, at: number, raw: object): Decoded {
  const { parentID, title, directory, createdAt, revertedTo } = toSessionFields(info)
  return { type: 'session', at, raw, sessionID: info.id, parentID, title, directory, createdAt, revertedTo }
}

/** Indexed by frame type. */
export const frameReaders: ReadonlyMap<string, FrameReader> = new Map(
  (Object.keys(eventSchemas) as EventType[]).map((type) => [type, frameReaderOf(type)]),
)

/** Returns the reader of one type of frame. It returns the validation error if the properties don't fit the schema. */
function frameReaderOf<T extends EventType>(type: T): FrameReader {
  const schema = eventSchemas[type]
  const isValid = checkOf(schema)
  const build = eventBuilders[type]
  return (frame, { at, directory }) => {
    if (isValid(frame.properties)) return build(frame.properties as z.infer<Schemas[T]>, at, frame, directory)
    const parsed = schema.safeParse(frame.properties, inEnglish)
    return parsed.success ? build(parsed.data as z.infer<Schemas[T]>, at, frame, directory) : parsed.error
  }
}
