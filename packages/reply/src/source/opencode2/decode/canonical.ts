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

/** Reads a frame's envelope; undefined if it isn't one of this generation: version 1 has `properties`, not `data`. */
export function frameOf(value: unknown): Frame | undefined {
  if (!isFields(value) || typeof value.type !== 'string' || !isFields(value.data)) return undefined
  const directory = isFields(value.location) ? value.location.directory : undefined
  return {
    id: typeof value.id === 'string' ? value.id : undefined,
    type: canonicalTypes.get(value.type) ?? value.type,
    data: canonicalData.get(value.type)?.(value.data) ?? value.data,
    created: typeof value.created === 'number' ? value.created : undefined,
    directory: typeof directory === 'string' ? directory : undefined,
    seq: isFields(value.durable) && typeof value.durable.seq === 'number' ? value.durable.seq : undefined,
  }
}

/**
 * What the preview builds called otherwise gets the names of 2.0, so that all other code knows those alone. Recordings
 * of both are read side by side.
 */
export const canonicalTypes: ReadonlyMap<string, string> = new Map([
  ['session.input.admitted', 'session.inbox.enqueued'],
  ['session.input.promoted', 'session.inbox.delivered'],
])

const canonicalData: ReadonlyMap<string, (data: Fields) => Fields> = new Map([
  [
    'session.input.admitted',
    ({ sessionID, inputID, input }: Fields) => ({ sessionID, inboxID: inputID, item: itemOf(input) }),
  ],
  ['session.input.promoted', (data) => ({ ...data, inboxID: data.inputID })],
  ['session.created', (data) => (isFields(data.info) ? sessionOf(data.sessionID, data.info) : data)],
  ['session.tool.input.started', withCallID],
  ['session.tool.called', withCallID],
  ['session.tool.progress', withCallID],
  ['session.tool.success', withCallID],
  ['session.tool.failed', withCallID],
  ['permission.asked', (data) => ({ ...data, source: renamedCall(data.source) })],
  ['form.created', (data) => (isFields(data.form) ? { ...data, form: canonicalForm(data.form) } : data)],
])

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
function sessionOf(sessionID: unknown, info: Fields): Fields {
  const { parentID, title, directory, time, revert } = info
  const location = isFields(info.location) ? info.location : { directory }
  return { sessionID, parentID, title, location, time, revert }
}

function renamedCall(value: unknown): unknown {
  return isFields(value) ? withCallID(value) : value
}

function withCallID(fields: Fields): Fields {
  return fields.callID === undefined ? fields : { ...fields, id: fields.callID }
}
