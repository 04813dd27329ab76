import type { DeltaEvent } from '../../../event.ts'
import { copyPlainTexts, copyText, isAt, stringIn } from '../../decode/json-text.ts'
import { setNewest } from '../../decode/newest.ts'
import { textPartID } from './part.ts'

/** The text that all frames with deltas of one part share. They differ in their id, time and delta. */
interface Template {
  /** The text from the time's end to the delta's opening quote. */
  readonly middle: string
  readonly type: string
  readonly location: { readonly directory: string } | undefined
  readonly sessionID: string
  readonly messageID: string
  readonly ordinal: number
  readonly partID: string
}

/** A delta whose frame has an id. */
export interface RepeatedDelta extends DeltaEvent {
  readonly raw: { readonly id: string }
}

/** How many parts are kept, because several sessions may stream at once. */
const maxParts = 2048

const idStart = '{"id":"'
const created = '","created":'
const key = '"delta":'
const tail = '"}}'
const quote = 34
const zero = 48
/** Numbers with more digits may be rounded. */
const maxDigits = 15
const textDelta = ',"type":"session.text.delta"'
const reasoningDelta = ',"type":"session.reasoning.delta"'

const id = '[\\w-]+'
const plain = '[^"\\\\\\u0000-\\u001f]*'
const place = `"sessionID":"(${id})","assistantMessageID":"(${id})","ordinal":(0|[1-9]\\d*)`
/** The text that servers write between the time and the delta. */
const form = new RegExp(
  `^,"type":"(session\\.(text|reasoning)\\.delta)",(?:"location":\\{"directory":"(${plain})"\\},)?"data":\\{${place},${key}$`,
)

/**
 * Creates a reader of frames with deltas that doesn't parse the whole of each. They make up most of a stream, and those
 * of one part differ only in their id, time and delta.
 */
export function createRepeatedDeltas() {
  /** By the text that the frames of a part share. */
  const templates = new Map<string, Template>()
  let newest: Template | undefined
  return { read: readDelta }

  /**
   * Returns the frame's event, received at `at`, in ms since the epoch, and makes its template the newest. Undefined if
   * the frame has to be parsed.
   */
  function readDelta(data: string, at: number): RepeatedDelta | undefined {
    // One of the last units rules out most other frames. Cheap checks come first.
    if (data.charCodeAt(data.length - tail.length) !== quote) return undefined
    const idEnd = data.indexOf('"', idStart.length)
    const timeStart = idEnd + created.length
    const timeEnd = data.indexOf(',', timeStart)
    const template = newest && isAt(data, timeEnd, newest.middle) ? newest : storedTemplate(data, timeEnd)
    if (!template || !isAt(data, 0, idStart) || !isAt(data, idEnd, created)) return undefined
    if (!isAt(data, data.length - tail.length, tail)) return undefined
    const time = wholeNumberIn(data, timeStart, timeEnd)
    const delta = stringIn(data, timeEnd + template.middle.length, data.length - tail.length)
    const id = stringIn(data, idStart.length - 1, idEnd)
    if (delta === undefined || id === undefined || time === undefined) return undefined
    newest = template
    const { sessionID, messageID, partID } = template
    return {
      type: 'delta',
      at,
      raw: toRawFrame(template, id, time, delta),
      sessionID,
      messageID,
      partID,
      field: 'text',
      delta,
    }
  }

  /**
   * Returns the template of a delta's frame, whose time ends here. Stores a new one. Undefined if the frame isn't a
   * delta in the servers' form.
   */
  function storedTemplate(data: string, timeEnd: number): Template | undefined {
    if (!isAt(data, timeEnd, textDelta) && !isAt(data, timeEnd, reasoningDelta)) return undefined
    const middle = data.slice(timeEnd, data.indexOf(key, timeEnd) + key.length)
    const existing = templates.get(middle)
    if (existing) return existing
    const template = toTemplate(middle)
    if (template) setNewest(templates, template.middle, template, maxParts)
    return template
  }
}

/**
 * Returns the template with this text between the time and the delta. Undefined if it doesn't have the form that
 * servers write.
 */
function toTemplate(text: string): Template | undefined {
  const middle = copyText(text)
  const [, type, kind, directory, session, message, number] = form.exec(middle) ?? []
  if (type === undefined || session === undefined || message === undefined) return undefined
  const ordinal = Number(number)
  const part = textPartID(message, kind === 'text' ? 'text' : 'reasoning', ordinal)
  // V8 is slow to compare texts that were sliced or concatenated.
  const [sessionID = session, messageID = message, partID = part] = copyPlainTexts([session, message, part])
  const location = directory === undefined ? undefined : { directory }
  return { middle, type, location, sessionID, messageID, ordinal, partID }
}

/**
 * Returns the same as `JSON.parse` would for the frame. Literals, because spreading the template takes half as long as
 * parsing the frame.
 */
function toRawFrame(template: Template, id: string, time: number, delta: string) {
  const { type, location, sessionID, messageID, ordinal } = template
  const data = { sessionID, assistantMessageID: messageID, ordinal, delta }
  return location ? { id, created: time, type, location, data } : { id, created: time, type, data }
}

/** Returns the number between these indexes. Undefined unless JSON allows it as a whole number, which excludes `01`. */
function wholeNumberIn(data: string, fromIndex: number, toIndex: number): number | undefined {
  let number = 0
  for (let at = fromIndex; at < toIndex; at++) {
    const digit = data.charCodeAt(at) - zero
    if (digit < 0 || digit > 9) return undefined
    number = number * 10 + digit
  }
  const isWhole = toIndex - fromIndex === 1 || data.charCodeAt(fromIndex) !== zero
  return toIndex > fromIndex && isWhole && toIndex - fromIndex <= maxDigits ? number : undefined
}
