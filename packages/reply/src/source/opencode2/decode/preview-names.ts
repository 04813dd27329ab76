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
  ['session.input.admitted', { type: 'session.inbox.enqueued', dataOf: toEnqueued }],
  ['session.input.promoted', { type: 'session.inbox.delivered', dataOf: toDelivered }],
  ['session.created', { type: 'session.created', dataOf: toCreatedData }],
  ...['input.started', 'called', 'progress', 'success', 'failed'].map((name): [string, PreviewName] => [
    `session.tool.${name}`,
    { type: `session.tool.${name}`, dataOf: renameCallFields },
  ]),
  ['permission.asked', { type: 'permission.asked', dataOf: renamePermissionFields }],
  ['form.created', { type: 'form.created', dataOf: toFormCreated }],
])

/**
 * Converts the preview's accepted input to the data of `session.inbox.enqueued`. Keeps a malformed input, which the
 * schema reports.
 */
function toEnqueued({ sessionID, inputID, input }: Fields): Fields {
  if (!isFields(input)) return { sessionID, inboxID: inputID, item: input }
  const { type, payload = input.data, delivery } = input
  return { sessionID, inboxID: inputID, item: { type, payload, delivery } }
}

/** Converts the preview's delivered input to the data of `session.inbox.delivered`. */
function toDelivered({ sessionID, inputID: inboxID }: Fields): Fields {
  return { sessionID, inboxID }
}

/**
 * Converts the data of a preview build's `session.created` to that of 2.0: the session is in `info`, and its directory
 * may be there without a `location`. Returns data without `info` unchanged.
 */
function toCreatedData(data: Fields): Fields {
  const { sessionID, info } = data
  if (!isFields(info)) return data
  const { parentID, title, directory, time, revert } = info
  const location = isFields(info.location) ? info.location : { directory }
  return { sessionID, parentID, title, location, time, revert }
}

/** Renames the `callID` of a tool's event to `id`. Returns data without one unchanged. */
function renameCallFields(data: Fields): Fields {
  const { sessionID, assistantMessageID, callID: id, name, input, metadata, content, error } = data
  return id === undefined ? data : { sessionID, assistantMessageID, id, name, input, metadata, content, error }
}

/** Renames the fields of an event's form. Returns data without a form unchanged. */
function toFormCreated(data: Fields): Fields {
  return isFields(data.form) ? { form: renameFormFields(data.form) } : data
}

/**
 * Returns a form of an event or a list, whose call has its `callID` also as `id`. Returns one without metadata
 * unchanged.
 */
export function renameFormFields(form: Fields): Fields {
  const { metadata } = form
  return isFields(metadata) ? { ...form, metadata: { ...metadata, tool: addCallID(metadata.tool) } } : form
}

/** Returns a permission of an event or a list, whose call has its `callID` also as `id`. */
export function renamePermissionFields(permission: Fields): Fields {
  return { ...permission, source: addCallID(permission.source) }
}

/**
 * Returns a waiting input of a list. Preview builds have its time and content under other names. An input under the
 * names of 2.0 keeps its fields.
 */
export function renameInputFields(input: Fields): Fields {
  const { timeCreated } = input
  return {
    time: timeCreated === undefined ? undefined : { created: timeCreated },
    ...input,
    payload: input.payload ?? input.data,
  }
}

/** Returns a call with its `callID` also as `id`. Returns any other value unchanged. */
function addCallID(value: unknown): unknown {
  return isFields(value) && value.callID !== undefined ? { ...value, id: value.callID } : value
}
