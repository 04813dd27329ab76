import { type Fields, fieldsOf } from '../fields.ts'
import { redactFields, redactValue } from '../redact/redact-fields.ts'
import { createRedactor, type Redactor, redactText } from '../redact/redactor.ts'

export interface FrameRedactor {
  push(data: string, at: number): void
  /** Writes the text that is still held back. */
  end(at: number): void
}

/** One part's text across deltas and snapshots. */
interface Stream {
  readonly sessionID: unknown
  readonly redactor: Redactor
  /** UTF-16 units received. */
  readonly taken: number
  /** UTF-16 units written. */
  readonly given: number
  /** The last frame with a delta. The remaining text is written in a frame like it. */
  readonly frame: Frame | undefined
}

/** An event with its wrapper. */
interface Frame {
  /** Undefined if the event is not wrapped. */
  readonly outer: Fields | undefined
  readonly event: Fields
  /** The field with its content: `properties`, or `data` for the second copy of a durable event. */
  readonly key: 'properties' | 'data'
  readonly news: Fields
}

/** Far more than parts that grow at once. Beyond it the oldest are written out. */
const maxStreams = 1000

/**
 * Redacts the frames of a stream. Redacts a part's deltas as one text, to find secrets that arrive in pieces; a
 * possible beginning of a secret is held back until the next delta, the end of the run, or the whole text. Snapshots of
 * a text or output that still grows lack that end.
 */
export function createFrameRedactor(write: (data: string, at: number) => void): FrameRedactor {
  const streams = new Map<string, Stream>()
  return { push, end }

  function push(data: string, at: number): void {
    let value: unknown
    try {
      value = JSON.parse(data)
    } catch {
      return write(redactText(data), at)
    }
    const frame = toFrame(value)
    if (!frame) return write(JSON.stringify(redactValue(value)), at)
    const { news } = frame
    const type = String(frame.event.type)
    if (/\.delta(?:\.\d+)?$/.test(type) && typeof news.delta === 'string') return pushDelta(frame, news.delta, at)
    if (endsRun(type, news))
      for (const [key, { sessionID }] of streams) if (sessionID === news.sessionID) flush(key, at)
    const part = fieldsOf(news.part)
    write(textOf(frame, part ? redactPart(news, part) : redactFields(news)), at)
  }

  function pushDelta(frame: Frame, delta: string, at: number): void {
    const { news } = frame
    const key = keyOf(news.partID ?? news, news.field)
    const before = streams.get(key)
    const redactor = before?.redactor ?? createRedactor()
    const ready = redactor.push(delta)
    const taken = (before?.taken ?? 0) + delta.length
    const given = (before?.given ?? 0) + ready.length
    streams.set(key, { sessionID: news.sessionID, redactor, taken, given, frame })
    if (ready !== '' || delta === '') writeDelta(frame, ready, at)
    const [oldest] = streams.size > maxStreams ? streams.keys() : []
    if (oldest !== undefined) flush(oldest, at)
  }

  function redactPart(news: Fields, part: Fields): Fields {
    const { text, type, time, state } = part
    const clean = redactFields(news)
    if (typeof text === 'string' && (type === 'text' || type === 'reasoning')) {
      const isOpen = fieldsOf(time) !== undefined && fieldsOf(time)?.end === undefined
      const given = isOpen ? growTo(news, part, text) : endWith(part, text)
      const delta =
        typeof news.delta === 'string' ? { delta: given.text.slice(given.before ?? -news.delta.length) } : {}
      return { ...clean, part: { ...fieldsOf(clean.part), text: given.text }, ...delta }
    }
    const open = fieldsOf(state)
    if (open?.status !== 'pending' && open?.status !== 'running') return clean
    const cleanPart = fieldsOf(clean.part)
    return { ...clean, part: { ...cleanPart, state: { ...fieldsOf(cleanPart?.state), ...redactOutput(open) } } }
  }

  /** A snapshot of a text that grows: later deltas continue at its end. */
  function growTo(news: Fields, part: Fields, text: string): Given {
    const redactor = createRedactor()
    const ready = redactor.push(text)
    const key = keyOf(part.id, 'text')
    const before = streams.get(key)
    const isNewer = text !== '' && text.length >= (before?.taken ?? 0)
    const sessionID = part.sessionID ?? news.sessionID
    if (isNewer)
      streams.set(key, { sessionID, redactor, taken: text.length, given: ready.length, frame: before?.frame })
    return { text: ready, before: before?.given }
  }

  /** The complete text: nothing is held back any more. */
  function endWith(part: Fields, text: string): Given {
    const before = streams.get(keyOf(part.id, 'text'))?.given
    for (const field of ['text', 'reasoning']) streams.delete(keyOf(part.id, field))
    return { text: redactText(text), before }
  }

  function end(at: number): void {
    for (const key of streams.keys()) flush(key, at)
  }

  function flush(key: string, at: number): void {
    const stream = streams.get(key)
    const rest = stream?.redactor.end() ?? ''
    streams.delete(key)
    if (!stream?.frame || rest === '') return
    // A second frame with the same id would be dropped as a duplicate.
    const { id: _, ...event } = stream.frame.event
    writeDelta({ ...stream.frame, event }, rest, at)
  }

  function writeDelta(frame: Frame, delta: string, at: number): void {
    // Text that was redacted as part of a stream is not redacted again.
    write(textOf(frame, { ...redactFields({ ...frame.news, delta: '' }), delta }), at)
  }
}

interface Given {
  readonly text: string
  /** How many units were written before. */
  readonly before: number | undefined
}

function toFrame(value: unknown): Frame | undefined {
  const top = fieldsOf(value)
  const inner = fieldsOf(top?.payload)
  const isWrapped = top?.type === undefined && inner !== undefined
  const event = isWrapped ? inner : top
  if (!event) return undefined
  const key = event.properties === undefined ? 'data' : 'properties'
  const news = fieldsOf(event[key])
  return news && { outer: isWrapped ? top : undefined, event, key, news }
}

/** The frame's JSON text with its content replaced by already redacted content. */
function textOf({ outer, event, key }: Frame, news: Fields): string {
  const redactedEvent = { ...redactFields({ ...event, [key]: {} }), [key]: news }
  return JSON.stringify(outer ? { ...redactFields({ ...outer, payload: {} }), payload: redactedEvent } : redactedEvent)
}

/** A part is identified by its id, other streams by all the ids in their deltas. */
function keyOf(whose: unknown, field: unknown): string {
  const fields = fieldsOf(whose)
  const ids = fields ? Object.entries(fields).filter(([key]) => /ID$|^(?:ordinal|index)$/.test(key)) : whose
  return JSON.stringify([ids, field ?? 'text'])
}

function endsRun(type: string, news: Fields): boolean {
  if (/^session\.(?:idle|deleted)(?:\.\d+)?$/.test(type)) return true
  return type.startsWith('session.status') && fieldsOf(news.status)?.type === 'idle'
}

/** A call's output so far. Each event contains it from the start, so its end may be held back until the next one. */
function redactOutput(state: Fields): Fields {
  const metadata = fieldsOf(state.metadata)
  const output = typeof metadata?.output === 'string' ? { output: redactSoFar(metadata.output) } : {}
  return {
    ...(metadata && { metadata: { ...redactFields(metadata), ...output } }),
    ...(typeof state.output === 'string' && { output: redactSoFar(state.output) }),
    ...(typeof state.raw === 'string' && { raw: redactSoFar(state.raw) }),
  }
}

function redactSoFar(text: string): string {
  return createRedactor().push(text)
}
