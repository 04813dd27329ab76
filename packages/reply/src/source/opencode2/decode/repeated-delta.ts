import type { DeltaEvent } from '../../../event.ts'
import { copied, endOf, isAt, stringIn } from '../../decode/json-text.ts'
import { createRepeats, putNewest } from '../../decode/newest.ts'
import { frameOf } from './canonical.ts'
import { toDelta } from './delta.ts'

/** What all frames with deltas of one part have in common. Their id, their time and their delta are their own. */
interface Template {
  /** The text from the time's end to the delta's opening quote. */
  readonly middle: string
  /** Its beginning, which names the type. */
  readonly kind: string
  /** The text from the delta's closing quote on. */
  readonly tail: string
  readonly frame: { readonly data: object }
  readonly event: DeltaEvent
}

/** A delta whose frame has an id. */
export interface RepeatedDelta extends DeltaEvent {
  readonly raw: { readonly id: string }
}

/** How many parts are remembered: several sessions may write at once. */
const maxParts = 2048
/** Texts and thoughts. */
const maxKinds = 2

const idStart = '{"id":"'
const created = '","created":'
const key = '"delta":'
const comma = 44
/** `,"type":"session.text.delta"`, in UTF-16 units. */
const kindLength = 28

/**
 * Reads frames with deltas of one part, which make up most of a stream: parsing the whole of each takes most of the time
 * that reading them takes.
 */
export function createRepeatedDeltas() {
  const isWorthTemplate = createRepeats(maxParts)
  /** By the text that the frames of a part share. */
  const templates = new Map<string, Template>()
  /** Of each kind: texts and thoughts of several sessions may take turns, and their frames differ in length. */
  const newest = new Map<string, Template>()
  return { read, learn }

  /** The event, received at `at`, in ms since the epoch. Undefined if the frame has to be parsed. */
  function read(data: string, at: number): RepeatedDelta | undefined {
    if (newest.size === 0 || !isAt(data, 0, idStart)) return undefined
    const idEnd = data.indexOf('"', idStart.length)
    const timeStart = idEnd + created.length
    if (!isAt(data, idEnd, created)) return undefined
    const timeEnd = endOfDigits(data, timeStart)
    // Most frames are of other types: hashing their text to look for a template would take longer than reading it.
    const near = nearTo(data, timeEnd)
    if (!near) return undefined
    const template = isAt(data, timeEnd, near.middle)
      ? near
      : // Ids have the same length, so the text that another part's frames share ends where this one's does.
        templates.get(data.slice(timeEnd, timeEnd + near.middle.length))
    if (timeEnd === timeStart || !template) return undefined
    const { middle, tail, frame, event } = template
    if (!isAt(data, data.length - tail.length, tail)) return undefined
    const delta = stringIn(data, timeEnd + middle.length, data.length - tail.length)
    const id = stringIn(data, idStart.length - 1, idEnd)
    const time = timeIn(data, timeStart, timeEnd)
    if (delta === undefined || id === undefined || time === undefined) return undefined
    newest.set(template.kind, template)
    const raw = { ...frame, id, created: time, data: { ...frame.data, delta } }
    const { sessionID, messageID, partID, field } = event
    return { type: 'delta', at, raw, sessionID, messageID, partID, field, delta }
  }

  /** Takes a delta that was parsed. */
  function learn(data: string, event: DeltaEvent): void {
    const template = isWorthTemplate(event.partID) ? templateOf(data, event) : undefined
    if (!template) return
    putNewest(templates, { key: template.middle, value: template, max: maxParts })
    putNewest(newest, { key: template.kind, value: template, max: maxKinds })
  }

  function nearTo(data: string, timeEnd: number): Template | undefined {
    for (const template of newest.values()) if (isAt(data, timeEnd, template.kind)) return template
    return undefined
  }
}

/** Undefined if the text isn't written as servers write it. */
function templateOf(data: string, event: DeltaEvent): Template | undefined {
  const idEnd = data.indexOf('"', idStart.length)
  const timeEnd = endOfDigits(data, idEnd + created.length)
  const opening = data.lastIndexOf(key) + key.length
  const tail = endOf(data)
  if (tail === undefined || opening < timeEnd) return undefined
  // Nothing but the delta may stand between the two.
  if (stringIn(data, opening, data.length - tail.length) !== event.delta) return undefined
  const middle = copied(data.slice(timeEnd, opening))
  const frame = probed(`${idStart}id${created}1${middle}"delta${tail}`, event)
  return frame && { middle, kind: middle.slice(0, kindLength), tail, frame, event }
}

/** The frame of this text, if its id, time and delta are where the template has them, and all else is the event's. */
function probed(text: string, event: DeltaEvent): Template['frame'] | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const frame = frameOf(value)
    const delta = frame && toDelta(frame, event.at, value)
    if (!frame || delta?.partID !== event.partID || delta.sessionID !== event.sessionID) return undefined
    const isTrue = delta.delta === 'delta' && frame.created === 1 && isNamed(value, 'id')
    return isTrue ? { ...value, data: frame.data } : undefined
  } catch {
    return undefined
  }
}

function isNamed(value: unknown, id: string): value is object {
  return typeof value === 'object' && value !== null && 'id' in value && value.id === id
}

function endOfDigits(data: string, from: number): number {
  let at = from
  while (isDigit(data.charCodeAt(at))) at++
  return data.charCodeAt(at) === comma ? at : from
}

function isDigit(unit: number): boolean {
  return unit >= 48 && unit <= 57
}

/** Undefined for digits that JSON doesn't take as a number, such as `01`. */
function timeIn(data: string, from: number, to: number): number | undefined {
  return to - from > 1 && data.charAt(from) === '0' ? undefined : Number(data.slice(from, to))
}
