import type { DeltaEvent } from '../../../event.ts'
import type { Fields } from '../../../fields.ts'
import { copyText, endFromQuote, isAt, stringIn } from '../../decode/json-text.ts'
import { createRepeatCounter, setNewest } from '../../decode/newest.ts'
import { type Frame, frameOf, propertiesOf } from './frame.ts'

/** A delta whose frame is not parsed as a whole. It differs from an earlier one only in its id and its delta. */
export interface RepeatedDelta extends DeltaEvent {
  /** Without an id on servers whose events have none. */
  readonly raw: Frame
}

/** The text that all frames with deltas of one part share. */
interface Template {
  /** The text up to the id's closing quote, or without an id up to the delta's opening quote. */
  readonly head: string
  /** The text between the id and the delta's opening quote. Undefined without an id. */
  readonly middle: string | undefined
  /** The text from the delta's closing quote on. */
  readonly tail: string
  /** The index of the part's id in the text, unless the event's id has another length. */
  readonly partID: { readonly from: number; readonly to: number }
  readonly frame: Frame
  readonly properties: Fields
  readonly event: DeltaEvent
}

/** How many parts are kept, because several sessions may stream at once. */
const maxParts = 2048

const key = '"delta":'
const partLabel = '"partID":"'

/**
 * Creates a reader of frames with deltas that doesn't parse the whole of each. They make up most of a stream, and
 * parsing takes most of the time.
 */
export function createRepeatedDeltas() {
  const isWorthTemplate = createRepeatCounter(maxParts)
  /** By their parts' ids. */
  const templates = new Map<string, Template>()
  let newest: Template | undefined
  return { read: readDelta, learn: storeTemplate }

  /**
   * Returns the frame's event, received at `at`, in ms since the epoch. Undefined if no template fits, so that the
   * frame has to be parsed.
   */
  function readDelta(data: string, at: number): RepeatedDelta | undefined {
    if (!newest) return undefined
    const same = readWithTemplate(newest, data, at)
    if (same) return same
    // Ids have the same length, so another part's id is in the same place. Most frames are of other types.
    if (!isAt(data, newest.partID.from - partLabel.length, partLabel)) return undefined
    const other = templates.get(data.slice(newest.partID.from, newest.partID.to))
    return other && readWithTemplate(other, data, at)
  }

  /**
   * Returns the event of a frame that equals the template's except for its text and id, and makes the template the
   * newest. Undefined if the frame differs.
   */
  function readWithTemplate(template: Template, data: string, at: number): RepeatedDelta | undefined {
    const { head, middle, tail, frame, properties, event } = template
    if (!isAt(data, 0, head)) return undefined
    const idEnd = middle === undefined ? head.length : data.indexOf('"', head.length)
    if (middle !== undefined && !isAt(data, idEnd, middle)) return undefined
    if (!isAt(data, data.length - tail.length, tail)) return undefined
    const delta = stringIn(data, idEnd + (middle?.length ?? 0), data.length - tail.length)
    const id = middle === undefined ? undefined : stringIn(data, head.length - 1, idEnd)
    if (delta === undefined || (middle !== undefined && id === undefined)) return undefined
    newest = template
    // A conditional spread takes twice as long.
    const raw: { -readonly [K in keyof Frame]: Frame[K] } = { ...frame, properties: { ...properties, delta } }
    if (id !== undefined) raw.id = id
    const { sessionID, messageID, partID, field } = event
    return { type: 'delta', at, raw, sessionID, messageID, partID, field, delta }
  }

  /**
   * Stores a parsed delta's frame as the newest template, once its part has had `parsedFirst` parsed deltas. Does
   * nothing for a frame in another form than servers write.
   */
  function storeTemplate(data: string, event: DeltaEvent): void {
    const { partID, field } = event
    const template = isWorthTemplate(`${partID} ${field}`) ? toTemplate(data, event) : undefined
    if (!template) return
    setNewest(templates, partID, template, maxParts)
    newest = template
  }
}

/** Returns the frame's template. Undefined if the text doesn't have the form that servers write. */
function toTemplate(data: string, event: DeltaEvent): Template | undefined {
  const frame = frameOf(event.raw)
  if (!frame) return undefined
  const opening = data.lastIndexOf(key) + key.length
  const tail = endFromQuote(data)
  const { id } = frame
  const idText = typeof id === 'string' ? JSON.stringify(id) : undefined
  const idAt = idText === undefined ? 0 : data.indexOf(`"id":${idText}`) + '"id":'.length
  if (tail === undefined || opening < key.length) return undefined
  // Only the delta may be between the two.
  if (stringIn(data, opening, data.length - tail.length) !== event.delta) return undefined
  const from = data.indexOf(`"${event.partID}"`) + 1
  const shared = {
    tail,
    partID: { from, to: from + event.partID.length },
    frame,
    properties: propertiesOf(frame),
    event,
  }
  const template =
    idText === undefined
      ? { head: copyText(data.slice(0, opening)), middle: undefined, ...shared }
      : {
          head: copyText(data.slice(0, idAt + 1)),
          middle: copyText(data.slice(idAt + idText.length - 1, opening)),
          ...shared,
        }
  return isExactTemplate(template) ? template : undefined
}

/**
 * Whether the id and the delta are where the template has them. The rest is the same text, so it has the same meaning.
 */
function isExactTemplate({ head, middle, tail }: Template): boolean {
  const text = middle === undefined ? `${head}"delta${tail}` : `${head}id${middle}"delta${tail}`
  try {
    const probe = frameOf(JSON.parse(text))
    const { delta } = probe ? propertiesOf(probe) : {}
    return delta === 'delta' && (middle === undefined || probe?.id === 'id')
  } catch {
    return false
  }
}
