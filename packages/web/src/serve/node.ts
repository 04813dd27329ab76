import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/**
 * Turns a function from web requests to web responses into a listener for Node's HTTP servers. A response is read as fast as the
 * client takes it, and its stream ends when the client goes away.
 */
export function toNodeListener(handle: (request: Request) => Promise<Response>): RequestListener {
  return async (incoming, outgoing) => {
    try {
      const response = await handle(toRequest(incoming, outgoing))
      outgoing.writeHead(response.status, Object.fromEntries(response.headers)).flushHeaders()
      if (response.body) await pipeline(response.body, outgoing)
      else outgoing.end()
    } catch {
      // The client went away, or sent what is not a web request, such as the method TRACE.
      if (!outgoing.headersSent) outgoing.writeHead(400)
      outgoing.end()
    }
  }
}

/** Its signal aborts when the client goes away. */
function toRequest(incoming: IncomingMessage, outgoing: ServerResponse): Request {
  const gone = new AbortController()
  outgoing.once('close', () => gone.abort())
  const { method = 'GET', headers } = incoming
  const url = `http://localhost${incoming.url ?? '/'}`
  return new Request(URL.canParse(url) ? url : 'http://localhost/', {
    method,
    headers: Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
    ...(method !== 'GET' && method !== 'HEAD' && { body: Readable.toWeb(incoming), duplex: 'half' as const }),
    signal: gone.signal,
  })
}
