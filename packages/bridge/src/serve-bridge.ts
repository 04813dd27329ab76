import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { isIP } from 'node:net'
import { toNodeListener } from '@reply/web'
import type { Bridge, BridgeStatus } from './bridge.ts'
import { disconnectedMessage } from './chats/channel-status.ts'
import type { BridgeMetrics } from './events/metrics.ts'

/** Options of `serveBridge`. */
export interface ServeOptions {
  /** The bridge whose status, webhooks and pages are served. */
  readonly bridge: Pick<Bridge, 'status' | 'listener'> & Partial<Pick<Bridge, 'page'>>
  /** Served at `/metrics`. Default: none, so `/metrics` responds with 404. */
  readonly metrics?: Pick<BridgeMetrics, 'text' | 'contentType'> | undefined
  /** The address to listen on. Default: `127.0.0.1`, which only this computer can reach. */
  readonly host?: string | undefined
  /** The port to listen on. 0 chooses a free one. */
  readonly port: number
  /**
   * `webhooks`: only `/webhooks/<channel>`. `health`: health and metrics. `pages`: only the pages of runs. `public`: webhooks and pages.
   * Default: `all`.
   */
  readonly serves?: 'all' | 'webhooks' | 'health' | 'pages' | 'public' | undefined
  /**
   * Host names that can be used to request health and metrics, besides `localhost`, `host` and any IP address. This stops
   * web pages from reading them through a name that resolves to this computer. Webhooks are signed and accept any name.
   * Default: none.
   */
  readonly allowedHosts?: readonly string[] | undefined
  /** Limits of connections. Each has its own default. */
  readonly limits?: Partial<ServeLimits> | undefined
}

/** Limits of connections. */
export interface ServeLimits {
  /** How long the head of a request may take, in ms. Default: 10,000. */
  readonly headMs: number
  /** How long a whole request may take, in ms. A response that is not read is aborted after twice that. Default: 20,000. */
  readonly requestMs: number
  /** How long a connection may stay open without a request, in ms. Default: 5,000. */
  readonly idleMs: number
  /**
   * The most connections at the same time. Further ones are closed immediately. Pages use half of them at most, unless nothing else is
   * served, because each open page holds one as long as its run goes on. Default: 512.
   */
  readonly maxConnections: number
}

/** A server that `serveBridge` started. */
export interface ServedBridge {
  /** The address of the server, for example `http://127.0.0.1:9464`. */
  readonly url: string
  /** Stops listening and closes all connections. */
  close(): Promise<void>
}

const defaultLimits: ServeLimits = { headMs: 10_000, requestMs: 20_000, idleMs: 5000, maxConnections: 512 }

/** The largest head of a request, in bytes, and how many headers it may have. Platforms send less than 2 KiB. */
const headBytes = 16_384
const maxHeaders = 100

/**
 * Serves the health, metrics and webhooks of a bridge over HTTP:
 *
 * - `/healthz`: 200 until the bridge has stopped.
 * - `/readyz`: 200 while it works and all channels receive messages, here or in another process. Otherwise 503 with the problems.
 * - `/readyz/<channel>`: the same for one channel.
 * - `/metrics`: metrics in the Prometheus text format.
 * - `/webhooks/<channel>`: requests of the channel's platform. Put TLS in front.
 * - Every other path: the pages of runs, if the config has `web`. Put TLS in front.
 *
 * Health and metrics respond with 421 to a `Host` that is not allowed. Rejects if it can't listen on the address.
 */
export async function serveBridge(options: ServeOptions): Promise<ServedBridge> {
  const { bridge, metrics, host = '127.0.0.1', port, serves = 'all' } = options
  const { headMs, requestMs, idleMs, maxConnections } = { ...defaultLimits, ...options.limits }
  const pages = bridge.page && toNodeListener(bridge.page)
  const mostPages = serves === 'pages' ? maxConnections : Math.floor(maxConnections / 2)
  let openPages = 0
  const allowedNames = new Set(['localhost', host, ...(options.allowedHosts ?? [])].map(plainName))
  const server = createServer(
    {
      headersTimeout: headMs,
      requestTimeout: requestMs,
      keepAliveTimeout: idleMs,
      // How often Node checks for requests that exceed the limits.
      connectionsCheckingInterval: Math.min(1000, headMs),
      maxHeaderSize: headBytes,
    },
    (request, response) => {
      handleRequest(request, response).catch(() => response.destroy())
    },
  )
  // Closes the socket without a response, so it is longer than `requestTimeout`, which responds with 408.
  server.timeout = 2 * requestMs
  server.maxHeadersCount = maxHeaders
  server.maxConnections = maxConnections
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const at = server.address()
  // The address of a server on a pipe is a string.
  const { address, family, port: actualPort } = typeof at === 'object' && at ? at : { address: host, family: '', port }
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${actualPort}`,
    close: async () => {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }

  /**
   * Responds to one request. Webhooks take any method and host. Everything else takes GET and HEAD with an allowed host.
   * Responds with 404 to paths that `serves` leaves out, and to metrics if there are none.
   */
  async function handleRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = ''] = (request.url ?? '').split('?')
    const [, channel] = /^\/webhooks\/([\w-]+)$/.exec(path) ?? []
    if (channel !== undefined && serves !== 'health' && serves !== 'pages')
      return bridge.listener(channel)(request, response)
    const isHealth = /^\/(?:healthz|readyz|readyz\/[\w-]+|metrics)$/.test(path)
    if (pages && (serves === 'pages' || serves === 'public' || (serves === 'all' && !isHealth)))
      return servePage(pages, request, response)
    if (!isHealth || serves === 'webhooks' || serves === 'pages' || serves === 'public')
      return respond(response, 404, 'not found')
    if (!isHostAllowed(request.headers.host)) return respond(response, 421, wrongHost)
    if (request.method !== 'GET' && request.method !== 'HEAD') return respond(response, 405, 'Use GET.')
    const status = bridge.status()
    const { state, problems } = status
    if (path === '/healthz') return respond(response, state === 'stopped' ? 503 : 200, state)
    if (path === '/readyz') return respond(response, state === 'ready' ? 200 : 503, [state, ...problems].join('\n'))
    if (path !== '/metrics') return respondForChannel(path.slice('/readyz/'.length), status, response)
    if (!metrics) return respond(response, 404, 'not found')
    respond(response, 200, await metrics.text(), { type: metrics.contentType })
  }

  /** Serves a request for the pages, unless as many as may be are being answered. Webhooks and health then still get through. */
  function servePage(pages: RequestListener, request: IncomingMessage, response: ServerResponse): void {
    if (openPages >= mostPages) {
      response.setHeader('retry-after', '5')
      return respond(response, 503, 'Too many pages are open. Try again.', { close: true })
    }
    openPages += 1
    response.once('close', () => {
      openPages -= 1
    })
    pages(request, response)
  }

  /**
   * Whether a `Host` is allowed: an IP address, one of the allowed names, or none. Only browsers need the check, and they
   * always send a Host. The health checks of some load balancers send none.
   */
  function isHostAllowed(hostHeader: string | undefined): boolean {
    if (hostHeader === undefined) return true
    const [, name = ''] = /^(\[[\da-f:.]+\]|[^:/?#@[\]\s]+)(?::\d+)?$/i.exec(hostHeader) ?? []
    return isIP(name.replace(/^\[|\]$/g, '')) !== 0 || allowedNames.has(plainName(name))
  }
}

const wrongHost = 'This host name is not allowed. Use an IP address or localhost, or allow the name with --allow-host.'

/**
 * Responds with the status of one channel: 200 if it receives messages here or elsewhere, otherwise 503 with the reason. Responds with 503 while
 * the bridge is not running, and with 404 for an unknown channel.
 */
function respondForChannel(channel: string, { state, channels }: BridgeStatus, response: ServerResponse): void {
  if (state !== 'ready' && state !== 'disconnected') return respond(response, 503, state)
  const one = Object.hasOwn(channels, channel) ? channels[channel] : undefined
  if (!one) return respond(response, 404, 'not found')
  if (one.status !== 'disconnected') return respond(response, 200, one.status)
  respond(response, 503, `${one.status}\n${disconnectedMessage(channel, one)}`)
}

/** Returns a host name in lower case and without a final dot. */
function plainName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

/**
 * Sends a text, which ends with a line break. With `close`, closes the connection instead of reading the rest of the request. Default: after
 * a status from 400 on, except 503.
 */
function respond(
  response: ServerResponse,
  status: number,
  text: string,
  {
    type = 'text/plain; charset=utf-8',
    close = status >= 400 && status !== 503,
  }: { readonly type?: string | undefined; readonly close?: boolean } = {},
): void {
  const headers = { 'content-type': type, ...(close && { connection: 'close' }) }
  response.writeHead(status, headers).end(text.endsWith('\n') ? text : `${text}\n`)
}
