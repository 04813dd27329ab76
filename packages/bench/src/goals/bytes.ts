import { createCounter } from '../counter.ts'
import { readFloor } from '../floor.ts'
import type { Effort, Goal } from '../goal.ts'
import { type Run, readLive, readReplay } from '../pipeline.ts'
import { race } from '../rounds.ts'
import { type Chunking, chunksOf } from '../stream/chunk.ts'
import { recordedStreams } from '../stream/recorded.ts'
import { generateSecondTurn } from '../stream/second-turn.ts'
import { framesOf, generateTurn } from '../stream/turn.ts'

type Streams = readonly (readonly Uint8Array[])[]

const sources: readonly {
  readonly id: string
  readonly what: string
  readonly streams: (chunking: Chunking) => Streams
}[] = [
  { id: 'recorded', what: 'all recordings', streams: (chunking) => recordedStreams(chunking) },
  { id: '1k', what: '1,000 deltas', streams: (chunking) => generated(1000, chunking) },
  { id: '10k', what: '10,000 deltas', streams: (chunking) => generated(10_000, chunking) },
  { id: '100k', what: '100,000 deltas', streams: (chunking) => generated(100_000, chunking) },
]

/** The same of OpenCode 2, as its preview build writes them: one frame for each piece of the model. */
const secondSources: typeof sources = [
  {
    id: 'second.recorded',
    what: 'all recordings of OpenCode 2',
    streams: (chunking) => recordedStreams(chunking, { generation: 2 }),
  },
  ...[1000, 10_000, 100_000].map((deltas) => ({
    id: `second.${deltas / 1000}k`,
    what: `${deltas.toLocaleString('en')} deltas of OpenCode 2`,
    streams: (chunking: Chunking) => [chunksOf(generateSecondTurn({ deltas }), chunking)],
  })),
]

const chunkings = [
  { id: '16k', what: '16 KB chunks', chunking: 16384, bound: { atMost: 1.25 } },
  { id: '1400', what: '1,400-byte chunks', chunking: 1400, bound: { atMost: 1.5 } },
  { id: 'frame', what: 'frame by frame', chunking: 'frame', bound: { atMost: 1.4 } },
] as const

/**
 * Recordings have three times as many whole parts and messages as deltas, and those take more than reading them: how much
 * more differs from processor to processor, 1.3 on one and 1.6 on another.
 */
const recordedBound = { atMost: 1.7 }

/** From bytes to one observer, compared with the floor. */
export const byteGoals: readonly Goal[] = [
  ...chunkings.flatMap(({ id, what, chunking, bound }) =>
    sources.map(
      (source): Goal => ({
        id: `bytes.${id}.${source.id}`,
        what: `bytes → one observer, ${what}, ${source.what}`,
        unit: '× the floor',
        bound: source.id === 'recorded' ? recordedBound : bound,
        measure: (effort) => besideFloor(source.streams(chunking), readLive, effort),
      }),
    ),
  ),
  ...chunkings.flatMap(({ id, what, chunking, bound }) =>
    secondSources.map(
      (source): Goal => ({
        id: `bytes.${id}.${source.id}`,
        what: `bytes → one observer, ${what}, ${source.what}`,
        unit: '× the floor',
        bound: source.id === 'second.recorded' ? recordedBound : bound,
        measure: (effort) => besideFloor(source.streams(chunking), readSecond, effort),
      }),
    ),
  ),
  ...sources.map(
    (source): Goal => ({
      id: `replay.16k.${source.id}`,
      what: `replay() with one observer, 16 KB chunks, ${source.what}`,
      unit: '× the floor',
      bound: source.id === 'recorded' ? recordedBound : { atMost: 1.5 },
      measure: (effort) => besideFloor(source.streams(16384), readReplay, effort),
    }),
  ),
]

function readSecond(chunks: readonly Uint8Array[], run: Run): void {
  readLive(chunks, { ...run, generation: 2 })
}

async function besideFloor(
  streams: Streams,
  read: typeof readLive | typeof readReplay,
  effort: Effort,
): Promise<number> {
  const { observer, count } = createCounter()
  const value = await race({
    first: () => {
      for (const chunks of streams) if (readFloor(chunks) === 0) throw new Error('The floor saw no frame.')
    },
    second: async () => {
      for (const chunks of streams) {
        // Awaits only asynchronous readers, so that a live one doesn't pay for a tick per stream.
        const reading = read(chunks, { observer })
        if (reading) await reading
      }
    },
    effort,
  })
  if (count.units === 0 || count.settled === 0)
    throw new Error('The measured pipeline reported nothing to its observer.')
  return value
}

function generated(deltas: number, chunking: Chunking): Streams {
  return [chunksOf(framesOf(generateTurn({ deltas }).events), chunking)]
}
