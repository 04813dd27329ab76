import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { toListener } from '../../../../examples/ui/node.ts'

/** Answers a request. Undefined for a path that it does not have. */
export type Route = (request: Request, path: string) => Promise<Response | undefined>

/** Options of `servePage`. */
export interface PageOptions {
  /** 0: any free one. */
  readonly port: number
  /** The scripts of the page, by their paths. */
  readonly bundles: Readonly<Record<string, Uint8Array>>
  /** The paths that show the page, with the path of the script of each. */
  readonly pages: Readonly<Record<string, string>>
  readonly route: Route
}

/** A page that is served. */
export interface Page {
  readonly url: string
  /** Stops listening, and ends all connections. */
  close(): Promise<void>
}

/** The page runs only its own files, talks only to its server, and can't be framed. An answer's pictures are `data:` URLs. */
const headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
}

const styles = ['base.css', 'message.css', 'markup.css', 'tools.css', 'composer.css']

/** Serves the page on loopback. Rejects if the port is taken. */
export async function servePage(options: PageOptions): Promise<Page> {
  const server = createServer(toListener(async (request) => secured(await answer(request).catch(failed))))
  const port = await listen(server, options.port)
  const hosts = new Set([`127.0.0.1:${port}`, `localhost:${port}`])
  return {
    url: `http://127.0.0.1:${port}/`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }

  /**
   * Answers one request. The server can make an agent run things, so a name that an attacker's DNS server points to loopback is
   * refused by its Host.
   */
  async function answer(request: Request): Promise<Response> {
    if (!hosts.has(request.headers.get('host') ?? ''))
      return new Response('This server answers only to its loopback address.', { status: 403 })
    const { method } = request
    const { pathname } = new URL(request.url)
    const found = (method === 'GET' ? await fileAt(pathname) : undefined) ?? (await options.route(request, pathname))
    return found ?? new Response(`There is no ${method} ${pathname}.`, { status: 404 })
  }

  /** Returns the response with a file of the page. Undefined for any other path. */
  async function fileAt(path: string): Promise<Response | undefined> {
    const script = options.pages[path]
    if (script !== undefined) {
      const html = await readFile(new URL('page/index.html', import.meta.url), 'utf8')
      return withType('text/html; charset=utf-8', html.replace('/app.js', script))
    }
    const bundle = options.bundles[path]
    if (bundle) return withType('text/javascript; charset=utf-8', Buffer.from(bundle))
    const name = path.slice(1)
    if (name === 'icon.svg') return withType('image/svg+xml', await read(name))
    return styles.includes(name) ? withType('text/css; charset=utf-8', await read(name)) : undefined
  }
}

/** Reads a file of the page again for each request, so that you see a change at once. */
async function read(name: string): Promise<Buffer<ArrayBuffer>> {
  return await readFile(new URL(`page/${name}`, import.meta.url))
}

function withType(type: string, body: string | Buffer<ArrayBuffer>): Response {
  return new Response(body, { headers: { 'content-type': type } })
}

/** The response to a request that failed. Its reader is the person at this computer, so it says why. */
function failed(error: unknown): Response {
  return new Response(error instanceof Error ? error.message : String(error), { status: 500 })
}

/** Adds the headers of every response. */
function secured({ body, status, headers: own }: Response): Response {
  return new Response(body, { status, headers: { ...headers, ...Object.fromEntries(own) } })
}

/** Listens on loopback, and resolves with the port. 0 chooses a free one. Rejects if the port is taken. */
function listen(server: Server, port: number): Promise<number> {
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
