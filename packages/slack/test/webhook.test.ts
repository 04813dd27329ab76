import { type Inbound, memoryStore, type WebhookRequest } from '@reply/sink'
import { createHandClock } from '@reply/testing'
import { slackHeaders } from '@reply/testing/internal'
import { afterEach, describe, expect, test } from 'vitest'
import { listen } from '../../testing/test/listen.ts'
import { slackChannel } from '../src/index.ts'
import { ending, signingSecret, start, until } from './app.ts'

const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

async function open(maxBytes?: number, onInbound: (inbound: Inbound) => unknown = () => {}) {
  const { slack, api, clock } = await start()
  const received: Inbound[] = []
  const errors: Error[] = []
  const channel = slackChannel({
    api,
    clock,
    events: 'http',
    signingSecret,
    maxBytes,
    onError: (error) => errors.push(error),
    onInbound: (inbound) => {
      received.push(inbound)
      return onInbound(inbound)
    },
  })
  const hook = await listen(channel.listener)
  stops.push(hook.stop)
  const url = `${hook.url}/`
  slack.sendTo(url)
  const signed = (value: unknown, more: Partial<WebhookRequest> = {}): WebhookRequest => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    const headers = slackHeaders(text, signingSecret, clock)
    return { method: 'POST', headers, body: new TextEncoder().encode(text), ...more }
  }
  return { slack, api, clock, channel, received, errors, url, signed }
}

const said = (id: string, text: string): object => ({
  type: 'event_callback',
  event_id: id,
  event: { type: 'message', channel: 'D1', channel_type: 'im', ts: id, text, user: 'U1' },
})

test("Slack's own requests over HTTP are passed on: events and presses", async () => {
  const { slack, api, received } = await open()
  slack.say('D1', 'one')
  const button = {
    type: 'button' as const,
    action_id: 'reply.button.0.0',
    text: { type: 'plain_text' as const, text: 'Yes' },
    value: 't',
  }
  const { ts = '' } = await api.chat.postMessage({
    channel: 'D1',
    text: '?',
    blocks: [{ type: 'actions', elements: [button] }],
  })
  expect(await slack.press('D1', ts, 'Yes')).toBe(true)
  await until(() => received.length === 2)
  expect(received).toMatchObject([{ text: 'one' }, { type: 'press', token: 't', messageRef: { id: ts } }])
})

test('the URL verification is answered', async () => {
  const { channel, signed, received } = await open()
  const body = { type: 'text/plain', text: 'a-word' }
  expect(await channel.webhook(signed({ type: 'url_verification', challenge: 'a-word' }))).toEqual({
    status: 200,
    body,
  })
  expect(received).toEqual([])
})

test('the response does not wait for the host', async () => {
  let release = (): void => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const { channel, signed, received } = await open(undefined, () => held)
  expect(await channel.webhook(signed(said('1.1', 'one')))).toEqual({ status: 200 })
  await until(() => received.length === 1)
  release()
  await channel.stop()
})

test('a redelivery is accepted and does nothing', async () => {
  const { channel, signed, received, slack } = await open()
  const again = { 'x-slack-retry-num': '1', 'x-slack-retry-reason': 'http_timeout' }
  const request = signed(said('1.1', 'one'))
  expect(await channel.webhook(request)).toEqual({ status: 200 })
  expect(await channel.webhook({ ...request, headers: { ...request.headers, ...again } })).toEqual({ status: 200 })
  slack.repeatNext()
  slack.say('D1', 'two')
  await until(() => received.length === 2)
  await channel.stop()
  expect(received).toMatchObject([{ text: 'one' }, { text: 'two' }])
})

// https://docs.slack.dev/apis/events-api#retries: Slack repeats an event that was not acknowledged for up to a day.
test('a redelivery after a restart is dropped where a store is given', async () => {
  const store = memoryStore()
  const { api, signed } = await open()
  const received: Inbound[] = []
  for (const id of ['1.1', '1.1', '2.1']) {
    const onInbound = (inbound: Inbound): unknown => received.push(inbound)
    const channel = slackChannel({
      api,
      events: 'http',
      signingSecret,
      store,
      onInbound,
      clock: createHandClock(),
    })
    expect(await channel.webhook(signed(said(id, id)))).toEqual({ status: 200 })
    await channel.stop()
  }
  expect(received).toMatchObject([{ text: '1.1' }, { text: '2.1' }])
})

test('a redelivery is passed on if the first delivery never arrived', async () => {
  const { slack, received, clock, url } = await open()
  slack.sendTo('http://127.0.0.1:9/')
  slack.say('D1', 'late')
  slack.sendTo(url)
  await until(() => clock.pending > 0 || received.length > 0)
  await clock.advance(60_000)
  await until(() => received.length === 1)
})

describe('refused', () => {
  test('unsigned, forged, stale and malformed requests, without any effect', async () => {
    const { channel, signed, received, errors, clock, slack } = await open(1000)
    const good = signed(said('1.1', 'x'))
    const status = async (request: WebhookRequest): Promise<number> => (await channel.webhook(request)).status
    const headers = (more: WebhookRequest['headers']): WebhookRequest => ({
      ...good,
      headers: { ...good.headers, ...more },
    })
    const signature = String(good.headers['x-slack-signature'])
    expect(await status({ ...good, method: 'GET' })).toBe(405)
    expect(await status({ ...good, headers: {} })).toBe(401)
    expect(await status(headers({ 'x-slack-signature': undefined }))).toBe(401)
    expect(await status(headers({ 'x-slack-signature': [signature, signature] }))).toBe(401)
    expect(await status(headers({ 'x-slack-signature': signature.slice(0, -1) }))).toBe(401)
    expect(await status(headers({ 'x-slack-signature': `v0=${'0'.repeat(64)}` }))).toBe(401)
    expect(await status(headers({ 'x-slack-request-timestamp': undefined }))).toBe(401)
    expect(await status(headers({ 'x-slack-request-timestamp': 'soon' }))).toBe(401)
    expect(await status({ ...good, body: new TextEncoder().encode(JSON.stringify(said('1.1', 'y'))) })).toBe(401)
    const other = slackHeaders('{}', 'another', clock)
    expect(await status({ ...signed('{}'), headers: other })).toBe(401)
    expect(await status(signed('{'))).toBe(400)
    expect(await status(signed('payload=%7B'))).toBe(400)
    expect(await status(signed('[1]'))).toBe(200)
    expect(await status({ ...signed(''), body: new Uint8Array() })).toBe(400)
    expect(await status(signed(said('1.1', 'x'.repeat(2000))))).toBe(413)
    await clock.advance(301_000)
    expect(await status(good)).toBe(401)
    await clock.advance(-602_000)
    expect(await status(good)).toBe(401)
    await channel.stop()
    expect(received).toEqual([])
    expect(errors).toMatchObject([{ type: 'malformed' }])
    expect(slack.calls).toEqual([])
  })

  test('over HTTP too, before the body is read', async () => {
    const { url, received, signed, channel } = await open(1000)
    const send = async (init: RequestInit): Promise<number> => (await fetch(url, init)).status
    const { body, headers } = signed(said('1.1', 'x'))
    const sent = { method: 'POST', headers: { ...headers } as Record<string, string> }
    expect(await send({ method: 'GET' })).toBe(405)
    expect(await send({ method: 'POST', body: JSON.stringify(said('1.1', 'x')) })).toBe(401)
    expect(await send({ ...sent, body: 'x'.repeat(100_000) })).toBe(413)
    expect(await send({ ...sent, body: '[]' })).toBe(401)
    expect(await send({ ...sent, body: new Uint8Array(body) })).toBe(200)
    await channel.stop()
    expect(received).toHaveLength(1)
  })
})

test('a webhook needs a secret, and no error contains it', async () => {
  const { api } = await start()
  const own = slackChannel({ api, events: 'own', onInbound: () => {} })
  const { signed } = await open()
  expect(await ending(own.webhook(signed(said('1.1', 'x'))))).toMatchObject({ type: 'invalid' })
})
