import { listRecordings, readRecording } from '@reply/testing'
import { type Chunking, chunksOfBytes } from './chunk.ts'

/** Every recording of the given versions, one server after the other, each in its own chunks. */
export function recordedStreams(
  chunking: Chunking,
  isWanted: (version: string) => boolean = () => true,
): readonly (readonly Uint8Array[])[] {
  const names = listRecordings().filter(({ version }) => isWanted(version))
  if (names.length === 0) throw new Error('No recordings to measure with; create them with npm run record.')
  return names.map(({ version, scenario }) => chunksOfBytes(readRecording({ version, scenario }).bytes, chunking))
}
