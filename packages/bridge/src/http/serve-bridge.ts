import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Bridge } from '../bridge-options.ts'
import type { BridgeMetrics } from '../events/metrics.ts'

/** What to serve, and where. */
export interface ServeOptions {
  /** Tells its state, and takes the requests of platforms. */
  readonly bridge: Pick<Bridge, 'status' | 'listener'>
  /** Shown at `/metrics`. Default: no metrics, and 404 there. */
  readonly metrics?: Pick<BridgeMetrics, 'text' | 'contentType'> | undefined
  /** Default `127.0.0.1`: this computer alone. */
  readonly host?: string | undefined
  /** 0 takes a free one. */
  readonly port: number
}

/** A server that listens. */
export interface ServedBridge {
  /** Its address, such as `http://127.0.0.1:9464`. */
  readonly url: string
  /** Stops listening, and cuts what is open. */
  close(): Promise<void>
}

/**
 * Serves what operators and platforms ask a bridge: `/healthz` (200 until it has stopped), `/readyz` (200 while it hears
 * the chats), `/metrics` (Prometheus text), and `/webhooks/<channel>` for channels that hear by requests. Put TLS in front
 * of it for platforms. Rejects if the address can't be listened on.
 */
export async function serveBridge(options: ServeOptions): Promise<ServedBridge> {
  const { bridge, metrics, host = '127.0.0.1', port } = options
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const at = server.address()
  // Only a server on a pipe has a text here.
  const { address, family, port: taken } = typeof at === 'object' && at ? at : { address: host, family: '', port }
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`,
    close: async () => {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    const [, channel] = /^\/webhooks\/([\w-]+)$/.exec(pathname) ?? []
    if (channel !== undefined) return bridge.listener(channel)(request, response)
    const status = bridge.status()
    switch (pathname) {
      case '/healthz':
        return answer(response, status === 'stopped' ? 503 : 200, status)
      case '/readyz':
        return answer(response, status === 'ready' ? 200 : 503, status)
      case '/metrics':
        if (metrics) return answer(response, 200, await metrics.text(), metrics.contentType)
    }
    answer(response, 404, 'not found')
  }
}

function answer(response: ServerResponse, status: number, text: string, type = 'text/plain; charset=utf-8'): void {
  response.writeHead(status, { 'content-type': type }).end(text.endsWith('\n') ? text : `${text}\n`)
}
