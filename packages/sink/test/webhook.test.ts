import { expect, test } from 'vitest'
import { createWebhook, type WebhookRequest } from '../src/inbound/webhook.ts'

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
