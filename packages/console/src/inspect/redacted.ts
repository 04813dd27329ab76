import { record } from '@reply/core'
import type { FrameReader, ReadFrame } from '@reply/web/inspect'

/** Returns a recording without the secrets that the core recognizes, as `reply record` writes it. */
export function redactedRecording(
  recording: Uint8Array,
  readFrames: (onFrame: (frame: ReadFrame) => void) => FrameReader,
): string {
  const texts: string[] = []
  const recorder = record({ write: (text) => texts.push(text) })
  const reader = readFrames(({ data, at }) => recorder(data, at))
  reader.push(recording)
  reader.end()
  recorder.end()
  return texts.join('')
}
