import type { DeltaEvent } from '../../../event.ts'
import { type Frame, unwrap } from './frame.ts'

/** A frame that is not parsed as a whole, because it differs from the one before only in its id and its delta. */
export interface RepeatedDelta {
  /** The event's id. Undefined on servers whose events have none. */
  readonly id: string | undefined
  /** The event, received at `at`, in ms since the epoch. */
  event(at: number): DeltaEvent
}

/** What all frames with deltas of one part have in common. */
interface Template {
  /** The text up to the id's closing quote, or without an id up to the delta's opening quote. */
  readonly head: string
  /** The text between the id and the delta's opening quote. Undefined without an id. */
  readonly middle: string | undefined
  /** The text from the delta's closing quote on. */
  readonly tail: string
  readonly frame: Frame
  readonly event: DeltaEvent
}

const key = '"delta":'

/**
 * Reads frames with deltas of one part, which make up most of a stream: parsing the whole of each takes most of the time
 * that reading them takes.
 */
export function createRepeatedDeltas() {
  let newest: DeltaEvent | undefined
  let template: Template | undefined
  return { read, learn }

  /** Undefined if the frame has to be parsed. */
  function read(data: string): RepeatedDelta | undefined {
    if (!template || !isAt(data, 0, template.head)) return undefined
    const { head, middle, tail, frame, event } = template
    const idEnd = middle === undefined ? head.length : data.indexOf('"', head.length)
    if (middle !== undefined && !isAt(data, idEnd, middle)) return undefined
    if (!isAt(data, data.length - tail.length, tail)) return undefined
    // Parsing also copies: a slice would keep the whole frame in memory.
    const delta = stringIn(data, idEnd + (middle?.length ?? 0), data.length - tail.length)
    const id = middle === undefined ? undefined : stringIn(data, head.length - 1, idEnd)
    if (delta === undefined || (middle !== undefined && id === undefined)) return undefined
    return {
      id,
      event: (at) => {
        const raw = { ...frame, ...(id !== undefined && { id }), properties: { ...propertiesOf(frame), delta } }
        const { sessionID, messageID, partID, field } = event
        return { type: 'delta', at, raw, sessionID, messageID, partID, field, delta }
      },
    }
  }

  /** Takes a delta that was parsed. The second one in a row of the same part is worth a template. */
  function learn(data: string, event: DeltaEvent): void {
    const isRepeated = newest?.partID === event.partID && newest.field === event.field
    newest = event
    template = isRepeated ? templateOf(data, event) : undefined
  }
}

/** Undefined if the text isn't written as servers write it. */
function templateOf(data: string, event: DeltaEvent): Template | undefined {
  const frame = unwrap(event.raw)
  if (!frame) return undefined
  const opening = data.lastIndexOf(key) + key.length
  const tail = /"[}\s]*$/.exec(data)?.[0]
  const { id } = frame
  const idText = typeof id === 'string' ? JSON.stringify(id) : undefined
  const idAt = idText === undefined ? 0 : data.indexOf(`"id":${idText}`) + '"id":'.length
  if (tail === undefined || opening < key.length || data.charAt(opening) !== '"') return undefined
  const template =
    idText === undefined
      ? { head: data.slice(0, opening), middle: undefined, tail, frame, event }
      : { head: data.slice(0, idAt + 1), middle: data.slice(idAt + idText.length - 1, opening), tail, frame, event }
  return isTrue(template) ? template : undefined
}

/** Whether the id and the delta are where the template has them: the rest is the same text, so it says the same. */
function isTrue({ head, middle, tail }: Template): boolean {
  const text = middle === undefined ? `${head}"delta${tail}` : `${head}id${middle}"delta${tail}`
  try {
    const probe = unwrap(JSON.parse(text))
    const { delta }: { readonly delta?: unknown } = probe ? propertiesOf(probe) : {}
    return delta === 'delta' && (middle === undefined || probe?.id === 'id')
  } catch {
    return false
  }
}

function propertiesOf({ properties }: Frame): object {
  return typeof properties === 'object' && properties !== null ? properties : {}
}

/** Comparing a slice takes a fraction of the time of `startsWith`. */
function isAt(data: string, at: number, text: string): boolean {
  return data.slice(at, at + text.length) === text
}

/** The JSON string whose quotes are at these positions; undefined if there is another text. */
function stringIn(data: string, opening: number, closing: number): string | undefined {
  if (opening >= closing || data.charAt(opening) !== '"') return undefined
  try {
    const value: unknown = JSON.parse(data.slice(opening, closing + 1))
    return typeof value === 'string' ? value : undefined
  } catch {
    return undefined
  }
}
