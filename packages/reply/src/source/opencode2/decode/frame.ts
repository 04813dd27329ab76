import type { ReplyEvent } from '../../../event.ts'
import { type Fields, isFields } from '../../../fields.ts'
import { isAt } from '../../decode/json-text.ts'
import { type FrameKind, kindOf } from './frame-kind.ts'
import type { Memory } from './memory.ts'
import type { EventData, EventType } from './schema.ts'

/** One frame of the event stream: `{ id, created, type, data, location?, durable? }`. */
export interface Frame {
  readonly id: string | undefined
  /** The type's name in 2.0. */
  readonly type: string
  /** Undefined for a type that concerns no reply. */
  readonly kind: FrameKind | undefined
  /** The data as the server sent it. */
  readonly wire: Fields
  /** The data under the names of 2.0. */
  readonly data: Fields
  /** When the server created it, in ms since the epoch. Absent in the first frame of a connection. */
  readonly created: number | undefined
  /** The session's directory. Absent from frames that name none, for example those of an execution. */
  readonly directory: string | undefined
  /** The number of a stored event in its session. Absent from events that aren't stored, such as deltas. */
  readonly seq: number | undefined
}

/** The frame that a builder reads, and the memory of earlier ones. */
export interface ReceivedFrame {
  /** When it was received, in ms since the epoch. */
  readonly at: number
  readonly raw: unknown
  readonly frame: Frame
  readonly memory: Memory
}

/** One builder per type of event. It gets data that fits the type's schema. */
export type EventBuilders<T extends EventType = EventType> = {
  readonly [K in T]: (data: EventData<K>, received: ReceivedFrame) => readonly ReplyEvent[]
}

/**
 * Returns a frame's envelope, with its type and data under the names of 2.0. Undefined if it isn't of this generation:
 * version 1 has `properties` instead of `data`.
 */
export function frameOf(value: unknown): Frame | undefined {
  if (!isFields(value)) return undefined
  const { type, data, id, created, location, durable } = value
  if (typeof type !== 'string' || !isFields(data)) return undefined
  const kind = kindOf(type)
  const directory = isFields(location) ? location.directory : undefined
  const seq = isFields(durable) ? durable.seq : undefined
  return {
    id: typeof id === 'string' ? id : undefined,
    type: kind?.type ?? type,
    kind,
    wire: data,
    data: kind?.dataOf?.(data) ?? data,
    created: typeof created === 'number' ? created : undefined,
    directory: typeof directory === 'string' ? directory : undefined,
    seq: typeof seq === 'number' ? seq : undefined,
  }
}

const idStart = '{"id":"'
const created = '","created":'
const typeStart = ',"type":"'
/** Stored events are numbered, so their frames have to be read, whatever the type. */
const durableKey = '"durable"'
const quote = 34
const letterD = 100

/**
 * Returns the type of a frame that isn't stored and only has an id and a time before its type. Undefined for all other
 * frames. Avoids parsing frames that concern no reply, which are one in seven.
 */
export function typeOfUnstored(data: string): string | undefined {
  const idEnd = data.indexOf('"', idStart.length)
  const timeEnd = data.indexOf(',', idEnd + created.length)
  const start = timeEnd + typeStart.length
  // Rules out most other frames, at a lower cost than the comparisons below.
  if (data.charCodeAt(start - 1) !== quote) return undefined
  const end = data.indexOf('"', start)
  // Where servers write the number of a stored event.
  if (data.charCodeAt(end + 3) === letterD && isAt(data, end + 2, durableKey)) return undefined
  if (!isAt(data, timeEnd, typeStart) || !isAt(data, 0, idStart) || !isAt(data, idEnd, created)) return undefined
  return data.includes(durableKey, end) ? undefined : data.slice(start, end)
}
