import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Example, example } from './examples.ts'

let close = async (): Promise<void> => {}

beforeAll(async () => {
  // Nothing listens there.
  vi.stubEnv('OPENCODE_URL', 'http://127.0.0.1:1')
  vi.stubEnv('CHAT_TOKEN', 'a-token')
  // The example says there that it can't connect.
  vi.spyOn(console, 'error').mockReturnValue(undefined)
  const { client, handle } = await import('../../../examples/ui/chat.ts')
  close = async () => {
    handle.close()
    await client.close()
    vi.unstubAllEnvs()
    vi.restoreAllMocks()
  }
})
afterAll(async () => await close())

test.each<Example>(['hono', 'next'])('the example for %s passes requests on', async (name) => {
  const handle = await example(name)
  const stream = 'https://app.example/api/chat/one/stream'
  const headers = { cookie: 'token=a-token' }
  expect((await handle(new Request(stream))).status).toBe(404)
  expect((await handle(new Request(stream, { headers: { cookie: 'token=another' } }))).status).toBe(404)
  expect((await handle(new Request(stream, { headers }))).status).toBe(204)
  const url = 'https://app.example/api/chat'
  expect((await handle(new Request(`${url}/one`, { method: 'DELETE', headers }))).status).toBe(409)
  expect((await handle(new Request(url, { method: 'POST', body: '{}' }))).status).toBe(415)
})
