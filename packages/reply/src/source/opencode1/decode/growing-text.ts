import { isFields } from '../../../fields.ts'
import { endFromQuote, isAt, stringIn } from '../../decode/json-text.ts'
import { type Frame, frameOf, propertiesOf } from './frame.ts'

/** A frame that repeats a part's text before the delta. */
interface Template {
  readonly data: string
  /** The index of the closing quote of the part's text. */
  readonly textEnd: number
  /** The text between the part's text and the delta, including their quotes. */
  readonly middle: string
  /** The end of the frame, from the delta's closing quote on. */
  readonly tail: string
  /** The parsed frame, with its wrapping if it has one. */
  readonly value: object
  readonly frame: Frame
  readonly part: object
  readonly text: string
}

/** In UTF-16 units. Shorter frames are parsed, because creating a template takes as long as parsing several of them. */
const minLength = 512

/**
 * Creates a parser of frames with a part's whole text and its last delta, which servers before 1.2 send for each delta.
 * Nearly all frames of such a stream are of this kind, and each differs from the one before only in the end of the
 * text.
 */
export function createGrowingTexts() {
  let lastID: unknown
  let template: Template | undefined
  return { parse: parseGrown, learn: storeTemplate }

  /**
   * Returns the same as `JSON.parse` for a frame that continues the last one, and stores it as the last. Undefined if
   * the frame has to be parsed.
   */
  function parseGrown(data: string): unknown {
    const next = template && growTemplate(template, data)
    if (next) template = next
    return next?.value
  }

  /**
   * Stores a parsed frame as the last one if the frame before was of the same part. Ignores short frames and those
   * without a delta.
   */
  function storeTemplate(data: string, value: unknown): void {
    if (data.length < minLength) return
    const frame = frameOf(value)
    const { part, delta } = frame ? propertiesOf(frame) : {}
    if (typeof delta !== 'string' || !isFields(part) || typeof part.text !== 'string') return
    if (part.id === lastID && isFields(value) && frame) {
      template = toTemplate(data, { value, frame, part, text: part.text, delta })
    }
    lastID = part.id
  }
}

/**
 * Returns the template with the frame's longer text. Undefined if the text didn't grow, or the frame differs in
 * anything else.
 */
function growTemplate(before: Template, data: string): Template | undefined {
  const { textEnd, middle, tail } = before
  const addedLength = (data.length - textEnd - middle.length - tail.length) / 2
  if (!Number.isInteger(addedLength) || addedLength <= 0) return undefined
  const end = textEnd + addedLength
  const deltaStart = end + middle.length
  if (!isAt(data, 0, before.data.slice(0, textEnd)) || !isAt(data, end, middle)) return undefined
  if (!isAt(data, deltaStart, data.slice(textEnd, end)) || !isAt(data, deltaStart + addedLength, tail)) return undefined
  const delta = stringIn(data, deltaStart - 1, deltaStart + addedLength)
  if (delta === undefined) return undefined
  const text = before.text + delta
  const part = { ...before.part, text }
  const frame = { ...before.frame, properties: { ...propertiesOf(before.frame), part, delta } }
  const value = before.value === before.frame ? frame : { ...before.value, payload: frame }
  return { data, textEnd: end, middle, tail, value, frame, part, text }
}

/** A parsed frame of a part with a text, and what its template needs of it. */
interface Parsed {
  readonly value: object
  readonly frame: Frame
  readonly part: object
  readonly text: string
  readonly delta: string
}

/** Returns the frame's template. Undefined if the frame isn't written as those servers write it. */
function toTemplate(data: string, { delta, ...parsed }: Parsed): Template | undefined {
  const jsonText = JSON.stringify(parsed.text)
  const textAt = data.indexOf(`"text":${jsonText}`) + '"text":'.length
  const deltaAt = data.lastIndexOf('"delta":') + '"delta":'.length
  const tail = endFromQuote(data)
  const textEnd = textAt + jsonText.length - 1
  if (tail === undefined || deltaAt <= textEnd) return undefined
  if (stringIn(data, deltaAt, data.length - tail.length) !== delta) return undefined
  const template = { data, textEnd, middle: data.slice(textEnd, deltaAt + 1), tail, ...parsed }
  return isExactTemplate(template, data.slice(0, textAt + 1)) ? template : undefined
}

/**
 * Whether the text and the delta are where the template has them. The rest is the same text, so it has the same
 * meaning.
 */
function isExactTemplate({ middle, tail }: Template, head: string): boolean {
  try {
    const probe = frameOf(JSON.parse(`${head}a text${middle}a delta${tail}`))
    const { part, delta } = probe ? propertiesOf(probe) : {}
    return delta === 'a delta' && isFields(part) && part.text === 'a text'
  } catch {
    return false
  }
}
