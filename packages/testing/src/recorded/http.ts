import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import type { ReadableStream as NodeReadableStream } from 'node:stream/web'

/**
 * Serves a `fetch`, for example that of a recorded server, on a loopback socket. Resolves with its address, and a
 * function that breaks all connections and stops it. Breaks a connection whose `fetch` or body fails, and aborts the
 * request of a client that disconnects.
 */
export async function serveFetch(
  answer: typeof fetch,
): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const server = createServer((incoming, outgoing) => {
    const gone = new AbortController()
    outgoing.on('close', () => gone.abort())
    const body = incoming.method === 'GET' || incoming.method === 'HEAD' ? null : (Readable.toWeb(incoming) as never)
    const init: RequestInit & { duplex: 'half' } = {
      method: incoming.method ?? 'GET',
      body,
      signal: gone.signal,
      duplex: 'half',
    }
    answer(`http://${incoming.headers.host}${incoming.url}`, init).then(
      (response) => {
        outgoing.writeHead(response.status, Object.fromEntries(response.headers))
        if (!response.body) return outgoing.end()
        const stream = Readable.fromWeb(response.body as NodeReadableStream)
        stream.on('error', () => outgoing.destroy())
        return stream.pipe(outgoing)
      },
      () => incoming.socket.destroy(),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.closeAllConnections()
      server.close(() => resolve())
    })
  return { url: `http://127.0.0.1:${port}`, close }
}
