import { ReplyError } from '@reply/core'

/** The options of `linesOf`. */
export interface LineOptions {
  /** The longest line, in bytes. A longer one is skipped and reported. Default 16,777,216. */
  readonly maxBytes?: number | undefined
  /**
   * Called with `too-large` once for each skipped line, as soon as it is too long. Default: lines are skipped silently.
   */
  readonly onError?: ((error: ReplyError) => void) | undefined
}

const newline = 0x0a

/**
 * Yields the lines of a UTF-8 stream, in order, without line breaks (`\n` or `\r\n`). The last line needs no line break. Invalid
 * bytes become U+FFFD. Reads only when you ask for the next line, and holds one line at most. Throws if the stream fails.
 */
export async function* linesOf(
  stream: AsyncIterable<Uint8Array>,
  { maxBytes = 16_777_216, onError }: LineOptions = {},
): AsyncGenerator<string, void, undefined> {
  let held: Uint8Array[] = []
  let size = 0
  let isReported = false
  for await (const chunk of stream) {
    let from = 0
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
      const line = lineOf(chunk.subarray(from, end))
      from = end + 1
      if (line !== undefined) yield line
    }
    hold(chunk.subarray(from))
  }
  if (size > 0) {
    const line = lineOf(new Uint8Array())
    if (line !== undefined) yield line
  }

  /**
   * Adds a copy of a line's beginning, so that the rest of its chunk is freed. Drops and reports the line if it is too long.
   */
  function hold(rest: Uint8Array): void {
    size += rest.length
    if (size > maxBytes) {
      held = []
      report()
    } else if (rest.length > 0) held.push(Uint8Array.from(rest))
  }

  /** Returns the held line with its last bytes, and holds nothing. Undefined if it is too long, which is reported once. */
  function lineOf(last: Uint8Array): string | undefined {
    const bytes = size + last.length
    const parts = [...held, last]
    held = []
    size = 0
    if (bytes > maxBytes) report()
    isReported = false
    return bytes > maxBytes ? undefined : Buffer.concat(parts).toString('utf8').replace(/\r$/, '')
  }

  /** Reports that the current line is too long, once. */
  function report(): void {
    if (isReported) return
    isReported = true
    const problem = `A line was skipped because it has more than ${maxBytes} bytes`
    onError?.(new ReplyError('too-large', `${problem}. Make the program write shorter lines, or raise the limit.`))
  }
}
