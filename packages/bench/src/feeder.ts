import { createServer } from 'node:http'
import { answerOf, connected } from './server.ts'
import { framesOf, generateTurn } from './stream/turn.ts'

/**
 * `feeder.js SESSIONS PER_SECOND SECONDS`: an OpenCode server in a process of its own, so that sending disturbs nothing that
 * is measured. Prints its port. Whoever opens the event stream gets so many sessions at once, each with so many events a
 * second: what is due by the clock is sent every millisecond, so a feeder that was held up catches up.
 */
const [sessions = 1, perSecond = 1, seconds = 1] = process.argv.slice(2).map(Number)
const turns = Array.from({ length: sessions }, (_, at) => {
  return generateTurn({ deltas: perSecond * seconds, seed: `${at}` }).events
})
const longest = Math.max(...turns.map((events) => events.length))
const rounds = Array.from({ length: longest }, (_, at) => turns.flatMap((events) => events.slice(at, at + 1)))
const frames = framesOf(rounds.flat()).map((frame) => `data: ${frame}\n\n`)

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost')
  if (pathname !== '/global/event') {
    const text = answerOf(pathname)
    response.writeHead(text === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(text)
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(connected)
  request.socket.setNoDelay(true)
  response.on('close', () => process.exit())
  // Until the client has read what it wants to know first.
  setTimeout(() => send((text) => response.write(text)), 1000)
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object' && address) process.stdout.write(`${address.port}\n`)
})

function send(write: (text: string) => void): void {
  const start = performance.now()
  let sent = 0
  const timer = setInterval(() => {
    const due = Math.min(frames.length, Math.floor(((performance.now() - start) * sessions * perSecond) / 1000))
    if (due > sent) write(frames.slice(sent, due).join(''))
    sent = due
    if (sent === frames.length) clearInterval(timer)
  }, 1)
}
