import { connect, type ReplyError } from '@reply/core'
import { createCounter } from '../counter.ts'
import type { Effort, Goal } from '../goal.ts'
import { createServer } from '../server.ts'
import { chunksOf } from '../stream/chunk.ts'
import { framesOf, generateTurn } from '../stream/turn.ts'

/** Fills the deliberate caches first: the last settled replies, the last ids of a session's messages. */
const replies = { full: { first: 2000, all: 12_000 }, quick: { first: 2000, all: 4000 } }

/** The memory that settled replies leave behind under `watch` with its defaults. */
export const heapGoals: readonly Goal[] = [
  {
    id: 'heap.sessions',
    what: 'heap under watch() after 10,000 more settled replies, each in its own session',
    unit: '× as large',
    bound: { atMost: 1.05 },
    measure: (effort) => afterReplies(effort, false),
  },
  {
    id: 'heap.session',
    what: 'heap under watch() after 10,000 more settled replies in one session',
    unit: '× as large',
    bound: { atMost: 1.05 },
    measure: (effort) => afterReplies(effort, true),
  },
]

async function afterReplies(effort: Effort, isOneSession: boolean): Promise<number> {
  const server = createServer()
  const opencode = connect({ url: 'http://127.0.0.1:4096', fetch: server.fetch, onError: fail })
  const { observer, count } = createCounter()
  opencode.watch({}, { observe: () => [observer] })
  await opencode.ready
  const { first, all } = replies[effort]
  let before = 0
  let sent = 0
  for (let at = 0; at < all; at++) {
    if (at === first) before = heapUsed()
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
  const after = heapUsed()
  await opencode.close()
  return after / before
}

function heapUsed(): number {
  if (!globalThis.gc) throw new Error('Run this with --expose-gc: only a collected heap can be compared.')
  globalThis.gc()
  globalThis.gc()
  return process.memoryUsage().heapUsed
}

/** Ignores `refused`: after connecting, the client reads a running reply again, which this server can't answer. */
function fail(error: ReplyError): void {
  if (error.type !== 'refused') throw error
}
