import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { TestingError, type TestingFailure } from '../error.ts'

/** A server on loopback that a fake answers with. */
interface FakeServer {
  readonly server: Server
  /** `http://127.0.0.1:…`, once it listens. Empty before. */
  readonly origin: string
  /** Listens on a free port, which `origin` then names. Rejects if there is none. */
  listen(): Promise<void>
  /** Breaks open connections and stops listening. */
  close(): Promise<void>
}

/** Answers a request. `gone` aborts when the client disconnects. */
export type Handler = (request: IncomingMessage, response: ServerResponse, gone: AbortSignal) => Promise<void>

/** Creates a server that doesn't listen yet. Destroys the connection of a request if its `handle` rejects. */
export function createFakeServer(platform: TestingFailure, handle: Handler): FakeServer {
  const server = createServer((request, response) => {
    // The client may disconnect while a response is being written.
    response.on('error', () => {})
    const gone = new AbortController()
    response.on('close', () => gone.abort())
    // Errors of a call are answered, so the client has disconnected.
    handle(request, response, gone.signal).catch(() => response.destroy())
  })
  // Never times out idle connections: closing one just as it is reused would be an unplanned fault.
  server.keepAliveTimeout = 0
  server.requestTimeout = 0
  let origin = ''
  return {
    server,
    get origin() {
      return origin
    },
    listen: () =>
      new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen(0, '127.0.0.1', () => {
          const address = server.address()
          if (address === null || typeof address !== 'object')
            return reject(new TestingError(platform, `The fake ${platform} could not get a port on 127.0.0.1.`))
          origin = `http://127.0.0.1:${address.port}`
          resolve()
        })
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** The response to a call. */
export interface HttpAnswer {
  readonly status: number
  /** Absent for a response without content. */
  readonly body?: string
  /** The content type. Default "application/json". */
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends the whole response. Does nothing if the client has disconnected. */
export function sendAnswer(response: ServerResponse, { status, body, type, headers }: HttpAnswer): void {
  if (response.destroyed) return
  response.writeHead(status, { ...headers, ...(body !== undefined && { 'content-type': type ?? 'application/json' }) })
  response.end(body)
}
