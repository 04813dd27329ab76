import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import { connect, type ReplyError } from '@reply/core'
import { createCounter } from '../counter.ts'
import { underLoad } from '../feed.ts'
import type { Effort, Goal } from '../goal.ts'
import { settledHeap } from '../heap.ts'
import { median, quantile } from '../rounds.ts'
import { type Answer, createServer } from '../server.ts'
import { chunksOf } from '../stream/chunk.ts'
import { generateHistory, type History } from '../stream/history.ts'
import { framesOf, generateTurn } from '../stream/turn.ts'

const seconds = { full: 12, quick: 4 }
const many = { sessions: 1000, perSecond: 20 }

/** The cost of a live connection under load, in wall-clock time. */
export const liveGoals: readonly Goal[] = [
  ...[0.5, 0.99].map(
    (share): Goal => ({
      id: `latency.p${share * 100}`,
      what: `chunk received → observer called, connect() at 5,000 events/s, ${share === 0.5 ? 'median' : '99th percentile'}`,
      unit: 'ms',
      bound: { atMost: 1 },
      measure: (effort) => latency(share, effort),
    }),
  ),
  {
    id: 'load.delay',
    what: 'event loop delay, p99, 1,000 sessions at 20 events/s each over one connection, watch()',
    unit: 'ms',
    bound: { atMost: 20 },
    measure: loopDelay,
  },
  {
    id: 'load.cpu',
    what: 'CPU time for that, including garbage collection',
    unit: '% of a core',
    bound: { atMost: 100 },
    measure: loadCpuShare,
  },
]

/**
 * Resolves with a quantile of the time from a chunk to the observer, in ms. Ten sessions in turn, so that no adjacent
 * deltas are merged and the observer is called for each event.
 */
async function latency(share: number, effort: Effort): Promise<number> {
  let receivedAt = 0
  let delaysMs: number[] = []
  const observer = { partChanged: () => void delaysMs.push(performance.now() - receivedAt) }
  await underLoad(
    { sessions: 10, perSecond: 500, seconds: seconds[effort] },
    {
      observe: () => observer,
      onChunk: () => {
        receivedAt = performance.now()
      },
      onWarm: () => {
        delaysMs = []
      },
    },
  )
  return quantile(delaysMs, share)
}

/**
 * Resolves with the 99th percentile of the event loop's delay under the load of `many`, in ms: the time between two
 * samples a millisecond apart, that millisecond included.
 */
async function loopDelay(effort: Effort): Promise<number> {
  const histogram = monitorEventLoopDelay({ resolution: 1 })
  histogram.enable()
  await underLoad(
    { ...many, seconds: seconds[effort] },
    { observe: () => createCounter().observer, onWarm: () => histogram.reset() },
  )
  histogram.disable()
  return histogram.percentile(99) / 1e6
}

/** Resolves with the CPU time under the load of `many`, in percent of a core, without the warm-up. */
async function loadCpuShare(effort: Effort): Promise<number> {
  let start = 0
  let before = process.cpuUsage()
  await underLoad(
    { ...many, seconds: seconds[effort] },
    {
      observe: () => createCounter().observer,
      onWarm: () => {
        start = performance.now()
        before = process.cpuUsage()
      },
    },
  )
  const { user, system } = process.cpuUsage(before)
  return ((user + system) / 1000 / (performance.now() - start)) * 100
}

const resyncRounds = { full: 15, quick: 5 }

/** Recovering from a lost connection. */
export const resyncGoals: readonly Goal[] = [
  {
    id: 'resync.1000',
    what: 'resync of a session with 1,000 messages (median), including fetching and JSON.parse',
    unit: 'ms of CPU',
    bound: { atMost: 150 },
    measure: resyncMs,
  },
]

/**
 * Cuts the stream, which comes back at once. Resolves with the median CPU time from the cut until the reply is live
 * again, in ms.
 */
async function resyncMs(effort: Effort): Promise<number> {
  const { sessionID, restAnswers } = generateHistory(1000)
  const server = createServer(restAnswers)
  let reportLive = (): void => {}
  const client = connect({
    url: 'http://127.0.0.1:4096',
    fetch: server.fetch,
    backOff: { minMs: 1, maxMs: 1 },
    // Lost connections are intended, but a failed resync never ends.
    onError: () => {},
  })
  let received = 0
  client.watch(
    { sessionID },
    {
      observe: (reply) => {
        received += reply.messages.length
        return [{ connectionChanged: ({ connection }) => void (connection === 'live' && reportLive()) }]
      },
    },
  )
  await client.ready
  const times: number[] = []
  // The first ones warm up.
  for (let at = -3; at < resyncRounds[effort]; at++) {
    const before = process.cpuUsage()
    await new Promise<void>((resolve) => {
      reportLive = resolve
      server.cut()
    })
    const { user, system } = process.cpuUsage(before)
    if (at >= 0) times.push((user + system) / 1000)
  }
  await client.close()
  if (received === 0) throw new Error('The running session was not read.')
  return median(times)
}

const blockRounds = { full: 11, quick: 3 }
const messages = 20_000

/** Prompting a session with a long history. */
export const historyGoals: readonly Goal[] = [
  {
    id: 'history.20000',
    what: 'longest block of the event loop while a session of 20,000 messages is prompted (median)',
    unit: 'ms',
    bound: { atMost: 50 },
    measure: (effort) => longestBlock(effort, paged),
  },
  {
    id: 'history.20000.limit',
    what: 'the same on a server before 1.2, which supports a limit but no paging',
    unit: 'ms',
    bound: { atMost: 50 },
    measure: (effort) => longestBlock(effort, unpaged),
  },
]

/** Answers with pages like those of servers from 1.2 on: the newest messages, or those before a cursor. */
function paged({ messages }: History): Answer {
  return (query) => {
    const end = Number(query.get('before') ?? messages.length)
    const begin = query.has('limit') ? Math.max(0, end - Number(query.get('limit'))) : 0
    const headers = begin > 0 ? { 'x-next-cursor': String(begin) } : undefined
    return jsonList(messages.slice(begin, end), headers)
  }
}

/** Answers like servers before 1.2, without pages: the newest messages up to the limit, or all of them. */
function unpaged({ messages }: History): Answer {
  return (query) => jsonList(query.has('limit') ? messages.slice(-Number(query.get('limit'))) : messages)
}

/** Returns a response with these JSON texts as a list. */
function jsonList(jsonTexts: readonly string[], headers: Record<string, string> = {}): Response {
  return new Response(`[${jsonTexts.join(',')}]`, { headers: { 'content-type': 'application/json', ...headers } })
}

/**
 * Resolves with the median of the longest blocks of the event loop, in ms, from the prompt until it is posted, with a
 * client that doesn't know the session yet.
 */
async function longestBlock(effort: Effort, serve: (history: History) => Answer): Promise<number> {
  const history = generateHistory(messages)
  const { sessionID, restAnswers } = history
  const longest: number[] = []
  for (let round = 0; round < blockRounds[effort]; round++) {
    let posted = (): void => {}
    const isPosted = new Promise<void>((resolve) => {
      posted = resolve
    })
    const server = createServer({
      ...restAnswers,
      '/session/status': '{}',
      [`/session/${sessionID}/message`]: serve(history),
      [`/session/${sessionID}/prompt_async`]: () => {
        posted()
        return new Response(null, { status: 204 })
      },
    })
    const client = connect({ url: 'http://127.0.0.1:4096', fetch: server.fetch })
    await client.ready
    const histogram = monitorEventLoopDelay({ resolution: 1 })
    histogram.enable()
    await waitForSamples(histogram)
    histogram.reset()
    const stream = client.prompt({ sessionID, text: 'Go on.' })
    await isPosted
    await waitForSamples(histogram)
    histogram.disable()
    longest.push(histogram.max / 1e6)
    await client.close()
    await stream.result
  }
  return median(longest)
}

/** Waits for two more samples, because a block is only recorded by the sample after it. */
async function waitForSamples(histogram: IntervalHistogram): Promise<void> {
  const before = histogram.count
  while (histogram.count < before + 2) await new Promise((resolve) => setTimeout(resolve, 1))
}

/** Fills the deliberate caches first: the last settled replies, the last ids of a session's messages. */
const replies = { full: { first: 2000, all: 12_000 }, quick: { first: 2000, all: 4000 } }

/** The memory that settled replies leave behind under `watch` with its defaults. */
export const heapGoals: readonly Goal[] = [
  {
    id: 'heap.sessions',
    what: 'heap under watch() after 10,000 more settled replies, each in its own session',
    unit: '× as large',
    bound: { atMost: 1.05 },
    measure: (effort) => heapGrowth(effort, false),
  },
  {
    id: 'heap.session',
    what: 'heap under watch() after 10,000 more settled replies in one session',
    unit: '× as large',
    bound: { atMost: 1.05 },
    measure: (effort) => heapGrowth(effort, true),
  },
]

/** Resolves with the heap after all replies, as a multiple of that after the first ones. */
async function heapGrowth(effort: Effort, isOneSession: boolean): Promise<number> {
  const server = createServer()
  const client = connect({ url: 'http://127.0.0.1:4096', fetch: server.fetch, onError: rethrowUnlessRefused })
  const { observer, count } = createCounter()
  client.watch({}, { observe: () => [observer] })
  await client.ready
  const { first, all } = replies[effort]
  let before = 0
  let sent = 0
  for (let at = 0; at < all; at++) {
    if (at === first) before = await settledHeap()
    const turn = generateTurn({
      deltas: 40,
      partDeltas: 20,
      seed: `${at}`,
      ...(isOneSession && { sessionID: 'ses_1fd2theone', isNew: at === 0 }),
      // A minute apart, like a person's turns: new messages of a session are recognized by their time.
      at: 1_790_000_000_000 + at * 60_000,
    })
    server.send(chunksOf(framesOf(turn.events, sent), 1400))
    sent += turn.events.length
    while (count.settled <= at) await new Promise((resolve) => setImmediate(resolve))
  }
  const after = await settledHeap()
  await client.close()
  return after / before
}

/**
 * Throws any error but `refused`. After connecting, the client reads a running reply again, and this server can't
 * answer that.
 */
function rethrowUnlessRefused(error: ReplyError): void {
  if (error.type !== 'refused') throw error
}
