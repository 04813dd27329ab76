import { type Fields, fieldsOf } from '../fields.ts'
import { redactFields, redactValue } from '../redact/redact-fields.ts'
import { createRedactor, type Redactor, redactText } from '../redact/redactor.ts'

export interface FrameRedactor {
  /** Redacts a frame and writes it at once, except for text that may be the beginning of a secret. */
  push(data: string, at: number): void
  /** Writes the text that is still held back. */
  end(at: number): void
}

/** One part's text across deltas and snapshots. */
interface PartText {
  readonly sessionID: unknown
  readonly redactor: Redactor
  /** UTF-16 units received. */
  readonly received: number
  /** UTF-16 units written. */
  readonly written: number
  /** The last frame with a delta. The remaining text is written in a frame like it. */
  readonly frame: EventFrame | undefined
}

/** An event with its wrapper. */
interface EventFrame {
  /** Undefined if the event is not wrapped. */
  readonly outer: Fields | undefined
  readonly event: Fields
  /** The field with its content: `properties`, or `data` for the second copy of a durable event. */
  readonly key: 'properties' | 'data'
  readonly content: Fields
}

/** Far more than parts that grow at once. Beyond it the oldest are written out. */
const maxTexts = 1000

/**
 * Creates a redactor of a stream's frames, for a recording. Redacts a part's deltas as one text, to find secrets that
 * arrive in pieces. A possible beginning of a secret is held back until the next delta, the end of the run, or the
 * whole text. Snapshots of a text or output that still grows lack that end.
 */
export function createFrameRedactor(write: (data: string, at: number) => void): FrameRedactor {
  const texts = new Map<string, PartText>()
  return { push, end: flushAll }

  /**
   * Writes the redacted frame, after the held texts that it ends. A text's delta is written only as far as it is
   * decided. Data that isn't JSON is redacted as a text, and JSON that isn't an event as a value.
   */
  function push(data: string, at: number): void {
    let value: unknown
    try {
      value = JSON.parse(data)
    } catch {
      return write(redactText(data), at)
    }
    const frame = eventFrameOf(value)
    if (!frame) return write(JSON.stringify(redactValue(value)), at)
    const { content } = frame
    const type = String(frame.event.type)
    if (/\.delta(?:\.\d+)?$/.test(type) && typeof content.delta === 'string') return pushDelta(frame, content.delta, at)
    if (endsRun(type, content))
      for (const [key, { sessionID }] of texts) if (sessionID === content.sessionID) flushText(key, at)
    const part = fieldsOf(content.part)
    write(frameJson(frame, part ? redactPart(content, part) : redactFields(content)), at)
  }

  /**
   * Writes the part of the text that is decided now. Nothing is written while all of it may be a secret. With more than
   * `maxTexts` texts, writes the rest of the oldest.
   */
  function pushDelta(frame: EventFrame, delta: string, at: number): void {
    const { content } = frame
    const key = textKey(content.partID ?? content, content.field)
    const before = texts.get(key)
    const redactor = before?.redactor ?? createRedactor()
    const ready = redactor.push(delta)
    const received = (before?.received ?? 0) + delta.length
    const written = (before?.written ?? 0) + ready.length
    texts.set(key, { sessionID: content.sessionID, redactor, received, written, frame })
    if (ready !== '' || delta === '') writeDelta(frame, ready, at)
    const [oldest] = texts.size > maxTexts ? texts.keys() : []
    if (oldest !== undefined) flushText(oldest, at)
  }

  /** Redacts a part. The end of a growing text or output is left out while it may be the beginning of a secret. */
  function redactPart(content: Fields, part: Fields): Fields {
    const { text, type, time, state } = part
    const clean = redactFields(content)
    if (typeof text === 'string' && (type === 'text' || type === 'reasoning')) {
      const isOpen = fieldsOf(time) !== undefined && fieldsOf(time)?.end === undefined
      const redacted = isOpen ? redactGrowingText(content, part, text) : redactFinalText(part, text)
      const delta =
        typeof content.delta === 'string'
          ? { delta: redacted.text.slice(redacted.writtenBefore ?? -content.delta.length) }
          : {}
      return { ...clean, part: { ...fieldsOf(clean.part), text: redacted.text }, ...delta }
    }
    const open = fieldsOf(state)
    if (open?.status !== 'pending' && open?.status !== 'running') return clean
    const cleanPart = fieldsOf(clean.part)
    return { ...clean, part: { ...cleanPart, state: { ...fieldsOf(cleanPart?.state), ...redactOutput(open) } } }
  }

  /**
   * Redacts a snapshot of a text that grows, without an end that may be the beginning of a secret. Later deltas
   * continue at its end, unless they already were further.
   */
  function redactGrowingText(content: Fields, part: Fields, text: string): RedactedText {
    const redactor = createRedactor()
    const ready = redactor.push(text)
    const key = textKey(part.id, 'text')
    const before = texts.get(key)
    const isNewer = text !== '' && text.length >= (before?.received ?? 0)
    const sessionID = part.sessionID ?? content.sessionID
    if (isNewer)
      texts.set(key, { sessionID, redactor, received: text.length, written: ready.length, frame: before?.frame })
    return { text: ready, writtenBefore: before?.written }
  }

  /** Redacts the complete text, and forgets the part: nothing is held back any more. */
  function redactFinalText(part: Fields, text: string): RedactedText {
    const before = texts.get(textKey(part.id, 'text'))?.written
    for (const field of ['text', 'reasoning']) texts.delete(textKey(part.id, field))
    return { text: redactText(text), writtenBefore: before }
  }

  /** Writes the ends of all texts that were held back, and forgets the texts. */
  function flushAll(at: number): void {
    for (const key of texts.keys()) flushText(key, at)
  }

  /**
   * Writes the end of a text that was held back, in a frame like its last delta, and forgets the text. Writes nothing
   * if nothing was held back or no delta was seen.
   */
  function flushText(key: string, at: number): void {
    const partText = texts.get(key)
    const heldText = partText?.redactor.end() ?? ''
    texts.delete(key)
    if (!partText?.frame || heldText === '') return
    // A second frame with the same id would be dropped as a duplicate.
    const { id: _, ...event } = partText.frame.event
    writeDelta({ ...partText.frame, event }, heldText, at)
  }

  /** Writes a frame with this delta, which is redacted already, and with its other fields redacted. */
  function writeDelta(frame: EventFrame, delta: string, at: number): void {
    write(frameJson(frame, { ...redactFields({ ...frame.content, delta: '' }), delta }), at)
  }
}

interface RedactedText {
  readonly text: string
  /** How many units were written before. */
  readonly writtenBefore: number | undefined
}

/**
 * The event in the value, with its content and the object around it. Undefined if the value is not an event with
 * fields.
 */
function eventFrameOf(value: unknown): EventFrame | undefined {
  const top = fieldsOf(value)
  const inner = fieldsOf(top?.payload)
  const isWrapped = top?.type === undefined && inner !== undefined
  const event = isWrapped ? inner : top
  if (!event) return undefined
  const key = event.properties === undefined ? 'data' : 'properties'
  const content = fieldsOf(event[key])
  return content && { outer: isWrapped ? top : undefined, event, key, content }
}

/** The frame's JSON text with its content replaced by already redacted content. */
function frameJson({ outer, event, key }: EventFrame, content: Fields): string {
  const redactedEvent = { ...redactFields({ ...event, [key]: {} }), [key]: content }
  return JSON.stringify(outer ? { ...redactFields({ ...outer, payload: {} }), payload: redactedEvent } : redactedEvent)
}

/** Identifies a text: by the id of its part, or by all ids in the fields of its delta. */
function textKey(idOrFields: unknown, field: unknown): string {
  const fields = fieldsOf(idOrFields)
  const ids = fields ? Object.entries(fields).filter(([key]) => /ID$|^(?:ordinal|index)$/.test(key)) : idOrFields
  return JSON.stringify([ids, field ?? 'text'])
}

/** Whether an event of this type ends its session's run: the session is idle or was deleted. */
function endsRun(type: string, content: Fields): boolean {
  if (/^session\.(?:idle|deleted)(?:\.\d+)?$/.test(type)) return true
  return type.startsWith('session.status') && fieldsOf(content.status)?.type === 'idle'
}

/**
 * Redacts a call's output so far, and its metadata. Each event contains the output from the start, so its end may
 * follow in the next one. Returns only the fields that the call has.
 */
function redactOutput(state: Fields): Fields {
  const metadata = fieldsOf(state.metadata)
  const output = typeof metadata?.output === 'string' ? { output: redactSoFar(metadata.output) } : {}
  return {
    ...(metadata && { metadata: { ...redactFields(metadata), ...output } }),
    ...(typeof state.output === 'string' && { output: redactSoFar(state.output) }),
    ...(typeof state.raw === 'string' && { raw: redactSoFar(state.raw) }),
  }
}

/** Redacts a text that still grows. Leaves out an end that may be the beginning of a secret. */
function redactSoFar(text: string): string {
  return createRedactor().push(text)
}
