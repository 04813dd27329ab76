import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterEach, expect, test } from 'vitest'
import { bridgeMetrics } from '../src/events/metrics.ts'
import { type ServedBridge, serveBridge } from '../src/http/serve-bridge.ts'

let served: ServedBridge | undefined
afterEach(async () => await served?.close())

let status: 'starting' | 'ready' | 'stopped' = 'starting'
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
  status = 'ready'
  expect(await get('/readyz')).toEqual([200, 'ready\n'])
  status = 'stopped'
  expect([await get('/healthz'), await get('/readyz')]).toEqual([
    [503, 'stopped\n'],
    [503, 'stopped\n'],
  ])
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
