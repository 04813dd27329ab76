import type { Inbound, WebhookRequest } from '@reply/sink'
import { afterEach, describe, expect, test } from 'vitest'
import { listen } from '../../testing/test/listen.ts'
import { telegramChannel } from '../src/index.ts'
import { start, until } from './bot.ts'

const secretToken = 'a-secret_1'

const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

async function open(maxBytes?: number) {
  const { telegram, api, clock } = await start()
  const received: Inbound[] = []
  const onInbound = (inbound: Inbound): unknown => received.push(inbound)
  const errors: Error[] = []
  const onError = (error: Error): unknown => errors.push(error)
  const channel = telegramChannel({ api, clock, updates: 'webhook', secretToken, onInbound, maxBytes, onError })
  const hook = await listen(channel.listener)
  stops.push(hook.stop)
  return { telegram, api, channel, received, errors, url: `${hook.url}/` }
}

const said = (id: number, text: string): object => ({
  update_id: id,
  message: { message_id: id, date: 0, text, chat: { id: 7, type: 'private' }, from: { id: 7, first_name: 'Ada' } },
})

const request = (value: unknown, more: Partial<WebhookRequest> = {}): WebhookRequest => ({
  method: 'POST',
  headers: { 'x-telegram-bot-api-secret-token': secretToken },
  body: new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value)),
  ...more,
})

test("Telegram's own requests over HTTP are passed on", async () => {
  const { telegram, api, received, url } = await open()
  await api.setWebhook(url, { secret_token: secretToken })
  telegram.say(7, 'one')
  telegram.say(7, 'two')
  await until(() => received.length === 2)
  expect(received).toMatchObject([{ text: 'one' }, { text: 'two' }])
  const info = await api.getWebhookInfo()
  expect(info).toMatchObject({ url })
  expect(info.last_error_message).toBeUndefined()
})

test('a replay is accepted and does nothing', async () => {
  const { channel, received } = await open()
  expect(await channel.webhook(request(said(1, 'one')))).toEqual({ status: 200 })
  expect(await channel.webhook(request(said(1, 'one')))).toEqual({ status: 200 })
  expect(received).toHaveLength(1)
})

describe('refused', () => {
  test.each<[string, WebhookRequest, number]>([
    ['no secret', request(said(1, 'x'), { headers: {} }), 401],
    ['a wrong secret', request(said(1, 'x'), { headers: { 'x-telegram-bot-api-secret-token': 'a-secret_2' } }), 401],
    ['part of it', request(said(1, 'x'), { headers: { 'x-telegram-bot-api-secret-token': 'a-' } }), 401],
    ['two', request(said(1, 'x'), { headers: { 'x-telegram-bot-api-secret-token': [secretToken, 'b'] } }), 401],
    ['another method', request('', { method: 'GET' }), 405],
    ['no JSON', request('{'), 400],
    ['no UTF-8', request('', { body: new Uint8Array([0xff, 0xfe]) }), 400],
    ['no update', request({ message: {} }), 400],
    ['too many bytes', request(said(1, 'x'.repeat(2000))), 413],
  ])('%s', async (_, given, status) => {
    const { channel, received, errors } = await open(1000)
    expect(await channel.webhook(given)).toEqual({ status })
    expect(received).toEqual([])
    // A request with the secret, but without an update, shows a fault of the set-up.
    const words = "Skipped update without an id, which can't be read."
    expect(errors.map(({ message }) => message)).toEqual(status === 400 ? [words] : [])
  })

  test('over HTTP too, before the body is read', async () => {
    const { url, received } = await open(1000)
    const headers = { 'x-telegram-bot-api-secret-token': secretToken }
    const send = async (init: RequestInit): Promise<number> => (await fetch(url, init)).status
    expect(await send({ method: 'GET' })).toBe(405)
    expect(await send({ method: 'POST', body: JSON.stringify(said(1, 'x')) })).toBe(401)
    expect(await send({ method: 'POST', headers, body: 'x'.repeat(100_000) })).toBe(413)
    expect(await send({ method: 'POST', headers, body: '[]' })).toBe(400)
    expect(await send({ method: 'POST', headers, body: JSON.stringify(said(1, 'x')) })).toBe(200)
    expect(received).toHaveLength(1)
  })
})

test('a webhook needs a secret', async () => {
  const { api } = await start()
  const channel = (secret: string | undefined) => () =>
    telegramChannel({ api, updates: 'webhook', secretToken: secret, onInbound: () => {} })
  expect(channel(undefined)).toThrow(/secretToken/)
  expect(channel('not allowed!')).toThrow(/secretToken/)
  const polling = telegramChannel({ api, updates: 'own', onInbound: () => {} })
  await expect(polling.webhook(request(said(1, 'x')))).rejects.toMatchObject({ type: 'invalid' })
})
