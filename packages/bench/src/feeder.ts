import { createRecordedServer } from '@reply/testing'
import { serveFetch } from '@reply/testing/internal'
import { framesOf, generateTurn } from './stream/turn.ts'

/**
 * `feeder.js SESSIONS PER_SECOND SECONDS`: an OpenCode server in its own process, so that sending doesn't disturb the
 * measurements. Prints its address. A client of the event stream gets that many concurrent sessions, each with that
 * many events a second. Sends all due events every millisecond, so a delayed feeder catches up.
 */
const [sessions = 1, perSecond = 1, seconds = 1] = process.argv.slice(2).map(Number)
const turns = Array.from({ length: sessions }, (_, at) => {
  return generateTurn({ deltas: perSecond * seconds, seed: `${at}` }).events
})
const longest = Math.max(...turns.map((events) => events.length))
const rounds = Array.from({ length: longest }, (_, at) => turns.flatMap((events) => events.slice(at, at + 1)))
const frames = framesOf(rounds.flat()).map((frame) => `data: ${frame}\n\n`)

const recorded = createRecordedServer({ bytes: new TextEncoder().encode(frames.join('')) })
const { url } = await serveFetch(async (input, init) => {
  const response = await recorded.fetch(input, init)
  // Waits until the client has finished its first requests.
  if (response.headers.get('content-type') === 'text/event-stream') setTimeout(publishDueEvents, 1000)
  return response
})
process.stdout.write(`${url}\n`)

/** Publishes the events that are due, every millisecond, until all are published. */
function publishDueEvents(): void {
  const start = performance.now()
  const timer = setInterval(() => {
    const due = Math.min(recorded.length, Math.floor(((performance.now() - start) * sessions * perSecond) / 1000))
    recorded.publish(due - recorded.published)
    if (recorded.published === recorded.length) clearInterval(timer)
  }, 1)
}
