import { connect } from '@reply/core'
import type { Effort, Goal } from '../goal.ts'
import { median } from '../rounds.ts'
import { createServer } from '../server.ts'
import { generateHistory } from '../stream/history.ts'

const rounds = { full: 15, quick: 5 }

/** Recovering from a lost connection. */
export const resyncGoals: readonly Goal[] = [
  {
    id: 'resync.1000',
    what: 'resync of a session with 1,000 messages (median), including fetching and JSON.parse',
    unit: 'ms of CPU',
    bound: { atMost: 150 },
    measure: resyncs,
  },
]

/** Cuts the stream, which comes back at once. Measures from the cut until the reply is live again. */
async function resyncs(effort: Effort): Promise<number> {
  const { sessionID, rest } = generateHistory(1000)
  const server = createServer(rest)
  let reportLive = (): void => {}
  const opencode = connect({
    url: 'http://127.0.0.1:4096',
    fetch: server.fetch,
    backOff: { minMs: 1, maxMs: 1 },
    // Lost connections are intended; a failed resync never ends.
    onError: () => {},
  })
  let received = 0
  opencode.watch(
    { sessionID },
    {
      observe: (reply) => {
        received += reply.messages.length
        return [{ connectionChanged: ({ connection }) => void (connection === 'live' && reportLive()) }]
      },
    },
  )
  await opencode.ready
  const times: number[] = []
  // The first ones warm up.
  for (let at = -3; at < rounds[effort]; at++) {
    const before = process.cpuUsage()
    await new Promise<void>((resolve) => {
      reportLive = resolve
      server.cut()
    })
    const { user, system } = process.cpuUsage(before)
    if (at >= 0) times.push((user + system) / 1000)
  }
  await opencode.close()
  if (received === 0) throw new Error('The running session was not read.')
  return median(times)
}
