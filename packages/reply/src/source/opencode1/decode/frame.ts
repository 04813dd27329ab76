import { type Fields, isFields } from '../../../fields.ts'

/** An event as it is on the wire. */
export interface Frame {
  readonly type: string
  readonly id?: unknown
  readonly properties?: unknown
}

/** Returns the frame itself or the one in `{directory, payload}`. Undefined if the value is neither. */
export function frameOf(value: unknown): Frame | undefined {
  if (isFrame(value)) return value
  const outer = value as { payload?: unknown; type?: unknown } | null | undefined
  return outer?.type === undefined && isFrame(outer?.payload) ? outer.payload : undefined
}

/** Whether a value is an object whose `type` is a string. */
function isFrame(value: unknown): value is Frame {
  return typeof value === 'object' && value !== null && typeof (value as Partial<Frame>).type === 'string'
}

/** Returns the frame's properties. Empty if they aren't an object. */
export function propertiesOf({ properties }: Frame): Fields {
  return isFields(properties) ? properties : {}
}

/** In UTF-16 units. The check reads the whole frame, so it doesn't pay off for longer ones. */
const maxLength = 300

/** A string without escapes, whose JSON text equals its value. */
const text = '"[ -!#-[\\]-~]*"'
const frame = `\\{(?:"id":${text},)?"type":"([\\w.]+)","properties":\\{(?:"\\w+":(?:${text}|\\[\\])(?:,(?=")|(?=\\})))*\\}\\}`
const bare = new RegExp(`^${frame}$`)
const wrapped = new RegExp(`^\\{"directory":${text},"project":${text},"payload":${frame}\\}$`)

/**
 * Returns the type of a short frame, bare or in `{directory, project, payload}`, whose properties are plain strings and
 * empty lists. Undefined for all other frames and for invalid JSON. Avoids parsing frames of a type that concerns no
 * reply. Servers send many of those, for example with the names of all plugins for each directory.
 */
export function typeOfPlainFrame(data: string): string | undefined {
  if (data.length > maxLength) return undefined
  const isWrapped = data.startsWith('{"directory":')
  // Another brace means that a property is an object, which no form has.
  if (data.endsWith('}}}') !== isWrapped) return undefined
  return (isWrapped ? wrapped : bare).exec(data)?.[1]
}
