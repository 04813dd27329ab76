import { listRecordings, readRecording } from '@reply/testing'
import { type Chunking, chunksOfBytes } from './chunk.ts'

/**
 * Returns every recording of a generation of OpenCode, one server after the other, each in its own chunks. Throws if
 * there are none.
 */
export function recordedStreams(chunking: Chunking, generation: 1 | 2 = 1): readonly (readonly Uint8Array[])[] {
  const names = listRecordings({ generation })
  if (names.length === 0) throw new Error('There are no recordings to measure with. Create them with npm run record.')
  return names.map(({ version, scenario }) => chunksOfBytes(readRecording({ version, scenario }).bytes, chunking))
}
