import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import { connect } from '@reply/core'
import type { Effort, Goal } from '../goal.ts'
import { median } from '../rounds.ts'
import { type Answer, createServer } from '../server.ts'
import { generateHistory, type History } from '../stream/history.ts'

const rounds = { full: 11, quick: 3 }
const messages = 20_000

/** Prompting a session with a long history. */
export const historyGoals: readonly Goal[] = [
  {
    id: 'history.20000',
    what: 'longest block of the event loop while a session of 20,000 messages is prompted (median)',
    unit: 'ms',
    bound: { atMost: 50 },
    measure: (effort) => blocks(effort, paged),
  },
  {
    id: 'history.20000.limit',
    what: 'the same on a server before 1.2, which supports a limit but no paging',
    unit: 'ms',
    bound: { atMost: 50 },
    measure: (effort) => blocks(effort, limited),
  },
]

/** Pages like those of servers from 1.2 on: the newest messages, or those before a cursor. */
function paged({ messages }: History): Answer {
  return (query) => {
    const end = Number(query.get('before') ?? messages.length)
    const begin = query.has('limit') ? Math.max(0, end - Number(query.get('limit'))) : 0
    const headers = begin > 0 ? { 'x-next-cursor': String(begin) } : undefined
    return answer(messages.slice(begin, end), headers)
  }
}

function limited({ messages }: History): Answer {
  return (query) => answer(query.has('limit') ? messages.slice(-Number(query.get('limit'))) : messages)
}

function answer(some: readonly string[], headers: Record<string, string> = {}): Response {
  return new Response(`[${some.join(',')}]`, { headers: { 'content-type': 'application/json', ...headers } })
}

/** From the prompt until it is posted, with a client that doesn't know the session yet. */
async function blocks(effort: Effort, serve: (history: History) => Answer): Promise<number> {
  const history = generateHistory(messages)
  const { sessionID, rest } = history
  const longest: number[] = []
  for (let round = 0; round < rounds[effort]; round++) {
    let posted = (): void => {}
    const isPosted = new Promise<void>((resolve) => {
      posted = resolve
    })
    const server = createServer({
      ...rest,
      '/session/status': '{}',
      [`/session/${sessionID}/message`]: serve(history),
      [`/session/${sessionID}/prompt_async`]: () => {
        posted()
        return new Response(null, { status: 204 })
      },
    })
    const opencode = connect({ url: 'http://127.0.0.1:4096', fetch: server.fetch })
    await opencode.ready
    const histogram = monitorEventLoopDelay({ resolution: 1 })
    histogram.enable()
    await looks(histogram)
    histogram.reset()
    const stream = opencode.prompt({ sessionID, text: 'Go on.' })
    await isPosted
    await looks(histogram)
    histogram.disable()
    longest.push(histogram.max / 1e6)
    await opencode.close()
    await stream.result
  }
  return median(longest)
}

/** Waits for two more samples, because a block is only recorded by the sample after it. */
async function looks(histogram: IntervalHistogram): Promise<void> {
  const before = histogram.count
  while (histogram.count < before + 2) await new Promise((resolve) => setTimeout(resolve, 1))
}
