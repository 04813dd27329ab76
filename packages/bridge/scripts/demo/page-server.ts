import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { actIn } from './action.ts'
import type { Chat } from './chats/chat.ts'
import { createFeed } from './feed.ts'
import { pageFiles } from './page-files.ts'
import { RequestError } from './request-error.ts'
import type { ChatView, Suggestion } from './view.ts'

/** Options of `servePage`. */
export interface PageOptions {
  /** 0: any free one. */
  readonly port: number
  readonly chats: readonly Chat[]
  readonly view: (chat: Chat) => ChatView
  readonly observe: (listener: () => void) => () => void
  readonly suggestions: readonly Suggestion[]
}

/** A page that is served. */
export interface Page {
  readonly url: string
  /** Stops listening, and ends all connections. */
  close(): Promise<void>
}

/** The longest request that is read, in bytes. */
const maxBytes = 100_000

/** The page runs only its own files, talks only to its server, and can't be framed. */
const headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
}

/** Serves the demo's page on loopback. Rejects if the port is taken. */
export async function servePage(options: PageOptions): Promise<Page> {
  const { chats, view, observe, suggestions } = options
  const feed = createFeed({ chats, view, observe, suggestions })
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      if (response.headersSent) return void response.destroy()
      const message = error instanceof Error ? error.message : String(error)
      answer(response, error instanceof RequestError ? error.status : 409, { error: message })
    })
  })
  const port = await listen(server, options.port)
  const hosts = new Set([`127.0.0.1:${port}`, `localhost:${port}`])
  return {
    url: `http://127.0.0.1:${port}/`,
    close: async () => {
      feed.close()
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
    },
  }

  /**
   * Responds to one request: GET for files and events, POST for actions. Rejects with a `RequestError` for others, and like
   * `checkOrigin`, `readJson` and `actIn`.
   */
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '/' } = request
    checkOrigin(request, hosts)
    const { pathname } = new URL(url, 'http://127.0.0.1')
    const file = pageFiles[pathname]
    if (method === 'GET' && file) {
      response.writeHead(200, { ...headers, 'content-type': file.type })
      response.end(await file.read())
    } else if (method === 'GET' && pathname === '/events') {
      response.writeHead(200, { ...headers, 'content-type': 'text/event-stream; charset=utf-8' })
      feed.add(response)
    } else if (method === 'POST') {
      answer(response, 200, await actIn(chats, pathname, await readJson(request)))
    } else throw new RequestError(404, `There is no ${method} ${pathname}.`)
  }
}

/**
 * Throws a `RequestError` unless the request comes from the page itself or opens it: the server can make an agent run things. A
 * name that an attacker's DNS server points to loopback is refused by its Host, and another site's script by its Origin. A POST
 * needs the page's own Origin and JSON.
 */
function checkOrigin(
  { headers: { host = '', origin, 'content-type': type }, method }: IncomingMessage,
  hosts: ReadonlySet<string>,
): void {
  if (!hosts.has(host)) throw new RequestError(403, 'This server answers only to its loopback address.')
  const isOwn = origin === `http://${host}`
  if (origin !== undefined && !isOwn) throw new RequestError(403, 'Only the page of this server may call it.')
  if (method !== 'POST') return
  if (!isOwn) throw new RequestError(403, 'Only the page of this server may call it.')
  if (type !== 'application/json') throw new RequestError(415, 'Send JSON.')
}

/** Reads the body as JSON. Rejects with a `RequestError`: 413 beyond `maxBytes`, 400 if it is not JSON. */
async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new RequestError(413, `A request may have ${maxBytes} bytes.`)
    chunks.push(chunk)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    throw new RequestError(400, 'This is not JSON.')
  }
}

/** Responds with a status and JSON. */
function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { ...headers, 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

/** Listens on loopback, and resolves with the port. 0 chooses a free one. Rejects if the port is taken. */
export function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => {
      const isTaken = 'code' in cause && cause.code === 'EADDRINUSE'
      reject(isTaken ? new Error(`Port ${port} is taken. Give another one, or none.`, { cause }) : cause)
    })
    server.listen(port, '127.0.0.1', () => {
      const address = server.address()
      if (address !== null && typeof address === 'object') resolve(address.port)
      else reject(new Error('The page could not get a port on 127.0.0.1.'))
    })
  })
}
