import { type Fields, isFields } from '../../../fields.ts'

interface PreviewName {
  /** The name that 2.0 gives to this type. */
  readonly type: string
  /** What readers use of the data, under the names of 2.0. Literals: spreading takes several times as long. */
  readonly dataOf: (data: Fields) => Fields
}

/**
 * What the preview builds called otherwise gets the names of 2.0, so that all other code knows those alone. Recordings
 * of both are read side by side.
 */
export const previewNames: ReadonlyMap<string, PreviewName> = new Map([
  ['session.input.admitted', { type: 'session.inbox.enqueued', dataOf: admitted }],
  ['session.input.promoted', { type: 'session.inbox.delivered', dataOf: promoted }],
  ['session.created', { type: 'session.created', dataOf: created }],
  ...['input.started', 'called', 'progress', 'success', 'failed'].map((name): [string, PreviewName] => [
    `session.tool.${name}`,
    { type: `session.tool.${name}`, dataOf: call },
  ]),
  ['permission.asked', { type: 'permission.asked', dataOf: canonicalPermission }],
  ['form.created', { type: 'form.created', dataOf: formCreated }],
])

function admitted({ sessionID, inputID, input }: Fields): Fields {
  if (!isFields(input)) return { sessionID, inboxID: inputID, item: input }
  const { type, payload = input.data, delivery } = input
  return { sessionID, inboxID: inputID, item: { type, payload, delivery } }
}

function promoted({ sessionID, inputID: inboxID }: Fields): Fields {
  return { sessionID, inboxID }
}

/** The preview carries the session as `GET /session` shows it, with a flat directory. */
function created(data: Fields): Fields {
  const { sessionID, info } = data
  if (!isFields(info)) return data
  const { parentID, title, directory, time, revert } = info
  const location = isFields(info.location) ? info.location : { directory }
  return { sessionID, parentID, title, location, time, revert }
}

function call(data: Fields): Fields {
  const { sessionID, assistantMessageID, callID: id, name, input, metadata, content, error } = data
  return id === undefined ? data : { sessionID, assistantMessageID, id, name, input, metadata, content, error }
}

function formCreated(data: Fields): Fields {
  return isFields(data.form) ? { form: canonicalForm(data.form) } : data
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

function renamedCall(value: unknown): unknown {
  return isFields(value) && value.callID !== undefined ? { ...value, id: value.callID } : value
}
