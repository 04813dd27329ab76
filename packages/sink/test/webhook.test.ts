import { createServer } from 'node:http'
import { connect } from 'node:net'
import { createHandClock } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { createWebhook, type WebhookOptions, type WebhookRequest } from '../src/inbound/webhook.ts'

const address = 'https://bot.example/hook?a=1'

function scene(maxBytes?: number) {
  const taken: WebhookRequest[] = []
  const webhook = createWebhook({
    refuse: ({ headers }) => (headers['x-secret'] === 's' ? undefined : { status: 401 }),
    take: (request) => {
      taken.push(request)
      return { status: 202, body: { type: 'application/json', text: '{"ok":true}' } }
    },
    ...(maxBytes !== undefined && { maxBytes }),
  })
  return { webhook, taken }
}

test("a web request arrives with its bytes, and its answer is the web's", async () => {
  const { webhook, taken } = scene()
  const bytes = new Uint8Array([0, 255, 10])
  const response = await webhook.fetch(
    new Request(address, { method: 'POST', headers: { 'X-Secret': 's' }, body: bytes }),
  )
  expect([response.status, response.headers.get('content-type')]).toEqual([202, 'application/json'])
  expect(await response.text()).toBe('{"ok":true}')
  expect(taken).toMatchObject([{ method: 'POST', url: '/hook?a=1', headers: { 'x-secret': 's' } }])
  expect([...(taken[0]?.body ?? [])]).toEqual([...bytes])
})

test('a web request without a body is passed on', async () => {
  const { webhook, taken } = scene()
  expect((await webhook.fetch(new Request(address, { headers: { 'x-secret': 's' } }))).status).toBe(202)
  expect(taken[0]?.body).toHaveLength(0)
})

test('a refused web request is not read, and one that is too large is not read to its end', async () => {
  const { webhook, taken } = scene(10)
  let count = 0
  const body = (): ReadableStream<Uint8Array> =>
    new ReadableStream({
      pull: (controller) => {
        count += 1
        controller.enqueue(new Uint8Array(8))
      },
    })
  const post = async (headers: Record<string, string>): Promise<Response> =>
    await webhook.fetch(new Request(address, { method: 'POST', headers, body: body(), duplex: 'half' }))
  expect((await post({})).status).toBe(401)
  const unread = count
  expect((await post({ 'x-secret': 's' })).status).toBe(413)
  expect(unread).toBeLessThan(3)
  expect(count).toBeLessThan(10)
  expect(taken).toEqual([])
})

/** A body that grows as the test says, and whether its reader gave up. */
function openBody() {
  let isCancelled = false
  let push = (_: number): void => {}
  let end = (): void => {}
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => {
      push = (bytes) => controller.enqueue(new Uint8Array(bytes))
      end = () => controller.close()
    },
    cancel: () => {
      isCancelled = true
    },
  })
  return { stream, push: (bytes: number) => push(bytes), end: () => end(), isCancelled: () => isCancelled }
}

function unverified(limits: Omit<WebhookOptions, 'refuse' | 'take'>) {
  const sizes: number[] = []
  const webhook = createWebhook({
    refuse: () => undefined,
    take: ({ body }) => {
      sizes.push(body.length)
      return { status: 200 }
    },
    ...limits,
  })
  const post = async (body: ReadableStream<Uint8Array>, headers: Record<string, string> = {}): Promise<number> =>
    (await webhook.fetch(new Request(address, { method: 'POST', headers, body, duplex: 'half' }))).status
  return { webhook, sizes, post }
}

test('a body that is too large by its own account is not read', async () => {
  const { post, webhook } = unverified({ maxBytes: 1000 })
  const body = openBody()
  expect(await post(body.stream, { 'content-length': '1001' })).toBe(413)
  expect(webhook.refuse({ method: 'POST', headers: { 'content-length': '1001' } })).toEqual({ status: 413 })
  expect(webhook.refuse({ method: 'POST', headers: { 'content-length': '1000' } })).toBeUndefined()
})

test('bodies at the same time have one budget, and the largest of them makes room', async () => {
  const { post, sizes } = unverified({ maxBytes: 100_000, maxUnverifiedBytes: 150_000 })
  const [large, larger, small] = [openBody(), openBody(), openBody()]
  const posts = [large, larger, small].map(async ({ stream }) => await post(stream))
  large.push(50_000)
  larger.push(90_000)
  small.push(20_000)
  expect(await posts[1]).toBe(503)
  expect([large, larger, small].map(({ isCancelled }) => isCancelled())).toEqual([false, true, false])
  small.end()
  large.end()
  expect(await Promise.all(posts)).toEqual([200, 503, 200])
  expect(sizes).toEqual([20_000, 50_000])
  const next = openBody()
  const posted = post(next.stream)
  next.push(99_000)
  next.end()
  expect(await posted).toBe(200)
})

test('a body that does not end in time is given up', async () => {
  const clock = createHandClock()
  const { post, sizes } = unverified({ bodyMs: 10_000, clock })
  const [slow, quick] = [openBody(), openBody()]
  const posts = [slow, quick].map(async ({ stream }) => await post(stream))
  slow.push(1)
  await clock.advance(9999)
  quick.end()
  expect(await posts[1]).toBe(200)
  await clock.advance(1)
  expect(await posts[0]).toBe(408)
  expect([slow.isCancelled(), sizes]).toEqual([true, [0]])
})

test('a body that someone else has read is refused, at once and without harm later', async () => {
  const clock = createHandClock()
  const { webhook, sizes } = unverified({ clock })
  const request = new Request(address, { method: 'POST', body: 'a' })
  await request.text()
  await expect(webhook.fetch(request)).rejects.toThrow(TypeError)
  await clock.advance(20_000)
  expect(sizes).toEqual([])
})

test('a body in any pieces arrives whole', async () => {
  const { webhook, taken } = scene(100_000)
  const bytes = Uint8Array.from({ length: 50_000 }, (_, at) => at % 251)
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (let at = 0, size = 1; at < bytes.length; at += size, size = (size * 7) % 3001)
        controller.enqueue(bytes.slice(at, at + size))
      controller.close()
    },
  })
  const request = new Request(address, { method: 'POST', headers: { 'x-secret': 's' }, body, duplex: 'half' })
  expect((await webhook.fetch(request)).status).toBe(202)
  expect(Buffer.compare(Buffer.from(taken[0]?.body ?? []), bytes)).toBe(0)
})

describe('over a socket', () => {
  async function over(limits: Omit<WebhookOptions, 'refuse' | 'take'>, act: (port: number) => Promise<void>) {
    const { webhook, sizes } = unverified(limits)
    const server = createServer(webhook.listener)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const at = server.address()
    await act(typeof at === 'object' && at ? at.port : 0)
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    return sizes
  }

  /** Writes, and resolves with all that comes back until the connection ends. */
  const said = async (port: number, ...pieces: readonly string[]): Promise<string> =>
    await new Promise((resolve) => {
      let all = ''
      const socket = connect(port, '127.0.0.1')
      socket.setEncoding('utf8').on('data', (piece) => {
        all += piece
      })
      socket.on('error', () => {}).on('close', () => resolve(all))
      for (const piece of pieces) socket.write(piece)
    })

  test('a body in chunks of one byte each is cut at the limit, and a slow one at its time', async () => {
    const head = 'POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n'
    const large = await over({ maxBytes: 1000 }, async (port) => {
      expect(await said(port, head, '1\r\na\r\n'.repeat(1001))).toMatch(/^HTTP\/1\.1 413 [\s\S]*connection: close/i)
    })
    const slow = await over({ maxBytes: 1000, bodyMs: 50 }, async (port) => {
      expect(await said(port, head, '1\r\na\r\n'.repeat(999))).toMatch(/^HTTP\/1\.1 408 [\s\S]*connection: close/i)
    })
    expect([large, slow]).toEqual([[], []])
  })

  test('a body that a framework has read before counts as empty', async () => {
    const { webhook, sizes } = unverified({})
    const server = createServer((request, response) => {
      request.resume().on('end', () => setImmediate(() => webhook.listener(request, response)))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const at = server.address()
    const url = `http://127.0.0.1:${typeof at === 'object' && at ? at.port : 0}`
    expect((await fetch(url, { method: 'POST', body: 'abc' })).status).toBe(200)
    expect(sizes).toEqual([0])
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  test('a client that breaks off frees its room', async () => {
    const sizes = await over({ maxBytes: 1000, maxUnverifiedBytes: 1000 }, async (port) => {
      const socket = connect(port, '127.0.0.1').on('error', () => {})
      await new Promise<void>((resolve) => {
        socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 900\r\n\r\n${'a'.repeat(899)}`, () => resolve())
      })
      await new Promise<void>((resolve) => {
        socket.on('close', () => resolve())
        socket.destroy()
      })
      const post = async (): Promise<number> =>
        (await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: 'b'.repeat(900) })).status
      await expect.poll(post).toBe(200)
    })
    expect(sizes).toEqual([900])
  })
})
