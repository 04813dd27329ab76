import type * as z from 'zod/mini'
import type { ReplyEvent } from '../../../event.ts'
import { checkOf } from '../../decode/check.ts'
import { inEnglish } from '../../decode/in-english.ts'
import { canonicalTypes } from './canonical.ts'
import { readers } from './read.ts'
import type { Context, WireType } from './reader.ts'
import { eventSchemas } from './schema.ts'

type FrameReader = (context: Context) => readonly ReplyEvent[] | z.core.$ZodError

/** Turns one frame into events, or returns the validation error. Undefined for a type that concerns no reply. */
export function readFrame(context: Context): readonly ReplyEvent[] | z.core.$ZodError | undefined {
  return frameReaders.get(context.frame.type)?.(context)
}

/** Whether frames of this type, as it is on the wire, concern no reply. */
export function isUnknown(type: string): boolean {
  return !frameReaders.has(type) && !otherTypes.has(type)
}

/** The types that are read without a schema, and those that preview builds call otherwise. */
const otherTypes: ReadonlySet<string> = new Set([
  'session.text.delta',
  'session.reasoning.delta',
  'server.connected',
  ...canonicalTypes.keys(),
])

const frameReaders: ReadonlyMap<string, FrameReader> = new Map(
  (Object.keys(eventSchemas) as WireType[]).map((type) => [type, frameReaderOf(type)]),
)

function frameReaderOf<T extends WireType>(type: T): FrameReader {
  const schema = eventSchemas[type]
  const read = readers[type]
  // What fits needs no parsing, which would copy it.
  const fits = checkOf(schema)
  return (context) => {
    const { data } = context.frame
    if (fits(data)) return read(data as z.infer<(typeof eventSchemas)[T]>, context)
    const parsed = schema.safeParse(data, inEnglish)
    return parsed.success ? read(parsed.data as z.infer<(typeof eventSchemas)[T]>, context) : parsed.error
  }
}
