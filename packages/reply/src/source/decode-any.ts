import type { OnError } from '../error.ts'
import { isFields } from '../fields.ts'
import type { FrameDecoder } from '../wire/reader.ts'
import { createTextDecoder, isRelevantType } from './opencode1/decode.ts'
import { kindOf } from './opencode2/decode/frame-kind.ts'
import { createDecoder2, type Decoder2 } from './opencode2/decode.ts'

/** Whether frames of this type are decoded, in either generation. Those of all other types concern no reply. */
export function isDecodedType(type: string): boolean {
  return isRelevantType(type) || kindOf(type) !== undefined
}

/**
 * Creates a decoder for recordings of either OpenCode generation, which it recognizes by each frame's shape. Reports
 * frames that are of neither.
 */
export function createAnyDecoder(options: { readonly onError?: OnError | undefined }): FrameDecoder {
  const decoder1 = createTextDecoder(options)
  /** Created at the first frame of its generation, because most recordings have none. */
  let decoder2: Decoder2 | undefined
  return {
    decode: (data, at) => {
      const unparsed = decoder1.decodeUnparsed(data, at)
      if (unparsed) return unparsed === 'nothing' ? undefined : unparsed
      const delta = decoder2?.decodeUnparsed(data, at)
      if (delta) return delta === 'nothing' ? undefined : delta
      const value = parseOrUndefined(data)
      // Reports the malformed frame.
      if (value === undefined) return decoder1.decode(data, at)
      if (isFields(value) && ('properties' in value || 'payload' in value))
        return decoder1.decodeParsed(data, value, at)
      decoder2 ??= createDecoder2(options)
      return decoder2.decodeValue(value, at) ?? decoder1.decodeParsed(data, value, at)
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
