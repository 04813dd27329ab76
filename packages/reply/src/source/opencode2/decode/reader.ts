import type * as z from 'zod/mini'
import type { ReplyEvent } from '../../../event.ts'
import type { Frame } from './frame.ts'
import type { Memory } from './memory.ts'
import type { eventSchemas } from './schema.ts'

type Schemas = typeof eventSchemas
/** The type of an event that concerns a reply. */
export type WireType = keyof Schemas

/** The frame that a reader reads, and the memory of earlier ones. */
export interface ReceivedFrame {
  /** When it was received, in ms since the epoch. */
  readonly at: number
  readonly raw: unknown
  readonly frame: Frame
  readonly memory: Memory
}

/** One reader per type of event. */
export type Readers<T extends WireType = WireType> = {
  readonly [K in T]: (data: z.infer<Schemas[K]>, context: ReceivedFrame) => readonly ReplyEvent[]
}
