import { listRecordings, readRecording } from '@reply/testing'
import { type Chunking, chunksOfBytes } from './chunk.ts'

/** Every recording of the versions wanted, each in chunks of its own: one server after the other. */
export function recordedStreams(
  chunking: Chunking,
  isWanted: (version: string) => boolean = () => true,
): readonly (readonly Uint8Array[])[] {
  const names = listRecordings().filter(({ version }) => isWanted(version))
  if (names.length === 0) throw new Error('There are no recordings to measure with; make them with npm run record.')
  return names.map(({ version, scenario }) => chunksOfBytes(readRecording({ version, scenario }).bytes, chunking))
}
