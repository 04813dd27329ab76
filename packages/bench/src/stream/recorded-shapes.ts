import { createEventReader } from '@reply/core'
import { eventSchemas, partSchemas } from '@reply/core/internal'
import { recordedStreams } from './recorded.ts'

/** A value from a recording, and the schema that it has to fit. */
interface ShapedValue {
  readonly value: unknown
  readonly schema: Schema
}

export type Schema = (typeof schemas)[keyof typeof schemas]

const schemas = { ...eventSchemas, ...partSchemas }
const byType = new Map<string, Schema>(Object.entries(schemas))

/**
 * Returns the properties of each recorded event of OpenCode 1 that has a schema, and each updated part, to race our
 * checks against zod. Throws if there are no recordings.
 */
export function recordedShapes(): readonly ShapedValue[] {
  const shapes: ShapedValue[] = []
  const reader = createEventReader({ onFrame: (data) => collectFrame(JSON.parse(data)) })
  for (const chunks of recordedStreams(16384)) {
    for (const chunk of chunks) reader.push(chunk, 0)
    reader.reset()
  }
  return shapes

  /** Adds the shapes of an event, or of a global event, which wraps it. */
  function collectFrame(frame: unknown): void {
    const { type, properties } = isFields(frame) && isFields(frame.payload) ? frame.payload : fieldsOf(frame)
    addShape(type, properties)
    const { part } = fieldsOf(properties)
    if (type === 'message.part.updated') addShape(fieldsOf(part).type, part)
  }

  /** Adds a value with the schema of its type. Ignores a type without one. */
  function addShape(type: unknown, value: unknown): void {
    const schema = typeof type === 'string' ? byType.get(type) : undefined
    if (schema) shapes.push({ value, schema })
  }
}

/** The fields of an object. Empty for anything else. */
function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return isFields(value) ? value : {}
}

/** Whether a value is an object or a list. */
function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
