import { createDispatcher, emptyTrack, type ReplyEvent, type ReplyObserver, track } from '@reply/core'
import { createCounter } from '../counter.ts'
import type { Effort, Goal } from '../goal.ts'
import { readLive } from '../pipeline.ts'
import { race } from '../rounds.ts'
import { type Chunking, chunksOf } from '../stream/chunk.ts'
import { eventsOfAsks, eventsOfCalls, eventsOfParts } from '../stream/many.ts'
import { framesOf, generateTurn } from '../stream/turn.ts'

/** How the cost grows with the length of a reply. */
export const growthGoals: readonly Goal[] = [
  {
    id: 'growth.16k',
    what: '100,000 deltas against 10,000, 16 KB chunks',
    unit: '× as long',
    bound: { atMost: 12 },
    measure: (effort) => readRatio(16384, effort),
  },
  {
    id: 'growth.frame',
    what: '100,000 deltas against 10,000, frame by frame',
    unit: '× as long',
    bound: { atMost: 12 },
    measure: (effort) => readRatio('frame', effort),
  },
  {
    id: 'growth.reading',
    what: 'the same, with an observer that reads the whole open text every 50 ms of a stream of 5,000 deltas/s',
    unit: '× as long',
    bound: { atMost: 20 },
    measure: (effort) => readRatio('frame', effort, 5000),
  },
  {
    id: 'growth.parts',
    what: '20,000 parts in one message against 2,500, through track, reduce and dispatch',
    unit: '× as long',
    // Eight times the parts, and each may take 1.5 times as long.
    bound: { atMost: 12 },
    measure: (effort) => trackRatio(effort, eventsOfParts(2500), eventsOfParts(20_000)),
  },
  {
    id: 'growth.calls',
    what: '5,000 calls in one message, each with a permission that is asked and answered, against 1,250',
    unit: '× as long',
    // Four times the calls. Each ask copies the list of asks.
    bound: { atMost: 8 },
    measure: (effort) => trackRatio(effort, eventsOfCalls(1250), eventsOfCalls(5000)),
  },
  {
    id: 'growth.asks',
    what: 'an event of an ask while 5,000 wait at once, against one while 50 do',
    unit: '× as long',
    // Each ask copies the list of those that wait. An event must stay cheap, however many wait.
    bound: { atMost: 5 },
    measure: async (effort) => (await trackRatio(effort, eventsOfAsks(50), eventsOfAsks(5000))) / (5000 / 50),
  },
  {
    id: 'cpu.100',
    what: 'that observer on a stream of 100 deltas/s, in a part of 5,000 deltas',
    unit: '% of a core',
    bound: { atMost: 1 },
    measure: () => cpuShareAt(100),
  },
]

/** Resolves with the time to reduce all of `more` to a reply, as a multiple of that for `few`. */
function trackRatio(effort: Effort, few: readonly ReplyEvent[], more: readonly ReplyEvent[]): Promise<number> {
  return race(
    () => trackAll(few),
    () => trackAll(more),
    effort,
    5,
  )
}

/** Passes events through the reduction to an observer, as a driver does. */
function trackAll(events: readonly ReplyEvent[]): void {
  const dispatcher = createDispatcher()
  dispatcher.observe(createCounter().observer)
  let state = emptyTrack()
  for (const event of events) {
    const tracked = track(state, event)
    state = tracked.state
    for (const step of tracked.steps) dispatcher.dispatch(step)
  }
}

/**
 * The time for 100,000 deltas as a multiple of that for 10,000. With `perSecond`, for an observer that reads the text.
 */
function readRatio(chunking: Chunking, effort: Effort, perSecond?: number): Promise<number> {
  const chunks = (deltas: number) => chunksOf(framesOf(generateTurn({ deltas }).events), chunking)
  const short = chunks(10_000)
  const long = chunks(100_000)
  return race(
    () => readAll(short, perSecond),
    () => readAll(long, perSecond),
    effort,
    11,
  )
}

/** The CPU time of reading, in percent of the time in which a stream with that many deltas a second arrives. */
function cpuShareAt(perSecond: number): number {
  const chunks = chunksOf(framesOf(generateTurn({ deltas: 5000 }).events), 'frame')
  // Warms up once, because a real watcher has been running for a while.
  readAll(chunks, perSecond)
  const before = process.cpuUsage()
  const repeats = 10
  for (let at = 0; at < repeats; at++) readAll(chunks, perSecond)
  const { user, system } = process.cpuUsage(before)
  const streamMs = (repeats * chunks.length * 1000) / perSecond
  return ((user + system) / 1000 / streamMs) * 100
}

/**
 * Reads chunks as a live stream, one delta each. With `perSecond`, at that pace and for an observer that reads the
 * text. Throws if it never did.
 */
function readAll(chunks: readonly Uint8Array[], perSecond: number | undefined): void {
  if (perSecond === undefined) return readLive(chunks, createCounter().observer)
  // The observer uses the stream's time, the stamp of the current event, instead of a clock.
  let now = 0
  const { observer, count } = createReadingObserver(() => now)
  readLive(chunks, observer, 1, (index) => {
    now = (index * 1000) / perSecond
    return now
  })
  if (count.reads === 0) throw new Error('The reading observer never read the text.')
}

const everyMs = 50

/**
 * Returns an observer like a sink's: at most every 50 ms it reads the growing part's text and scans all of it. Counts
 * that.
 */
function createReadingObserver(now: () => number): {
  readonly observer: ReplyObserver
  readonly count: { reads: number }
} {
  const count = { reads: 0 }
  let nextReadAt = 0
  const observer: ReplyObserver = {
    partChanged: ({ part }) => {
      if (now() < nextReadAt || part.type !== 'text') return
      nextReadAt = now() + everyMs
      // A character that no text contains, so that the search scans the whole text.
      if (!part.text.includes('\u0000')) count.reads += 1
    },
  }
  return { observer, count }
}
