import { type Fields, isFields } from '../../../fields.ts'

interface PreviewName {
  /** The type's name in 2.0. */
  readonly type: string
  /**
   * Returns the data that readers use, under the names of 2.0. Literals, because spreading takes several times as long.
   */
  readonly dataOf: (data: Fields) => Fields
}

/**
 * Renames what preview builds name differently, so that all other code only knows the names of 2.0. Recordings of both
 * are read side by side.
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

/** The preview sends the session as `GET /session` shows it, with a flat directory. */
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

/** A waiting input, from a list. Preview builds have its time and content under other names. */
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
