import { createParser, type ParseError } from 'eventsource-parser'
import { type OnError, ReplyError } from '../error.ts'
import { excerptOf } from '../text/excerpt.ts'
import { createUtf8Reader } from './utf8.ts'

/** Where the data of the frames goes, and how large a frame may be. */
export interface SseOptions {
  /** Called with each frame's data and the name of its event, if it has one, in the order of the bytes. */
  readonly onData: (data: string, event: string | undefined) => void
  /** Called with each comment line, without its colon. */
  readonly onComment?: ((comment: string) => void) | undefined
  readonly onError?: OnError | undefined
  /**
   * The maximum size of an unfinished frame, in UTF-16 units. A larger one is reported and dropped, and reading
   * continues after it. Default 16,777,216: OpenCode sends whole tool outputs and files in one frame.
   */
  readonly maxFrame?: number | undefined
}

export interface SseReader {
  /** Parses the next bytes and calls `onData` for each frame that ends. Any split is fine, even within a character. */
  push(chunk: Uint8Array | string): void
  /** Drops an unfinished frame. Call it when the source changes or ends. */
  reset(): void
}

const defaultMaxFrame = 16 * 1024 * 1024

/** In bytes, see `pieceEnd`. */
const pieceLength = 4096
/** How far past a piece its end is searched, in bytes. A chunk with longer lines is read as a whole. */
const pieceSlack = 320
const lineFeed = 10

/** Creates a reader that splits a byte stream into the data of its server-sent events. */
export function createSseReader(options: SseOptions): SseReader {
  const maxFrame = options.maxFrame ?? defaultMaxFrame
  const utf8 = createUtf8Reader()
  /**
   * Set while skipping a frame that was too large: the end of the skipped text, which may contain the first half of a
   * blank line.
   */
  let skippedTail: string | undefined

  const parser = createParser({
    onEvent: ({ data, event }) => options.onData(data, event),
    ...(options.onComment && { onComment: options.onComment }),
    maxBufferSize: maxFrame,
    onError,
  })

  return { push, reset }

  /** Reads the text, or the bytes in pieces, and calls `onData` for each frame that ends. */
  function push(chunk: Uint8Array | string): void {
    if (typeof chunk === 'string') return readText(chunk)
    let end = 0
    for (let start = 0; start < chunk.length; start = end) {
      end = pieceEnd(chunk, start)
      readText(utf8.read(end - start === chunk.length ? chunk : chunk.subarray(start, end)))
    }
  }

  /** Parses the text, or skips it as part of a frame that was too large. */
  function readText(text: string): void {
    if (text === '') return
    if (skippedTail === undefined) parse(text)
    else skipFrame(skippedTail + text)
  }

  /** Passes the text to the parser. If the frame became too large, starts to skip it. */
  function parse(text: string): void {
    parser.feed(text)
    if (skippedTail !== undefined) skippedTail = text.slice(-3)
  }

  /**
   * Skips the text up to the blank line that ends the frame, and parses the text after it. Keeps skipping if there is
   * none.
   */
  function skipFrame(text: string): void {
    const blankLine = /(?:\r\n|\n|\r(?!\n)){2}/.exec(text)
    if (!blankLine) {
      skippedTail = text.slice(-3)
      return
    }
    skippedTail = undefined
    parser.reset()
    parse(text.slice(blankLine.index + blankLine[0].length))
  }

  /**
   * Reports a malformed line, and a frame that is too large, whose rest is then skipped. Ignores an invalid `retry`
   * field.
   */
  function onError(error: ParseError): void {
    if (error.type === 'max-buffer-size-exceeded') {
      skippedTail = ''
      const message = `Dropped an event of more than ${maxFrame} UTF-16 units. Raise maxFrame if the server really sends events this large.`
      options.onError?.(new ReplyError('too-large', message, { cause: error }))
      return
    }
    if (error.type === 'invalid-retry') return
    const line = excerptOf(error.line ?? '')
    const message = `Skipped a line of the event stream that is not a server-sent event: ${line}. An OpenCode server never sends such a line.`
    options.onError?.(new ReplyError('malformed', message))
  }

  /** Drops an unfinished frame and an incomplete character. Also ends the skipping of a frame that was too large. */
  function reset(): void {
    parser.reset()
    utf8.reset()
    skippedTail = undefined
  }
}

/**
 * The index where the piece that begins at `start` ends: after a line, or at the chunk's end if no line ends nearby.
 * Large chunks are read in pieces, because a single character outside Latin-1 makes the whole string around it twice as
 * wide, and slower to read.
 */
function pieceEnd(chunk: Uint8Array, start: number): number {
  if (chunk.length <= start + pieceLength) return chunk.length
  const end = chunk.indexOf(lineFeed, start + pieceLength)
  if (end === -1 || end >= start + pieceLength + pieceSlack) return chunk.length
  return chunk[end + 1] === lineFeed ? end + 2 : end + 1
}
