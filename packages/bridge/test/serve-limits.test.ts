import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Bridge } from '../src/bridge.ts'
import { type ServedBridge, serveBridge } from '../src/serve-bridge.ts'
import { forgedHeaders, startHooked, startPairing } from './forged-headers.ts'

let bridge: Bridge
let served: ServedBridge
const pairing = new AbortController()
let paired = ''

beforeAll(async () => {
  bridge = await startHooked()
  served = await serveBridge({ bridge, port: 0 })
  paired = await startPairing(pairing.signal)
})
afterAll(async () => {
  pairing.abort()
  await served.close()
  await bridge.stop()
})

/** Sends only the head, and resolves with the status. A server that reads the body first would not answer. */
async function statusOfHead(url: string, channel: string, headers: object): Promise<number> {
  const { hostname, port } = new URL(url)
  const lines = Object.entries({ host: 'x', 'content-length': '1000', ...headers }).map(
    ([key, value]) => `${key}: ${value}`,
  )
  return await new Promise((resolve) => {
    const socket = connect(Number(port), hostname)
    socket.once('data', (data) => {
      socket.destroy()
      resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(data.toString())?.[1]))
    })
    socket.write([`POST /webhooks/${channel} HTTP/1.1`, ...lines].join('\r\n').concat('\r\n\r\n'))
  })
}

const old = String(Math.floor(Date.now() / 1000) - 3600)
const faults: readonly (readonly [name: string, channel: string, headers: object, status: number])[] = [
  ['without a signature', 'discord', {}, 401],
  ['without a signature', 'slack', {}, 401],
  ['without a secret', 'telegram', {}, 401],
  ['with a wrong secret', 'telegram', forgedHeaders('telegram'), 401],
  ['without a signature', 'whatsapp', {}, 401],
  ['with a malformed signature', 'discord', { ...forgedHeaders('discord'), 'x-signature-ed25519': 'zz' }, 401],
  ['with a malformed signature', 'slack', { ...forgedHeaders('slack'), 'x-slack-signature': 'v0=zz' }, 401],
  ['with a malformed signature', 'whatsapp', { 'x-hub-signature-256': 'sha1=00' }, 401],
  ['with an old time', 'discord', { ...forgedHeaders('discord'), 'x-signature-timestamp': old }, 401],
  ['with an old time', 'slack', { ...forgedHeaders('slack'), 'x-slack-request-timestamp': old }, 401],
  ['that is too large', 'discord', { ...forgedHeaders('discord'), 'content-length': '1048577' }, 413],
  ['that is too large', 'slack', { ...forgedHeaders('slack'), 'content-length': '1048577' }, 413],
  ['that is too large', 'whatsapp', { ...forgedHeaders('whatsapp'), 'content-length': '3145729' }, 413],
  ['for no channel', 'nothing', {}, 404],
]

test.each(faults)('a request %s to %s is refused before its body is there', async (_, channel, headers, status) => {
  expect(await statusOfHead(served.url, channel, headers)).toBe(status)
  expect(bridge.refuse(channel, { method: 'POST', headers: { 'content-length': '1000', ...headers } })).toEqual({
    status,
  })
  // The web's own requests, as Hono, Next and Bun pass them on.
  let pulled = 0
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        pulled += 1
        controller.enqueue(new Uint8Array(8))
      },
    },
    { highWaterMark: 0 },
  )
  const init: RequestInit = { method: 'POST', headers: { ...headers }, body, duplex: 'half' }
  const response = await bridge.fetch(channel)(new Request(`https://bot.example/webhooks/${channel}`, init))
  expect([response.status, pulled]).toEqual([status, 0])
})

test.each(faults.filter(([, channel]) => channel === 'slack'))(
  'pairing refuses a request %s to %s before its body is there, too',
  async (_, channel, headers, status) => {
    expect(await statusOfHead(paired, channel, headers)).toBe(status)
  },
)

test('a body as large as Meta sends is read whole, and refused by its signature', async () => {
  const body = Buffer.alloc(3_000_000, ' ')
  const headers = forgedHeaders('whatsapp')
  const response = await fetch(`${served.url}/webhooks/whatsapp`, { method: 'POST', headers, body })
  expect(response.status).toBe(401)
})

test('a platform gets through while strangers fill the budget', async () => {
  const { hostname, port } = new URL(served.url)
  const lines = Object.entries(forgedHeaders('slack')).map(([key, value]) => `${key}: ${value}\r\n`)
  const head = `POST /webhooks/slack HTTP/1.1\r\nhost: x\r\n${lines.join('')}content-length: 1000000\r\n\r\n`
  const sockets = Array.from({ length: 40 }, () => connect(Number(port), hostname).on('error', () => {}))
  const part = 'a'.repeat(900_000)
  await Promise.all(
    sockets.map(
      async (socket) =>
        await new Promise<void>((resolve) => {
          socket.on('close', () => resolve())
          socket.write(head + part, () => resolve())
        }),
    ),
  )
  // Its signature is wrong, so that it is refused; but it was read, in time.
  const headers = forgedHeaders('slack')
  const response = await fetch(`${served.url}/webhooks/slack`, { method: 'POST', headers, body: '{"type":"x"}' })
  expect(response.status).toBe(401)
  for (const socket of sockets) socket.destroy()
})

test('webhooks and health get through while readers of pages fill their half of the connections, which is free again when they leave', async () => {
  const readers = new AbortController()
  const crowded = await serveBridge({
    bridge: {
      status: () => ({ state: 'ready', channels: {}, problems: [] }),
      listener: () => (_, response) => response.writeHead(200).end('taken'),
      page: async () => new Response(new ReadableStream({ start: (stream) => stream.enqueue(new Uint8Array(1)) })),
    },
    port: 0,
    limits: { maxConnections: 8 },
  })
  const read = async (signal?: AbortSignal): Promise<Response> =>
    await fetch(`${crowded.url}/r/x`, { ...(signal && { signal }) })
  try {
    const open = await Promise.all(Array.from({ length: 4 }, async () => await read(readers.signal)))
    expect(open.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect([(await read()).status, (await read()).status]).toEqual([503, 503])
    expect(await (await fetch(`${crowded.url}/webhooks/slack`, { method: 'POST', body: '{}' })).text()).toBe('taken')
    expect((await fetch(`${crowded.url}/readyz`)).status).toBe(200)
    readers.abort()
    await vi.waitFor(async () => expect((await read()).status).toBe(200))
  } finally {
    readers.abort()
    await crowded.close()
  }
})
