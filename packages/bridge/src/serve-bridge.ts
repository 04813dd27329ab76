import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { isIP } from 'node:net'
import type { Bridge, BridgeStatus } from './bridge.ts'
import { disconnectedMessage } from './chats/channel-status.ts'
import type { BridgeMetrics } from './events/metrics.ts'

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
  /** `webhooks`: only `/webhooks/<channel>`. `health`: all but that. Default `all`. */
  readonly serves?: 'all' | 'webhooks' | 'health' | undefined
  /**
   * Names by which health and metrics may be requested, besides `localhost`, `host` and any IP address. A page in a
   * browser reaches a server behind its own name, and would read them. Platforms' requests are signed and need no name.
   */
  readonly allowedHosts?: readonly string[] | undefined
  /** What a connection may take. Default: each its own. */
  readonly limits?: Partial<ServeLimits> | undefined
}

/** What a connection may take. */
export interface ServeLimits {
  /** How long a request's head may take, in ms. Default 10,000. */
  readonly headMs: number
  /** How long a whole request may take, in ms. An answer that is not read is given up after twice that. Default 20,000. */
  readonly requestMs: number
  /** How long a connection may stay open without a request, in ms. Default 5,000. */
  readonly idleMs: number
  /** The most connections at the same time. Further ones are closed at once. Default 512. */
  readonly maxConnections: number
}

/** A server that listens. */
export interface ServedBridge {
  /** Its address, such as `http://127.0.0.1:9464`. */
  readonly url: string
  /** Stops listening, and cuts what is open. */
  close(): Promise<void>
}

const defaultLimits: ServeLimits = { headMs: 10_000, requestMs: 20_000, idleMs: 5000, maxConnections: 512 }

/** Bytes of a request's head, and how many headers it may have. Platforms send less than 2 KiB. */
const headBytes = 16_384
const maxHeaders = 100

/**
 * Serves what operators and platforms ask a bridge: `/healthz` (200 until it has stopped), `/readyz` (200 while it hears
 * all chats, else 503 with what is wrong), `/readyz/<channel>` (the same for one), `/metrics` (Prometheus text), and `/webhooks/<channel>` for channels that hear by requests. Health and
 * metrics get 421 for a `Host` that is not allowed. Put TLS in front of it for platforms. Rejects if the address can't be
 * listened on.
 */
export async function serveBridge(options: ServeOptions): Promise<ServedBridge> {
  const { bridge, metrics, host = '127.0.0.1', port, serves = 'all' } = options
  const { headMs, requestMs, idleMs, maxConnections } = { ...defaultLimits, ...options.limits }
  const allowed = new Set(['localhost', host, ...(options.allowedHosts ?? [])].map(plainName))
  const server = createServer(
    {
      headersTimeout: headMs,
      requestTimeout: requestMs,
      keepAliveTimeout: idleMs,
      // Node looks for late requests only this often.
      connectionsCheckingInterval: Math.min(1000, headMs),
      maxHeaderSize: headBytes,
    },
    (request, response) => {
      handle(request, response).catch(() => response.destroy())
    },
  )
  // Cuts without an answer, so that a slow request gets its 408 before.
  server.timeout = 2 * requestMs
  server.maxHeadersCount = maxHeaders
  server.maxConnections = maxConnections
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
    const [path = ''] = (request.url ?? '').split('?')
    const [, channel] = /^\/webhooks\/([\w-]+)$/.exec(path) ?? []
    if (channel !== undefined && serves !== 'health') return bridge.listener(channel)(request, response)
    if (serves === 'webhooks' || !/^\/(?:healthz|readyz|readyz\/[\w-]+|metrics)$/.test(path))
      return answer(response, 404, 'not found')
    if (!isAllowed(request.headers.host)) return answer(response, 421, wrongHost)
    if (request.method !== 'GET' && request.method !== 'HEAD') return answer(response, 405, 'Use GET.')
    const status = bridge.status()
    const { state, problems } = status
    if (path === '/healthz') return answer(response, state === 'stopped' ? 503 : 200, state)
    if (path === '/readyz') return answer(response, state === 'ready' ? 200 : 503, [state, ...problems].join('\n'))
    if (path !== '/metrics') return answerFor(path.slice('/readyz/'.length), status, response)
    if (!metrics) return answer(response, 404, 'not found')
    answer(response, 200, await metrics.text(), metrics.contentType)
  }

  /** Only browsers can be misled by a name, and they always send one: the checks of load balancers may not. */
  function isAllowed(given: string | undefined): boolean {
    if (given === undefined) return true
    const [, name = ''] = /^(\[[\da-f:.]+\]|[^:/?#@[\]\s]+)(?::\d+)?$/i.exec(given) ?? []
    return isIP(name.replace(/^\[|\]$/g, '')) !== 0 || allowed.has(plainName(name))
  }
}

const wrongHost = 'This name is not allowed as Host. Use an IP address or localhost, or allow it with --allow-host.'

/** Whether one channel hears, whatever the others do. */
function answerFor(channel: string, { state, channels }: BridgeStatus, response: ServerResponse): void {
  if (state !== 'ready' && state !== 'disconnected') return answer(response, 503, state)
  const one = Object.hasOwn(channels, channel) ? channels[channel] : undefined
  if (!one) return answer(response, 404, 'not found')
  if (one.status === 'receiving') return answer(response, 200, one.status)
  answer(response, 503, `${one.status}\n${disconnectedMessage(channel, one)}`)
}

/** Names ignore case, and may end with the root's dot. */
function plainName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

/** Closes the connection after a refusal, rather than reading the rest of its request. */
function answer(response: ServerResponse, status: number, text: string, type = 'text/plain; charset=utf-8'): void {
  const close = status < 400 || status === 503 ? {} : { connection: 'close' }
  response.writeHead(status, { 'content-type': type, ...close }).end(text.endsWith('\n') ? text : `${text}\n`)
}
