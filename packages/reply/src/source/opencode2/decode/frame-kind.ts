import type * as z from 'zod/mini'
import type { ReplyEvent } from '../../../event.ts'
import type { Fields } from '../../../fields.ts'
import { checkOf, inEnglish } from '../../decode/check.ts'
import { eventBuilders } from './event-builders.ts'
import type { ReceivedFrame } from './frame.ts'
import { previewNames } from './preview-names.ts'
import { type EventData, type EventType, eventSchemas } from './schema.ts'

type FrameReader = (received: ReceivedFrame) => readonly ReplyEvent[] | z.core.$ZodError

/** A known type of frame. */
export interface FrameKind {
  /** The type's name in 2.0. */
  readonly type: string
  /** Returns the data that readers use, under the names of 2.0. Undefined if the names are the same. */
  readonly dataOf: ((data: Fields) => Fields) | undefined
  /** Converts the frame to events, or returns the validation error. Undefined if it is read without a schema. */
  readonly read: FrameReader | undefined
}

/** Returns a type by its name on the wire. Undefined for a type that concerns no reply. */
export function kindOf(type: string): FrameKind | undefined {
  return kinds.get(type)
}

/** Returns the reader of one type of frame. It returns the validation error if the data doesn't fit the schema. */
function frameReaderOf<T extends EventType>(type: T): FrameReader {
  const schema = eventSchemas[type]
  const build = eventBuilders[type]
  // Data that fits needs no parsing, which would copy it.
  const isValid = checkOf(schema)
  return (received) => {
    const { data } = received.frame
    if (isValid(data)) return build(data as EventData<T>, received)
    const parsed = schema.safeParse(data, inEnglish)
    return parsed.success ? build(parsed.data as EventData<T>, received) : parsed.error
  }
}

/** The types that are read without a schema. */
const plainTypes = ['session.text.delta', 'session.reasoning.delta', 'server.connected']

const kinds = new Map<string, FrameKind>(plainTypes.map((type) => [type, { type, dataOf: undefined, read: undefined }]))
for (const type of Object.keys(eventSchemas) as EventType[])
  kinds.set(type, { type, dataOf: undefined, read: frameReaderOf(type) })
for (const [name, { type, dataOf }] of previewNames) kinds.set(name, { type, dataOf, read: kinds.get(type)?.read })
