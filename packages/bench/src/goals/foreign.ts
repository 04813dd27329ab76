import { type Client, connect, type WatchTarget } from '@reply/core'
import { createCounter } from '../counter.ts'
import { startFeeder } from '../feed.ts'
import type { Effort, Goal } from '../goal.ts'
import { median } from '../rounds.ts'
import { generateTurn } from '../stream/turn.ts'

/** A server that others keep busy: 2,000 events a second. */
const load = { sessions: 100, perSecond: 20 }
const rounds = { full: 5, quick: 1 }
/** How long a listener is measured, and before that warmed up, in ms. */
const measureMs = { full: 5000, quick: 2500 }
const warmUpMs = 2500

/** What an event of a session costs that another program works with, in CPU time with its share of the socket. */
export const foreignGoals: readonly Goal[] = [
  {
    id: 'foreign.skipped',
    what: "another program's event, follow: 'own' against 'all' without a watch, CPU time at 2,000 events/s over HTTP",
    unit: '× as long',
    bound: { atMost: 0.5 },
    measure: (effort) => raceListeners(followAll, followOwn, effort),
  },
  {
    id: 'foreign.own',
    what: 'the same, against an event that is observed',
    unit: '× as long',
    bound: { atMost: 0.5 },
    measure: (effort) => raceListeners(observeAll, followOwn, effort),
  },
  {
    id: 'foreign.bytes',
    what: 'the same, against a fetch that reads the bytes and does nothing with them',
    unit: '× as long',
    bound: { atMost: 1.5 },
    measure: (effort) => raceListeners(readBytes, followOwn, effort),
  },
]

/** Begins to listen to a server. Resolves with what ends it. */
type Listener = (url: string) => Promise<() => Promise<void>>

/** Resolves with the second listener's CPU time divided by the first's: the median of rounds that run both in turn. */
async function raceListeners(first: Listener, second: Listener, effort: Effort): Promise<number> {
  const ratios: number[] = []
  for (let round = 0; round < rounds[effort]; round++) {
    const firstMs = await cpuMsOf(first, measureMs[effort])
    const secondMs = await cpuMsOf(second, measureMs[effort])
    ratios.push(secondMs / firstMs)
  }
  return median(ratios)
}

/** Resolves with the CPU time of a warm listener under the load, in ms. */
async function cpuMsOf(listen: Listener, forMs: number): Promise<number> {
  const feeder = await startFeeder({ ...load, seconds: (warmUpMs + forMs) / 1000 + 2 })
  try {
    const stop = await listen(feeder.url)
    await sleep(warmUpMs)
    const before = process.cpuUsage()
    await sleep(forMs)
    const { user, system } = process.cpuUsage(before)
    await stop()
    return (user + system) / 1000
  } finally {
    feeder.stop()
  }
}

/** Reads the bytes and does nothing with them. Throws if there are none. */
async function readBytes(url: string): Promise<() => Promise<void>> {
  const abort = new AbortController()
  const { body } = await fetch(`${url}/global/event`, { signal: abort.signal })
  let length = 0
  const reading = (async () => {
    for await (const chunk of body ?? []) length += chunk.length
  })().catch(() => {})
  return async () => {
    abort.abort()
    await reading
    if (length === 0) throw new Error('The server sent nothing.')
  }
}

/** Reduces all sessions, without an observer. */
async function followAll(url: string): Promise<() => Promise<void>> {
  const client = connect({ url })
  await client.ready
  return async () => await client.close()
}

/** Reduces and observes all sessions. */
async function observeAll(url: string): Promise<() => Promise<void>> {
  return await observe(connect({ url }), {})
}

/** Follows one session of all. */
async function followOwn(url: string): Promise<() => Promise<void>> {
  const { sessionID } = generateTurn({ deltas: 1, seed: '0' })
  return await observe(connect({ url, follow: 'own' }), { sessionID })
}

/** Observes the target once the client is connected. Throws at the end if nothing was observed. */
async function observe(client: Client, target: WatchTarget): Promise<() => Promise<void>> {
  const { observer, count } = createCounter()
  client.watch(target, { observe: () => [observer] })
  await client.ready
  return async () => {
    await client.close()
    if (count.units === 0) throw new Error('No text was observed.')
  }
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds)
  })
}
