import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { connect } from '../../src/index.ts'

const rest = () => new Promise<void>((resolve) => setImmediate(resolve))

/** A server whose first event streams end at once. */
function breaking(streams: number): typeof fetch {
  let opened = 0
  return async (input) => {
    const { pathname } = new URL(input instanceof Request ? input.url : String(input))
    const json = { headers: { 'content-type': 'application/json' } }
    if (pathname === '/global/health') return new Response('{"healthy":true,"version":"1.18.33"}', json)
    if (pathname !== '/global/event') return new Response('[]', json)
    opened += 1
    const frame = new TextEncoder().encode('data: {"payload":{"type":"server.connected","properties":{}}}\n\n')
    const body = new ReadableStream({
      start(controller) {
        if (opened <= streams) return controller.close()
        controller.enqueue(frame)
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
}

async function readyAfter(fetch: typeof globalThis.fetch, waitMs: number): Promise<string> {
  const clock = createHandClock()
  const opencode = connect({ url: 'http://server', fetch, clock, random: () => 0 })
  let state = 'pending'
  opencode.ready.then(
    () => (state = 'ready'),
    (error: Error) => (state = error.message),
  )
  await rest()
  for (let passed = 0; passed < waitMs && state === 'pending'; passed += 250) await clock.advance(250, rest)
  await opencode.close()
  return state
}

test('ready outlives streams that break off at once', async () => {
  expect(await readyAfter(breaking(3), 9000)).toBe('ready')
})

test('ready rejects if streams keep breaking off', async () => {
  expect(await readyAfter(breaking(Number.POSITIVE_INFINITY), 11_000)).toBe('The event stream of http://server ended.')
})

test('ready rejects at once without a server', async () => {
  const refused: typeof fetch = async () => {
    throw new TypeError('fetch failed')
  }
  expect(await readyAfter(refused, 0)).toMatch(/^No OpenCode server at http:\/\/server/)
})

test('a prompt fails as soon as the server lacks its directory', async () => {
  const live = breaking(0)
  const lacking: typeof fetch = async (input, init) => {
    const { pathname } = new URL(input instanceof Request ? input.url : String(input))
    return pathname === '/file' ? new Response('{}', { status: 500 }) : await live(input, init)
  }
  const connectTimeoutMs = 600_000
  const clock = createHandClock()
  const opencode = connect({ url: 'http://server', directory: '/no/such', fetch: lacking, clock, connectTimeoutMs })
  const reply = await opencode.prompt({ text: 'Hello' }).result
  expect([reply.outcome, reply.error?.message]).toEqual(['failed', expect.stringContaining('directory "/no/such"')])
  await opencode.close()
})

test('a prompt fails at once when the password is refused', async () => {
  const refusing: typeof fetch = async () => new Response(null, { status: 401 })
  const opencode = connect({ url: 'http://server', fetch: refusing, clock: createHandClock() })
  const reply = await opencode.prompt({ text: 'Hello' }).result
  expect([reply.outcome, reply.error?.name]).toEqual(['failed', 'unauthorized'])
  await opencode.close()
})
