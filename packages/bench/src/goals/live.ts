import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createCounter } from '../counter.ts'
import { underLoad } from '../feed.ts'
import type { Effort, Goal } from '../goal.ts'
import { quantile } from '../rounds.ts'

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
    measure: cpuShare,
  },
]

/** Ten sessions in turn, so that no adjacent deltas are merged and the observer is called for each event. */
async function latency(share: number, effort: Effort): Promise<number> {
  let received = 0
  let delays: number[] = []
  const observer = { partChanged: () => void delays.push(performance.now() - received) }
  await underLoad(
    { sessions: 10, perSecond: 500, seconds: seconds[effort] },
    {
      observe: () => observer,
      onChunk: () => {
        received = performance.now()
      },
      onWarm: () => {
        delays = []
      },
    },
  )
  return quantile(delays, share)
}

/** The time between two samples a millisecond apart, that millisecond included. */
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

async function cpuShare(effort: Effort): Promise<number> {
  let [start, before] = [0, process.cpuUsage()]
  await underLoad(
    { ...many, seconds: seconds[effort] },
    {
      observe: () => createCounter().observer,
      onWarm: () => {
        ;[start, before] = [performance.now(), process.cpuUsage()]
      },
    },
  )
  const { user, system } = process.cpuUsage(before)
  return ((user + system) / 1000 / (performance.now() - start)) * 100
}
