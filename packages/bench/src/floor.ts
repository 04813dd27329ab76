import { createParser } from 'eventsource-parser'

/**
 * Does the least that any client must: decodes bytes, splits frames, parses JSON. Returns the number of frames. Throws
 * if one isn't JSON.
 */
export function readFloor(chunks: readonly Uint8Array[]): number {
  const utf8 = new TextDecoder()
  let frames = 0
  let last: unknown
  const parser = createParser({
    onEvent: (event) => {
      last = JSON.parse(event.data)
      if (last !== undefined) frames += 1
    },
  })
  for (const chunk of chunks) parser.feed(utf8.decode(chunk, { stream: true }))
  return frames
}
