import { type Fields, isFields } from '../../../fields.ts'

/** One frame of the event stream: `{ id, created, type, data, location?, durable? }`. */
export interface Frame {
  readonly id: string | undefined
  readonly type: string
  readonly data: Fields
  /** When the server created it, in ms since the epoch. Absent in the first frame of a connection. */
  readonly created: number | undefined
  /** Absent from the frames that name none, such as those of an execution. */
  readonly directory: string | undefined
  /** Counts what a session stores. Absent from frames of what it doesn't store, such as deltas. */
  readonly seq: number | undefined
}

/** Reads a frame's envelope; undefined if it isn't one of this generation: version 1 has `properties` or `payload`. */
export function frameOf(value: unknown): Frame | undefined {
  if (!isFields(value) || typeof value.type !== 'string' || !isFields(value.data)) return undefined
  if ('properties' in value || 'payload' in value) return undefined
  const directory = isFields(value.location) ? value.location.directory : undefined
  return canonical({
    id: typeof value.id === 'string' ? value.id : undefined,
    type: value.type,
    data: value.data,
    created: typeof value.created === 'number' ? value.created : undefined,
    directory: typeof directory === 'string' ? directory : undefined,
    seq: isFields(value.durable) && typeof value.durable.seq === 'number' ? value.durable.seq : undefined,
  })
}

/**
 * Renames what the preview builds called otherwise, so that all other code knows the names of 2.0. Recordings of both
 * are read side by side.
 */
function canonical(frame: Frame): Frame {
  const { type, data } = frame
  switch (type) {
    case 'session.input.admitted':
      return {
        ...frame,
        type: 'session.inbox.enqueued',
        data: { ...data, inboxID: data.inputID, item: itemOf(data.input) },
      }
    case 'session.input.promoted':
      return { ...frame, type: 'session.inbox.delivered', data: { ...data, inboxID: data.inputID } }
    case 'session.created':
      return isFields(data.info) ? { ...frame, data: { ...data, ...sessionOf(data.info) } } : frame
    case 'permission.asked':
      return { ...frame, data: { ...data, source: renamedCall(data.source) } }
    case 'form.created':
      return isFields(data.form) ? { ...frame, data: { ...data, form: canonicalForm(data.form) } } : frame
    default:
      return type.startsWith('session.tool.') ? { ...frame, data: withCallID(data) } : frame
  }
}

/** A form, from an event or a list. */
export function canonicalForm(form: Fields): Fields {
  const { metadata } = form
  return isFields(metadata) ? { ...form, metadata: { ...metadata, tool: renamedCall(metadata.tool) } } : form
}

/** A permission, from an event or a list. */
export function canonicalPermission(permission: Fields): Fields {
  return { ...permission, source: renamedCall(permission.source) }
}

/** An input that waits, from a list: preview builds have its time and content under other names. */
export function canonicalInput(input: Fields): Fields {
  const { timeCreated } = input
  return {
    time: timeCreated === undefined ? undefined : { created: timeCreated },
    ...input,
    payload: input.payload ?? input.data,
  }
}

function itemOf(input: unknown): unknown {
  return isFields(input) ? { ...input, payload: input.payload ?? input.data } : input
}

/** The preview's `session.created` carries the session as `GET /session` shows it, with a flat directory. */
function sessionOf(info: Fields): Fields {
  const location = isFields(info.location) ? info.location : { directory: info.directory }
  return { ...info, location }
}

function renamedCall(value: unknown): unknown {
  return isFields(value) ? withCallID(value) : value
}

function withCallID(fields: Fields): Fields {
  return fields.callID === undefined ? fields : { ...fields, id: fields.callID }
}
