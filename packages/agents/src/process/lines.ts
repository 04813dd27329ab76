import { ReplyError } from '@reply/core'

/** How lines are read. */
export interface LineOptions {
  /** The longest line, in bytes; a longer one is left out and reported. Default 16,777,216. */
  readonly maxBytes?: number | undefined
  /**
   * Called with `too-large` once for each line that is left out, as soon as it is too long: it may never end. Default: it
   * is dropped silently.
   */
  readonly onError?: ((error: ReplyError) => void) | undefined
}

const newline = 0x0a

/**
 * The lines of a stream of UTF-8, in order, without their line breaks (`\n` or `\r\n`). The last one needs none. Invalid
 * bytes become U+FFFD. Reads on only when the caller asks for more, and holds one line at most.
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

  /** Copies what stays, so that a short rest doesn't keep its whole chunk in memory. */
  function hold(rest: Uint8Array): void {
    size += rest.length
    if (size > maxBytes) {
      held = []
      report()
    } else if (rest.length > 0) held.push(Uint8Array.from(rest))
  }

  function lineOf(last: Uint8Array): string | undefined {
    const bytes = size + last.length
    const parts = [...held, last]
    held = []
    size = 0
    if (bytes > maxBytes) report()
    isReported = false
    return bytes > maxBytes ? undefined : Buffer.concat(parts).toString('utf8').replace(/\r$/, '')
  }

  function report(): void {
    if (isReported) return
    isReported = true
    const words = `A line was left out: it has more than ${maxBytes} bytes`
    onError?.(new ReplyError('too-large', `${words}. Make the program write shorter lines, or raise the limit.`))
  }
}
