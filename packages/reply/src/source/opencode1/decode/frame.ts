import { type Fields, isFields } from '../../../fields.ts'

/** An event as it is on the wire. */
export interface Frame {
  readonly type: string
  readonly id?: unknown
  readonly properties?: unknown
}

/** Unwraps `{directory, payload}`. */
export function unwrap(value: unknown): Frame | undefined {
  if (isFrame(value)) return value
  const outer = value as { payload?: unknown; type?: unknown } | null | undefined
  return outer?.type === undefined && isFrame(outer?.payload) ? outer.payload : undefined
}

function isFrame(value: unknown): value is Frame {
  return typeof value === 'object' && value !== null && typeof (value as Partial<Frame>).type === 'string'
}

export function propertiesOf({ properties }: Frame): Fields {
  return isFields(properties) ? properties : {}
}
