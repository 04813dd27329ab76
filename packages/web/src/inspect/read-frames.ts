import type { ReplyError, ReplyEvent } from '@reply/core'
import { createRecordingReader, isDecodedType } from '@reply/core/internal'
import { eventIn, fieldsIn } from './event-in.ts'
import type { NoEvents, ReadFrame } from './frame.ts'
import { createRecording, type OpenedRecording } from './recording.ts'

/** Reads the frames of a recording: server-sent events or JSON lines, as `replay` reads them. */
export interface FrameReader {
  /** Reads further bytes or text, cut anywhere. Calls `onFrame` for each frame that is complete. */
  push(piece: string | Uint8Array): void
  /** Reads a last frame without its end. Returns what could not be read after it. */
  end(): readonly string[]
}

/** How many ids are kept at least. `decode` knows fewer. */
const keptIDs = 1024

/** Creates a reader that decodes frames, and says why a frame has no events. */
export function readFrames(onFrame: (frame: ReadFrame) => void): FrameReader {
  let errors: string[] = []
  /** The ids of the last frames, and those of the generation before. */
  let ids = new Set<string>()
  let idsBefore = new Set<string>()
  const onError = (error: ReplyError): void => void errors.push(error.message)
  const reader = createRecordingReader(onError, ({ data, at, events }) => {
    const noEvents = events.length > 0 ? noteID(events[0]) : whyNothing(data)
    onFrame({ data, at, events, ...(noEvents && { noEvents }), errors })
    errors = []
  })
  return {
    push: (piece) => void reader.push(piece),
    end: () => {
      reader.end()
      return errors
    },
  }

  function noteID(event: ReplyEvent | undefined): undefined {
    isKnown(fieldsIn(event?.raw)?.id)
  }

  function whyNothing(data: string): NoEvents {
    const event = eventIn(data)
    const type = event?.type
    const isRepeated = isKnown(event?.id)
    if (errors.length > 0 || typeof type !== 'string') return 'malformed'
    if (type === 'sync') return 'copy'
    if (isRepeated) return 'repeated'
    return isDecodedType(type) ? 'empty' : 'other'
  }

  /** Whether a frame with this id came before. Notes it. */
  function isKnown(id: unknown): boolean {
    if (typeof id !== 'string') return false
    if (ids.has(id) || idsBefore.has(id)) return true
    if (ids.size >= keptIDs) {
      idsBefore = ids
      ids = new Set()
    }
    ids.add(id)
    return false
  }
}

/** Opens a whole recording. */
export function openRecording(recording: string | Uint8Array | Iterable<string | Uint8Array>): OpenedRecording {
  const opened = createRecording()
  const reader = readFrames((frame) => opened.add(frame))
  const isWhole = typeof recording === 'string' || recording instanceof Uint8Array
  for (const piece of isWhole ? [recording] : recording) reader.push(piece)
  opened.end(reader.end())
  return opened
}
