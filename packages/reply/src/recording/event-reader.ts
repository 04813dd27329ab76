import { createDecoder } from '../source/opencode1/decode.ts'
import { createFrameReader, type EventReader, type FrameDecoder, type FrameReaderOptions } from '../wire/reader.ts'

/** The options of `createEventReader`. */
export interface EventReaderOptions extends Omit<FrameReaderOptions, 'decoder'> {
  /** Share one decoder across connections to one server to drop duplicate events. Default: a new `createDecoder()`. */
  readonly decoder?: FrameDecoder | undefined
}

/**
 * Turns the bytes of an event stream into events, for programs that make their own connection: splits and decodes
 * frames, and merges consecutive deltas within a chunk.
 */
export function createEventReader(options: EventReaderOptions = {}): EventReader {
  return createFrameReader({ ...options, decoder: options.decoder ?? createDecoder({ onError: options.onError }) })
}
