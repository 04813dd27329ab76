import { get as httpGet, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { BridgeStatus } from '../src/bridge.ts'
import { bridgeMetrics } from '../src/events/metrics.ts'
import { type ServedBridge, type ServeLimits, serveBridge } from '../src/serve-bridge.ts'

let served: ServedBridge | undefined
afterEach(async () => await served?.close())

let status: BridgeStatus = { state: 'starting', problems: [], channels: {} }
const bridge = {
  status: () => status,
  listener:
    (channel: string): Listener =>
    (_, response) =>
      void response.writeHead(channel === 'tg' ? 200 : 404).end(),
}
type Listener = (request: IncomingMessage, response: ServerResponse) => void

const get = async (path: string): Promise<readonly [number, string]> => {
  const response = await fetch(`${served?.url}${path}`)
  return [response.status, await response.text()]
}

test('health and readiness follow the bridge', async () => {
  served = await serveBridge({ bridge, port: 0 })
  expect(served.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  expect([await get('/healthz'), await get('/readyz')]).toEqual([
    [200, 'starting\n'],
    [503, 'starting\n'],
  ])
  status = { state: 'ready', problems: [], channels: { tg: { status: 'receiving' } } }
  expect(await get('/readyz')).toEqual([200, 'ready\n'])
  status = { state: 'stopped', problems: [], channels: {} }
  expect([await get('/healthz'), await get('/readyz')]).toEqual([
    [503, 'stopped\n'],
    [503, 'stopped\n'],
  ])
})

test('a channel that receives nothing is named, and does not speak for the others', async () => {
  served = await serveBridge({ bridge, port: 0 })
  const reason = "Telegram rejected the bot's token (401)."
  const line = `tg has received nothing since 1970-01-01T00:00:00.000Z: ${reason}`
  const channels = { tg: { status: 'disconnected', since: 0, reason }, wa: { status: 'receiving' } } as const
  status = { state: 'disconnected', problems: [line], channels }
  expect(await get('/readyz')).toEqual([503, `disconnected\n${line}\n`])
  expect(await get('/readyz/tg')).toEqual([503, `disconnected\n${line}\n`])
  expect(await get('/readyz/wa')).toEqual([200, 'receiving\n'])
  expect([await get('/readyz/none'), await get('/readyz/constructor')]).toEqual([
    [404, 'not found\n'],
    [404, 'not found\n'],
  ])
  expect(await get('/healthz')).toEqual([200, 'disconnected\n'])
  status = { state: 'stopped', problems: [], channels: {} }
})

test('a channel that another process listens to is fine', async () => {
  served = await serveBridge({ bridge, port: 0 })
  status = { state: 'ready', problems: [], channels: { tg: { status: 'elsewhere' }, wa: { status: 'receiving' } } }
  expect([await get('/readyz'), await get('/readyz/tg')]).toEqual([
    [200, 'ready\n'],
    [200, 'elsewhere\n'],
  ])
  status = { state: 'stopped', problems: [], channels: {} }
})

test('a bridge that is stopping is healthy and not ready, so that it is sent nothing and not killed', async () => {
  served = await serveBridge({ bridge, port: 0 })
  status = { state: 'stopping', problems: [], channels: { tg: { status: 'receiving' } } }
  expect([await get('/healthz'), await get('/readyz'), await get('/readyz/tg')]).toEqual([
    [200, 'stopping\n'],
    [503, 'stopping\n'],
    [503, 'stopping\n'],
  ])
  status = { state: 'stopped', problems: [], channels: {} }
})

test('metrics, webhooks, and nothing else', async () => {
  const metrics = bridgeMetrics()
  metrics.observe({ at: 1, channel: 'tg', chat: '1', type: 'inbound', kind: 'text', actorID: '1', verdict: 'taken' })
  served = await serveBridge({ bridge, metrics, port: 0 })
  const [code, text] = await get('/metrics')
  expect(code).toBe(200)
  expect(text).toContain('reply_bridge_inbounds_total{channel="tg",kind="text",verdict="taken"} 1')
  expect((await get('/webhooks/tg'))[0]).toBe(200)
  expect((await get('/webhooks/none'))[0]).toBe(404)
  expect((await get('/webhooks/tg/more'))[0]).toBe(404)
  expect((await get('/'))[0]).toBe(404)
})

test('an address that is taken is an error', async () => {
  served = await serveBridge({ bridge, port: 0 })
  const port = Number(new URL(served.url).port)
  await expect(serveBridge({ bridge, port })).rejects.toThrow('EADDRINUSE')
})

describe('the name by which health and metrics are requested', () => {
  /** The status for that `Host`, which `fetch` would not send. */
  const asked = async (host: string | undefined, path = '/metrics'): Promise<number> =>
    await new Promise((resolve, reject) => {
      const headers = host === undefined ? {} : { host }
      const sent = httpGet(`${served?.url}${path}`, { headers, setHost: host !== undefined }, (response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
      })
      sent.on('error', reject)
    })

  test.each([
    ...['127.0.0.1', '127.0.0.1:9464', 'localhost', 'LocalHost.:80', '[::1]:9464', '10.1.2.3', 'bridge.internal:80'],
  ])('%s is allowed', async (host) => {
    served = await serveBridge({ bridge, metrics: bridgeMetrics(), port: 0, allowedHosts: ['bridge.internal'] })
    expect([await asked(host), await asked(host, '/readyz'), await asked(host, '/webhooks/tg')]).toEqual([
      200, 503, 200,
    ])
  })

  test.each([
    ...[
      'evil.example',
      'evil.example:9464',
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      'a@127.0.0.1',
      '0x7f.1',
    ],
    ...['bridge.internal', '[::1', 'localhost:80:80', 'localhost/'],
  ])('%j is refused, but not for webhooks', async (host) => {
    served = await serveBridge({ bridge, metrics: bridgeMetrics(), port: 0 })
    const statuses = [await asked(host), await asked(host, '/healthz'), await asked(host, '/readyz')]
    expect(statuses).toEqual([421, 421, 421])
    expect(await asked(host, '/webhooks/tg')).toBe(200)
  })

  test('a refusal says what to do', async () => {
    served = await serveBridge({ bridge, port: 0 })
    const port = Number(new URL(served.url).port)
    expect(await raw(port, 'GET /healthz HTTP/1.1\r\nhost: evil.example\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 421 [\s\S]*This host name is not allowed\. [\s\S]*--allow-host/,
    )
  })

  test('a check of HTTP/1.0 without a name is allowed', async () => {
    served = await serveBridge({ bridge, port: 0 })
    const port = Number(new URL(served.url).port)
    expect(await raw(port, 'GET /healthz HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 503 /)
    expect(await raw(port, 'GET http://evil.example/healthz HTTP/1.1\r\nhost: localhost\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 404 /,
    )
  })
})

test('health and webhooks can have an address each', async () => {
  served = await serveBridge({ bridge, metrics: bridgeMetrics(), port: 0, serves: 'health' })
  const codes = async () =>
    await Promise.all(['/healthz', '/readyz', '/metrics', '/webhooks/tg'].map(async (path) => (await get(path))[0]))
  status = { state: 'ready', problems: [], channels: { tg: { status: 'receiving' } } }
  expect(await codes()).toEqual([200, 200, 200, 404])
  await served.close()
  served = await serveBridge({ bridge, metrics: bridgeMetrics(), port: 0, serves: 'webhooks' })
  expect(await codes()).toEqual([404, 404, 404, 200])
})

test('health and metrics take no other method than GET and HEAD', async () => {
  served = await serveBridge({ bridge, metrics: bridgeMetrics(), port: 0 })
  const statusOf = async (method: string): Promise<number> => (await fetch(`${served?.url}/metrics`, { method })).status
  expect([await statusOf('HEAD'), await statusOf('POST'), await statusOf('DELETE')]).toEqual([200, 405, 405])
})

describe('a connection', () => {
  const limits = { headMs: 100, requestMs: 200, idleMs: 100 }
  const portOf = async (given: Partial<ServeLimits> = limits): Promise<number> => {
    const reading = { ...bridge, listener: (): Listener => (request) => void request.resume() }
    served = await serveBridge({ bridge: reading, metrics: bridgeMetrics(), port: 0, limits: given })
    return Number(new URL(served.url).port)
  }

  test.each([
    ['that sends nothing', '', /^(?:HTTP\/1\.1 408 |$)/],
    ['whose head does not end', 'GET /healthz HTTP/1.1\r\nhost: x\r\n', /^HTTP\/1\.1 408 /],
    [
      'whose body does not end',
      'POST /webhooks/tg HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n12345',
      /^HTTP\/1\.1 408 /,
    ],
    [
      'that is idle after its answer',
      'GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n',
      /^HTTP\/1\.1 200 [\s\S]*keep-alive/,
    ],
  ])('%s is closed in time', async (_, text, answer) => {
    expect(await raw(await portOf(), text)).toMatch(answer)
  })

  test('that does not read its answer is closed in time', async () => {
    let isClosed = false
    const listener = (): Listener => (request, response) => {
      request.socket.on('close', () => {
        isClosed = true
      })
      response.end('a'.repeat(50_000_000))
    }
    served = await serveBridge({ bridge: { ...bridge, listener }, port: 0, limits })
    const socket = connect(Number(new URL(served.url).port), '127.0.0.1').pause()
    socket.on('error', () => {}).write('GET /webhooks/tg HTTP/1.1\r\nhost: x\r\n\r\n')
    await expect.poll(() => isClosed).toBe(true)
    socket.destroy()
  })

  test.each([
    ['a head that is too large', `x: ${'a'.repeat(20_000)}`],
    ['headers without end', Array.from({ length: 5000 }, (_, at) => `h${at}: 1`).join('\r\n')],
  ])('%s is refused', async (_, header) => {
    expect(await raw(await portOf(), `GET /healthz HTTP/1.1\r\nhost: x\r\n${header}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431 /,
    )
  })

  test('that is one too many is closed at once, and the others go on', async () => {
    const port = await portOf({ maxConnections: 3 })
    const sockets = await Promise.all(
      Array.from(
        { length: 3 },
        async () =>
          await new Promise<Socket>((resolve) => {
            const socket = connect(port, '127.0.0.1', () => resolve(socket)).on('error', () => {})
          }),
      ),
    )
    expect(await raw(port, 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n')).toBe('')
    const [first] = sockets
    const answered = new Promise<string>((resolve) => first?.once('data', (data) => resolve(data.toString())))
    first?.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n')
    expect(await answered).toMatch(/^HTTP\/1\.1 \d/)
    for (const socket of sockets) socket.destroy()
  })
})

/** Writes, and resolves with all that comes back until the connection ends. */
async function raw(port: number, text: string): Promise<string> {
  return await new Promise((resolve) => {
    let all = ''
    const socket = connect(port, '127.0.0.1')
    socket.setEncoding('utf8').on('data', (piece) => {
      all += piece
    })
    socket.on('error', () => {}).on('close', () => resolve(all))
    socket.write(text)
  })
}
