import { createDecoder } from '../decode.ts'
import type { OnError } from '../error.ts'
import type { ReplyEvent } from '../event.ts'
import { createEventReader } from '../reader.ts'

/** Raw server-sent events or JSON lines: whole, or in pieces of any size. */
export type Recording = string | Uint8Array | Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>

/**
 * The events of a recording, in groups of what one piece of it completed. Each is stamped with the time that the
 * recording notes (`: at 1790000000000` before a frame); without such notes, with the latest time that the server's own
 * messages and tool calls have told so far.
 */
export async function* recordedEvents(
  recording: Recording,
  options: { readonly onError?: OnError | undefined },
): AsyncGenerator<readonly ReplyEvent[]> {
  const decoder = createDecoder({ onError: options.onError })
  let noted: number | undefined
  let clock = 0
  const reader = createEventReader({
    onError: options.onError,
    decoder: { decode: (data) => stamped(read(data, noted ?? clock)), decodeValue: decoder.decodeValue },
    onComment: (comment) => {
      const note = /^at (\d+)$/.exec(comment)
      if (note) noted = Number(note[1])
    },
  })
  let isLines: boolean | undefined
  let isBegun = false
  const utf8 = new TextDecoder()

  for await (const piece of piecesOf(recording)) {
    isLines ??= startsWithBrace(piece)
    if (isLines === undefined) continue
    yield isLines
      ? readLines(typeof piece === 'string' ? piece : utf8.decode(piece, { stream: true }))
      : reader.push(piece, clock)
  }
  yield reader.push('\n\n', clock)

  /** Each line is a frame's data: so a line that comes in many pieces, or never ends, costs no more than a frame. */
  function readLines(text: string): readonly ReplyEvent[] {
    const more = isBegun ? text : `data: ${text.trimStart()}`
    isBegun = true
    return reader.push(more.replaceAll('\n', '\n\ndata: '), clock)
  }

  function read(data: string, at: number): ReplyEvent | undefined {
    return isLines && data.trim() === '' ? undefined : decoder.decode(data, at)
  }

  function stamped(event: ReplyEvent | undefined): ReplyEvent | undefined {
    if (!event || noted !== undefined || event.type === 'delta') return event
    const time = timeIn(event)
    if (time === undefined || time <= clock) return event.at === clock ? event : { ...event, at: clock }
    clock = time
    return { ...event, at: clock }
  }
}

function timeIn(event: ReplyEvent): number | undefined {
  if (event.type === 'session') return event.createdAt
  if (event.type === 'message') return event.message.completedAt ?? event.message.createdAt
  if (event.type === 'part' && event.part.type === 'tool') return event.part.state.endedAt ?? event.part.state.startedAt
  return undefined
}

/** JSON lines begin with a brace. Undefined for a piece with nothing but white space. */
function startsWithBrace(piece: string | Uint8Array): boolean | undefined {
  const start = typeof piece === 'string' ? piece.slice(0, 64) : new TextDecoder().decode(piece.subarray(0, 64))
  const first = start.replace(/^[\uFEFF\s]+/, '')[0]
  return first === undefined ? undefined : first === '{'
}

async function* piecesOf(recording: Recording): AsyncGenerator<string | Uint8Array> {
  if (typeof recording === 'string' || recording instanceof Uint8Array) yield recording
  else yield* recording
}
