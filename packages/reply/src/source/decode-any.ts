import type { OnError } from '../error.ts'
import type { ReplyEvent } from '../event.ts'
import { createTextDecoder } from './opencode1/decode.ts'
import { createDecoder2 } from './opencode2/decode.ts'

/** Decodes recordings of every generation, told apart by each frame's shape. */
export function createAnyDecoder(options: { readonly onError?: OnError | undefined }) {
  const first = createTextDecoder(options)
  const second = createDecoder2(options)
  return {
    decode: (data: string, at: number): readonly ReplyEvent[] => {
      const repeated = first.decodeUnparsed(data, at)
      if (repeated) return repeated
      const value = parsed(data)
      // Reports what is wrong with it.
      const events = value === undefined ? undefined : second.decodeValue(value, at)
      if (events) return events
      const event = value === undefined ? first.decode(data, at) : first.decodeParsed(data, value, at)
      return event ? [event] : []
    },
  }
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return undefined
  }
}
