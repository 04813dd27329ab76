import type { ReplyObserver } from '@reply/core'
import { readUIMessageStream, type UIMessageChunk } from 'ai'
import { createCounter } from '../counter.ts'
import { readFloor } from '../floor.ts'
import type { Effort, Goal } from '../goal.ts'
import { readLive, readParsed, readReplay } from '../pipeline.ts'
import { race } from '../rounds.ts'
import { type Chunking, chunksOf } from '../stream/chunk.ts'
import { recordedStreams } from '../stream/recorded.ts'
import { generateSecondTurn } from '../stream/second-turn.ts'
import { framesOf, generateTurn, type Turn } from '../stream/turn.ts'

type Streams = readonly (readonly Uint8Array[])[]

const sources: readonly {
  readonly id: string
  readonly what: string
  readonly streams: (chunking: Chunking) => Streams
}[] = [
  { id: 'recorded', what: 'all recordings', streams: (chunking) => recordedStreams(chunking) },
  { id: '1k', what: '1,000 deltas', streams: (chunking) => generatedStreams(1000, chunking) },
  { id: '10k', what: '10,000 deltas', streams: (chunking) => generatedStreams(10_000, chunking) },
  { id: '100k', what: '100,000 deltas', streams: (chunking) => generatedStreams(100_000, chunking) },
]

/** The same of OpenCode 2, as its preview build writes them: one frame for each piece of the model. */
const secondSources: typeof sources = [
  {
    id: 'second.recorded',
    what: 'all recordings of OpenCode 2',
    streams: (chunking) => recordedStreams(chunking, 2),
  },
  ...[1000, 10_000, 100_000].map((deltas) => ({
    id: `second.${deltas / 1000}k`,
    what: `${deltas.toLocaleString('en')} deltas of OpenCode 2`,
    streams: (chunking: Chunking) => [chunksOf(generateSecondTurn(deltas), chunking)],
  })),
]

const chunkings = [
  { id: '16k', what: '16 KB chunks', chunking: 16384, bound: { atMost: 1.25 } },
  { id: '1400', what: '1,400-byte chunks', chunking: 1400, bound: { atMost: 1.5 } },
  { id: 'frame', what: 'frame by frame', chunking: 'frame', bound: { atMost: 1.4 } },
] as const

/**
 * Recordings have three times as many whole parts and messages as deltas, and those take more than reading them: how
 * much more differs from processor to processor, 1.3 on one and 1.6 on another.
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
        measure: (effort) => raceFloor(source.streams(chunking), readLive, effort),
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
        measure: (effort) => raceFloor(source.streams(chunking), readGeneration2, effort),
      }),
    ),
  ),
  ...sources.map(
    (source): Goal => ({
      id: `replay.16k.${source.id}`,
      what: `replay() with one observer, 16 KB chunks, ${source.what}`,
      unit: '× the floor',
      bound: source.id === 'recorded' ? recordedBound : { atMost: 1.5 },
      measure: (effort) => raceFloor(source.streams(16384), readReplay, effort),
    }),
  ),
]

/** Reads chunks as a live stream of OpenCode 2. */
function readGeneration2(chunks: readonly Uint8Array[], observer: ReplyObserver): void {
  readLive(chunks, observer, 2)
}

/** Resolves with the time of `read`, as a multiple of the floor's. Rejects if either side read nothing. */
async function raceFloor(streams: Streams, read: typeof readLive | typeof readReplay, effort: Effort): Promise<number> {
  const { observer, count } = createCounter()
  const value = await race(
    () => {
      for (const chunks of streams) if (readFloor(chunks) === 0) throw new Error('The floor saw no frame.')
    },
    async () => {
      for (const chunks of streams) {
        // Awaits only asynchronous readers, so that a live one doesn't pay for a tick per stream.
        const reading = read(chunks, observer)
        if (reading) await reading
      }
    },
    effort,
  )
  if (count.units === 0 || count.settled === 0)
    throw new Error('The measured pipeline reported nothing to its observer.')
  return value
}

/** One stream of a generated run with this many deltas. */
function generatedStreams(deltas: number, chunking: Chunking): Streams {
  return [chunksOf(framesOf(generateTurn({ deltas }).events), chunking)]
}

const sizes = [
  { id: '1k', deltas: 1000, atLeast: 3, rounds: 21 },
  { id: '10k', deltas: 10_000, atLeast: 5, rounds: 9 },
  { id: '100k', deltas: 100_000, atLeast: 20, rounds: 3 },
]

/** From parsed events, compared with the AI SDK's reading of the same text in as many pieces. */
export const peerGoals: readonly Goal[] = sizes.map(({ id, deltas, atLeast, rounds }) => ({
  id: `ai-sdk.${id}`,
  what: `parsed events → one observer against readUIMessageStream of the AI SDK, ${deltas.toLocaleString('en')} deltas`,
  unit: '× as fast',
  bound: { atLeast },
  measure: (effort) => raceUIMessages(generateTurn({ deltas }), effort, rounds),
}))

/** Resolves with the AI SDK's time for a run, as a multiple of ours from parsed events. */
function raceUIMessages(turn: Turn, effort: Effort, rounds: number): Promise<number> {
  const events: readonly unknown[] = framesOf(turn.events).map((frame) => JSON.parse(frame))
  const chunks = toUIMessageChunks(turn)
  const { observer } = createCounter()
  return race(
    () => readParsed(events, observer),
    () => readUIMessages(chunks),
    effort,
    rounds,
  )
}

/** Reads all chunks through the AI SDK. Rejects if that gives no text. */
async function readUIMessages(chunks: readonly UIMessageChunk[]): Promise<void> {
  let at = 0
  const stream = new ReadableStream<UIMessageChunk>({
    pull: (controller) => {
      const chunk = chunks[at]
      at += 1
      if (chunk) controller.enqueue(chunk)
      else controller.close()
    },
  })
  let units = 0
  for await (const message of readUIMessageStream({ stream })) {
    const part = message.parts.at(-1)
    if (part?.type === 'text') units += part.text.length
  }
  if (units === 0) throw new Error('The AI SDK read no text.')
}

/** Returns a run as the AI SDK's chunks, with the same deltas, and a tool call after each text but the last. */
function toUIMessageChunks({ texts }: Turn): readonly UIMessageChunk[] {
  const steps = texts.map((deltas, index): UIMessageChunk[] => {
    const id = `text-${index}`
    const toolCallId = `call-${index}`
    const tool: UIMessageChunk[] = [
      { type: 'tool-input-start', toolCallId, toolName: 'bash' },
      { type: 'tool-input-available', toolCallId, toolName: 'bash', input: { command: 'npm test' } },
      { type: 'tool-output-available', toolCallId, output: 'ok\n'.repeat(200) },
    ]
    return [
      { type: 'start-step' },
      { type: 'text-start', id },
      ...deltas.map((delta): UIMessageChunk => ({ type: 'text-delta', id, delta })),
      { type: 'text-end', id },
      ...(index === texts.length - 1 ? [] : tool),
      { type: 'finish-step' },
    ]
  })
  return [{ type: 'start', messageId: 'message' }, ...steps.flat(), { type: 'finish' }]
}

const sessions = 1000

/** Many concurrent sessions on one stream. Frame by frame, because adjacent deltas of one part would be merged. */
export const sessionGoals: readonly Goal[] = [
  {
    id: 'sessions.1000',
    what: '1,000 sessions interleaved, against the same streams in sequence',
    unit: '× as long',
    // The objects of 1,000 open sessions don't fit into a CPU's cache: how much that costs depends on the machine.
    bound: { atMost: 2 },
    measure: raceSequence,
  },
]

/** Resolves with the time for interleaved sessions, as a multiple of that for the same sessions in sequence. */
function raceSequence(effort: Effort): Promise<number> {
  const turns = Array.from({ length: sessions }, (_, at) => generateTurn({ deltas: 100, seed: `${at}` }).events)
  const longest = Math.max(...turns.map((events) => events.length))
  const rounds = Array.from({ length: longest }, (_, at) => turns.flatMap((events) => events.slice(at, at + 1)))
  const inSequence = chunksOf(framesOf(turns.flat()), 'frame')
  const interleaved = chunksOf(framesOf(rounds.flat()), 'frame')
  return race(
    () => readSessions(inSequence),
    () => readSessions(interleaved),
    effort,
    11,
  )
}

/** Reads chunks as a live stream. Throws unless all sessions settle. */
function readSessions(chunks: readonly Uint8Array[]): void {
  const { observer, count } = createCounter()
  readLive(chunks, observer)
  if (count.settled !== sessions) throw new Error(`${count.settled} of ${sessions} replies settled.`)
}
