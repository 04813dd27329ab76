import type { OnError } from '../error.ts'
import { isFields } from '../fields.ts'
import type { FrameDecoder } from '../wire/reader.ts'
import { createTextDecoder } from './opencode1/decode.ts'
import { createDecoder2, type Decoder2 } from './opencode2/decode.ts'

/**
 * Creates a decoder for recordings of either OpenCode generation, which it recognizes by each frame's shape. Reports
 * frames that are of neither.
 */
export function createAnyDecoder(options: { readonly onError?: OnError | undefined }): FrameDecoder {
  const first = createTextDecoder(options)
  /** Created at the first frame of its generation, because most recordings have none. */
  let second: Decoder2 | undefined
  return {
    decode: (data, at) => {
      const unparsed = first.decodeUnparsed(data, at)
      if (unparsed) return unparsed === 'nothing' ? undefined : unparsed
      const delta = second?.decodeUnparsed(data, at)
      if (delta) return delta === 'nothing' ? undefined : delta
      const value = parseOrUndefined(data)
      // Reports the malformed frame.
      if (value === undefined) return first.decode(data, at)
      if (isFields(value) && ('properties' in value || 'payload' in value)) return first.decodeParsed(data, value, at)
      second ??= createDecoder2(options)
      return second.decodeValue(value, at) ?? first.decodeParsed(data, value, at)
    },
  }
}

/** Returns the value of a JSON text. Undefined for any other text. */
function parseOrUndefined(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return undefined
  }
}
