import { createParser, type ParseError } from 'eventsource-parser'
import { type OnError, ReplyError } from './error.ts'
import { excerptOf } from './excerpt.ts'

export interface SseOptions {
  /** One frame's data, in the order of the bytes. */
  readonly onData: (data: string) => void
  /** A comment line, without its colon. */
  readonly onComment?: ((comment: string) => void) | undefined
  readonly onError?: OnError | undefined
  /**
   * The most that one unfinished frame may hold, in UTF-16 units; a larger one is reported and dropped, and the
   * reading goes on after it. Default 16,777,216: OpenCode sends whole tool outputs and files in one frame.
   */
  readonly maxFrame?: number | undefined
}

export interface SseReader {
  /** Takes the next bytes; any split is fine, also within a character or a line end. */
  push(chunk: Uint8Array | string): void
  /** Forgets an unfinished frame. Call it when the source changes or ends. */
  reset(): void
}

const defaultMaxFrame = 16 * 1024 * 1024

/** Cuts a byte stream into the data of its server-sent events. */
export function createSseReader(options: SseOptions): SseReader {
  const maxFrame = options.maxFrame ?? defaultMaxFrame
  let decoder = new TextDecoder()
  /** After a frame that was too large: the end of what was passed over, which may hold the first half of a blank line. */
  let passedOver: string | undefined

  const parser = createParser({
    onEvent: (event) => options.onData(event.data),
    ...(options.onComment && { onComment: options.onComment }),
    maxBufferSize: maxFrame,
    onError,
  })

  return { push, reset }

  function push(chunk: Uint8Array | string): void {
    const text = typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
    if (text === '') return
    if (passedOver === undefined) feed(text)
    else passOver(passedOver + text)
  }

  function feed(text: string): void {
    parser.feed(text)
    if (passedOver !== undefined) passedOver = text.slice(-3)
  }

  function passOver(text: string): void {
    const blankLine = /(?:\r\n|\n|\r(?!\n)){2}/.exec(text)
    if (!blankLine) {
      passedOver = text.slice(-3)
      return
    }
    passedOver = undefined
    parser.reset()
    feed(text.slice(blankLine.index + blankLine[0].length))
  }

  function onError(error: ParseError): void {
    if (error.type === 'max-buffer-size-exceeded') {
      passedOver = ''
      const message = `One event of the stream is larger than ${maxFrame} units and was dropped; raise maxFrame if the server really sends such.`
      options.onError?.(new ReplyError('too-large', message, { cause: error }))
      return
    }
    if (error.type === 'invalid-retry') return
    const line = excerptOf(error.line ?? '')
    const message = `A line of the event stream is no server-sent event and was skipped: ${line}. Is the URL that of an OpenCode server?`
    options.onError?.(new ReplyError('malformed', message))
  }

  function reset(): void {
    parser.reset()
    decoder = new TextDecoder()
    passedOver = undefined
  }
}
