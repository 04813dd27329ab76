import { listRecordings, readRecording } from '@reply/testing'
import { type Chunking, chunksOfBytes } from './chunk.ts'

interface RecordingFilter {
  /** Which OpenCode. Default 1. */
  readonly generation?: 1 | 2 | undefined
  /** Default: all versions. */
  readonly isWanted?: ((version: string) => boolean) | undefined
}

/** Every recording of a generation, one server after the other, each in its own chunks. */
export function recordedStreams(
  chunking: Chunking,
  { generation = 1, isWanted = () => true }: RecordingFilter = {},
): readonly (readonly Uint8Array[])[] {
  const names = listRecordings({ generation }).filter(({ version }) => isWanted(version))
  if (names.length === 0) throw new Error('There are no recordings to measure with. Create them with npm run record.')
  return names.map(({ version, scenario }) => chunksOfBytes(readRecording({ version, scenario }).bytes, chunking))
}
