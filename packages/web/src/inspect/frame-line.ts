import type { ReplyEvent } from '@reply/core'
import { nestsDeeper } from '@reply/core/internal'
import type { ReadFrame } from './frame.ts'
import type { OpenedRecording } from './recording.ts'

/** How deeply frames may be nested: what reads them as JSON and compares them calls itself for each level. */
const deepest = 400

/**
 * Returns a frame as a line of JSON for a page, which then needs no decoder. Its events lack their `raw` fields, which only
 * repeat the data.
 */
export function frameLine({ data, at, events, noEvents, errors }: ReadFrame): string {
  const isTooDeep = nestsDeeper(data, deepest)
  const sent = isTooDeep ? [] : events.map(withoutRaw)
  const all = isTooDeep ? [...errors, 'The frame is nested too deeply to be inspected.'] : errors
  return JSON.stringify([at, data, sent, isTooDeep ? 'malformed' : (noEvents ?? 0), ...(all.length > 0 ? [all] : [])])
}

/** Returns the line after the last frame, with what could not be read there. */
export function endLine(errors: readonly string[]): string {
  return JSON.stringify({ errors })
}

/** Adds the frame of a line to a recording, or ends it. */
export function readLine(line: string, recording: Pick<OpenedRecording, 'add' | 'end'>): void {
  if (line.startsWith('{')) {
    const { errors }: { readonly errors: readonly string[] } = JSON.parse(line)
    recording.end(errors)
  } else recording.add(frameOfLine(line))
}

function frameOfLine(line: string): ReadFrame {
  const [at, data, events, noEvents, errors = []]: [
    number,
    string,
    readonly ReplyEvent[],
    ReadFrame['noEvents'] | 0,
    (readonly string[])?,
  ] = JSON.parse(line)
  return { at, data, events, errors, ...(noEvents && { noEvents }) }
}

/** Deltas are most of all events, and have no other raw field. */
function withoutRaw(event: ReplyEvent): unknown {
  if (event.type !== 'delta') return strip(event)
  const { raw: _, ...rest } = event
  return rest
}

/** Removes the `raw` fields of messages, parts, asks and failures. A tool's own field of that name stays. */
function strip(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(strip)
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, field]: readonly [string, unknown]) =>
      key === 'raw' ? [] : [[key, data.has(key) ? field : strip(field)]],
    ),
  )
}

/** What the core passes on as it is: inputs, outputs and metadata of tools and asks. */
const data: ReadonlySet<string> = new Set(['input', 'metadata', 'output'])
