import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@reply/testing'
import { type FakeTelegram, startTelegram } from '@reply/testing/telegram'
import { afterAll, beforeAll, expect, test } from 'vitest'

const secret = 'a-secret_1'
let telegram: FakeTelegram
let folder = ''
let close = async (): Promise<void> => {}

beforeAll(async () => {
  telegram = await startTelegram({ token: '42:secret' })
  folder = mkdtempSync(join(tmpdir(), 'reply-webhooks-'))
  const path = join(folder, 'reply.json')
  const tg = { type: 'telegram', token: { env: 'TG' }, apiRoot: telegram.url, updates: 'webhook' }
  const channels = { tg: { ...tg, secretToken: { env: 'TG_SECRET' } } }
  writeFileSync(path, JSON.stringify({ servers: { home: { url: 'http://127.0.0.1:1' } }, channels }))
  Object.assign(process.env, { REPLY_CONFIG: path, TG: '42:secret', TG_SECRET: secret })
  const { bridge } = await import('../../../examples/webhooks/bridge.ts')
  close = bridge.stop
})
afterAll(async () => {
  await close()
  await telegram.close()
  rmSync(folder, { recursive: true })
})

let updates = 0

function updateFor(channel: string): Request {
  updates += 1
  const message = { message_id: updates, date: Math.floor(Date.now() / 1000), text: 'Hi' }
  const [chat, from] = [
    { id: updates, type: 'private' },
    { id: updates, first_name: 'Eve' },
  ]
  return new Request(`https://bot.example/webhooks/${channel}`, {
    method: 'POST',
    headers: { 'x-telegram-bot-api-secret-token': secret },
    body: JSON.stringify({ update_id: updates, message: { ...message, chat, from } }),
  })
}

/** The example in that file, as a function from request to response. */
async function example(name: 'hono' | 'next' | 'bun'): Promise<(request: Request) => Response | Promise<Response>> {
  switch (name) {
    case 'hono':
      return (await import('../../../examples/webhooks/hono.ts')).default.fetch
    case 'bun':
      return (await import('../../../examples/webhooks/bun.ts')).default.fetch
    case 'next': {
      const { POST } = await import('../../../examples/webhooks/next.ts')
      return async (request) => {
        const channel = new URL(request.url).pathname.split('/').at(-1) ?? ''
        return await POST(request, { params: Promise.resolve({ channel }) })
      }
    }
  }
}

test.each(['hono', 'next', 'bun'] as const)('the example for %s passes requests on', async (name) => {
  const handle = await example(name)
  const before = telegram.calls.length
  expect((await handle(updateFor('tg'))).status).toBe(200)
  // A stranger is told how to be added.
  await until(() => telegram.calls.length > before)
  expect((await handle(updateFor('none'))).status).toBe(404)
  expect((await handle(new Request('https://bot.example/webhooks/tg', { method: 'POST', body: '{}' }))).status).toBe(
    401,
  )
})
