import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'

/** A request that the balancer passed on, or tried to. */
export interface Delivery {
  readonly at: number
  readonly body: string
  /** The member that it went to. Undefined if none was ready. */
  readonly member: string | undefined
  /** The status that the platform got, in the end. */
  status: number | undefined
  /** When the platform got it. */
  endedAt: number | undefined
}

/** A place behind the balancer. Its address changes when it starts again. */
export interface Upstream {
  readonly name: string
  /** Undefined while it does not run. */
  url(): string | undefined
}

/** A load balancer in front of the webhooks of all members. */
export interface Balancer {
  readonly url: string
  readonly deliveries: readonly Delivery[]
  close(): Promise<void>
}

/** How often each member's `/readyz` is read, and how long it may take, in ms. */
const checkMs = 250
const checkTimeoutMs = 1000
/** How long a member may take for a request, in ms. The platform then gets a 504. */
const upstreamMs = 5000

/**
 * Starts a balancer. It sends each request to a random member that said it was ready at the last check, so also to one that
 * has died or stopped since. It never tries another one: a failure reaches the platform, which delivers again.
 */
export async function startBalancer(upstreams: readonly Upstream[], random: () => number): Promise<Balancer> {
  const deliveries: Delivery[] = []
  const ready = new Set<Upstream>()
  const checks = upstreams.map((upstream) => {
    let isChecking = false
    return setInterval(async () => {
      if (isChecking) return
      isChecking = true
      if (await isReady(upstream)) ready.add(upstream)
      else ready.delete(upstream)
      isChecking = false
    }, checkMs)
  })
  const server = createServer((incoming, response) => {
    response.on('error', () => {})
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => passOn(incoming, Buffer.concat(chunks), response))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return { url: `http://127.0.0.1:${port}`, deliveries, close }

  async function close(): Promise<void> {
    for (const check of checks) clearInterval(check)
    server.closeAllConnections()
    await new Promise<void>((resolve) => server.close(() => resolve()))
  }

  function passOn({ url = '/', method, headers }: IncomingMessage, body: Buffer, response: ServerResponse): void {
    const [upstream] = [...ready].slice(Math.floor(random() * ready.size))
    const base = upstream?.url()
    const delivery: Delivery = {
      ...{ at: Date.now(), body: body.toString(), member: upstream?.name },
      ...{ status: undefined, endedAt: undefined },
    }
    deliveries.push(delivery)
    const end = (status: number): void => {
      if (delivery.endedAt !== undefined) return
      Object.assign(delivery, { status, endedAt: Date.now() })
      if (!response.destroyed) response.writeHead(status).end()
    }
    if (base === undefined) return end(503)
    const passed = request(new URL(url, base), { method, headers, timeout: upstreamMs, agent: false }, (answer) => {
      answer.resume()
      answer.once('end', () => end(answer.statusCode ?? 502))
      answer.once('error', () => end(502))
    })
    passed.once('timeout', () => {
      end(504)
      passed.destroy()
    })
    passed.once('error', () => end(502))
    passed.end(body)
  }
}

async function isReady({ url }: Upstream): Promise<boolean> {
  const base = url()
  if (base === undefined) return false
  try {
    const response = await fetch(new URL('/readyz', base), { signal: AbortSignal.timeout(checkTimeoutMs) })
    await response.text()
    return response.ok
  } catch {
    return false
  }
}
