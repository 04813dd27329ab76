import { inspect } from 'node:util'
import { type Inbound, memoryStore, type WebhookRequest } from '@reply/sink'
import { afterEach, describe, expect, test } from 'vitest'
import { listen } from '../../testing/test/listen.ts'
import { type WhatsAppChannelOptions, type WhatsAppError, whatsappChannel } from '../src/index.ts'
import { ending, person, start, until } from './cloud.ts'

const appSecret = 'a-fake-app-secret'
const verifyToken = 'a-verify-token'

const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

async function open(options: Partial<WhatsAppChannelOptions> = {}, started: Parameters<typeof start>[0] = {}) {
  const begun = await start(started)
  const { client, clock } = begun
  const received: Inbound[] = []
  const errors: Error[] = []
  const channel = whatsappChannel({
    client,
    clock,
    appSecret,
    verifyToken,
    onInbound: (inbound) => received.push(inbound),
    onError: (error) => errors.push(error),
    ...options,
  })
  const hook = await listen(channel.listener)
  stops.push(hook.stop)
  return { ...begun, channel, received, errors, url: `${hook.url}/whatsapp` }
}

type Opened = Awaited<ReturnType<typeof open>>

const now = Date.UTC(2026, 0, 1) / 1000
const text = (id: string, more: object = {}): object => ({
  from: person,
  id: `wamid.${id}`,
  timestamp: String(now),
  type: 'text',
  text: { body: id },
  ...more,
})
const value = (messages: readonly object[], number = '106540352242922'): object => ({
  messaging_product: 'whatsapp',
  metadata: { display_phone_number: '1', phone_number_id: number },
  contacts: [{ wa_id: person, profile: { name: 'Ada' } }],
  messages,
})
const bodyOf = (...values: readonly object[]): object => ({
  object: 'whatsapp_business_account',
  entry: values.map((one) => ({ id: '102', changes: [{ field: 'messages', value: one }] })),
})

function signed({ whatsapp }: Opened, given: unknown, more: Partial<WebhookRequest> = {}): WebhookRequest {
  const body = new TextEncoder().encode(typeof given === 'string' ? given : JSON.stringify(given))
  return { method: 'POST', headers: { 'x-hub-signature-256': whatsapp.sign(body) }, body, ...more }
}

const textsIn = (received: readonly Inbound[]): readonly string[] =>
  received.map((one) => (one.type === 'text' ? one.text : one.type))

describe('the verification', () => {
  test('returns the challenge over HTTP for the right token', async () => {
    const { whatsapp, url } = await open()
    await whatsapp.setWebhook(url, verifyToken)
    await expect(whatsapp.setWebhook(url, 'another-token')).rejects.toThrow('403')
  })

  test.each([
    ['another token', '?hub.mode=subscribe&hub.verify_token=a-verify-tokex&hub.challenge=1'],
    ['part of it', '?hub.mode=subscribe&hub.verify_token=a-verify&hub.challenge=1'],
    ['none', '?hub.mode=subscribe&hub.challenge=1'],
    ['another mode', '?hub.mode=unsubscribe&hub.verify_token=a-verify-token&hub.challenge=1'],
    ['no query', ''],
  ])('refuses %s', async (_, query) => {
    const { channel } = await open()
    const head = { method: 'GET', url: `/whatsapp${query}`, headers: {}, body: new Uint8Array() }
    expect(await channel.webhook(head)).toEqual({ status: 403 })
  })
})

test('messages over HTTP are passed on in order', async () => {
  const { whatsapp, url, received } = await open()
  await whatsapp.setWebhook(url, verifyToken)
  whatsapp.say(person, 'one')
  whatsapp.say(person, '/two', { replyTo: 'wamid.x', name: 'Bob' })
  await until(() => received.length === 2)
  expect(received).toMatchObject([
    { type: 'text', chat: { id: person }, actor: { id: person, name: 'Ada' }, text: 'one', isCommand: false },
    { text: '/two', actor: { name: 'Bob' }, replyTo: { id: 'wamid.x' }, isCommand: true },
  ])
  await until(() => whatsapp.webhookCalls.every(({ status }) => status === 200))
})

test('a text has its forwarding mark, its time, and a private chat', async () => {
  const { whatsapp, url, received, clock } = await open()
  await whatsapp.setWebhook(url, verifyToken)
  for (const forwarded of ['once', 'often', undefined] as const)
    whatsapp.say(person, '1', forwarded === undefined ? {} : { forwarded })
  await until(() => received.length === 3)
  const postedAt = Math.floor(clock.now() / 1000) * 1000
  expect(received).toMatchObject(Array(3).fill({ chat: { id: person, kind: 'private' }, messageRef: { postedAt } }))
  expect(received.map((one) => one.type === 'text' && one.isForwarded)).toEqual([true, true, undefined])
})

test('a replay is accepted and does nothing', async () => {
  const opened = await open()
  const request = signed(opened, bodyOf(value([text('one')])))
  expect(await opened.channel.webhook(request)).toEqual({ status: 200 })
  expect(await opened.channel.webhook(request)).toEqual({ status: 200 })
  expect(await opened.channel.webhook(signed(opened, bodyOf(value([text('one'), text('two')]))))).toEqual({
    status: 200,
  })
  expect(textsIn(opened.received)).toEqual(['one', 'two'])
})

// https://developers.facebook.com/docs/graph-api/webhooks/getting-started: Meta repeats what was not acknowledged.
test('a replay after a restart does nothing where a store is given', async () => {
  const store = memoryStore()
  const received: Inbound[] = []
  for (const id of ['one', 'one', 'two']) {
    const opened = await open({ store, onInbound: (inbound) => received.push(inbound) })
    expect(await opened.channel.webhook(signed(opened, bodyOf(value([text(id)]))))).toEqual({ status: 200 })
  }
  expect(textsIn(received)).toEqual(['one', 'two'])
})

test('one body may have several messages, changes and entries; those of other numbers are ignored', async () => {
  const opened = await open()
  const body = bodyOf(value([text('a'), text('b')]), value([text('x')], '999'), value([text('c')]))
  await opened.channel.webhook(signed(opened, body))
  expect(textsIn(opened.received)).toEqual(['a', 'b', 'c'])
})

test('people of one request do not wait for the handler of another, but each for their own', async () => {
  const received: Inbound[] = []
  const opened = await open({ onInbound: (inbound) => new Promise(() => received.push(inbound)) })
  const all = [text('a'), text('b'), text('c', { from: '491700000002' })]
  const answer = opened.channel.webhook(signed(opened, bodyOf(value(all))))
  await until(() => received.length === 2)
  expect(textsIn(received)).toEqual(['a', 'c'])
  await opened.clock.advance(5000)
  await until(() => received.length === 3)
  await opened.clock.advance(5000)
  expect(textsIn(received)).toEqual(['a', 'c', 'b'])
  expect(await answer).toEqual({ status: 200 })
})

test.each<[string, object, object | undefined]>([
  [
    'a reply button',
    {
      type: 'interactive',
      interactive: { type: 'button_reply', button_reply: { id: 'r~tok', title: 'Yes' } },
      context: { id: 'wamid.ask' },
    },
    { type: 'press', token: 'r~tok', messageRef: { id: 'wamid.ask' } },
  ],
  [
    'a row',
    {
      type: 'interactive',
      interactive: { type: 'list_reply', list_reply: { id: 'r~tok', title: 'Yes', description: 'd' } },
    },
    { type: 'press', token: 'r~tok', messageRef: { id: 'wamid.m' } },
  ],
  [
    "a template's button, which is the host's own",
    { type: 'button', button: { payload: 'Yes-Button-Payload', text: 'Yes' } },
    { type: 'press', token: 'Yes-Button-Payload', isForeign: true },
  ],
  [
    'a picture with words',
    { type: 'image', image: { id: '1', caption: 'Look.' } },
    { type: 'text', text: 'Look.', albumID: 'sent-together', albumSpreadMs: 60_000, albumGapMs: 4000 },
  ],
  ['a picture without', { type: 'image', image: { id: '1' } }, undefined],
  ['a reaction', { type: 'reaction', reaction: { message_id: 'wamid.x', emoji: '👍' } }, undefined],
  ['a group', { group_id: 'g', text: { body: 'Hi' } }, undefined],
  [
    'who has a name and no number',
    { from: undefined, from_user_id: 'DE.1', text: { body: 'Hi' } },
    { type: 'text', chat: { id: 'DE.1' }, actor: { id: 'DE.1', name: 'DE.1' } },
  ],
])('reads %s', async (_, more, expected) => {
  const opened = await open()
  expect(
    await opened.channel.webhook(signed(opened, bodyOf(value([text('m', { text: undefined, ...more })])))),
  ).toEqual({ status: 200 })
  expect(opened.received).toMatchObject(expected ? [expected] : [])
  expect(opened.errors).toEqual([])
})

test('unreadable events are reported, and the others beside them are passed on', async () => {
  const opened = await open()
  const body = bodyOf(value([{ id: 1 }, text('b')]), { messages: [] })
  expect(await opened.channel.webhook(signed(opened, body))).toEqual({ status: 200 })
  expect(textsIn(opened.received)).toEqual(['b'])
  expect(opened.errors).toMatchObject([{ type: 'malformed' }, { type: 'malformed' }])
})

test('messages older than a day are skipped and reported', async () => {
  const opened = await open()
  const old = text('old', { timestamp: String(now - 86_401) })
  expect(await opened.channel.webhook(signed(opened, bodyOf(value([old, text('new')]))))).toEqual({ status: 200 })
  expect(textsIn(opened.received)).toEqual(['new'])
  expect(opened.errors).toMatchObject([{ type: 'stale' }])
})

describe('refused', () => {
  const one = bodyOf(value([text('x')]))
  test.each<[string, (opened: Opened) => WebhookRequest, number]>([
    ['no signature', (opened) => signed(opened, one, { headers: {} }), 401],
    [
      'one of another secret',
      (opened) => signed(opened, one, { headers: { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` } }),
      401,
    ],
    ['one that is cut', (opened) => signed(opened, one, { headers: { 'x-hub-signature-256': 'sha256=00' } }), 401],
    ['one that is none', (opened) => signed(opened, one, { headers: { 'x-hub-signature-256': 'sha1=abc' } }), 401],
    [
      'two',
      (opened) => signed(opened, one, { headers: { 'x-hub-signature-256': [opened.whatsapp.sign('a'), 'b'] } }),
      401,
    ],
    [
      'other bytes than were signed',
      (opened) => ({ ...signed(opened, one), body: new TextEncoder().encode(`${JSON.stringify(one)} `) }),
      401,
    ],
    ['another method', (opened) => signed(opened, one, { method: 'PUT' }), 405],
    ['no JSON', (opened) => signed(opened, '{'), 400],
    ['another object', (opened) => signed(opened, { ...one, object: 'page' }), 400],
    ['too many bytes', (opened) => signed(opened, 'x'.repeat(3000)), 413],
  ])('%s', async (_, request, status) => {
    const opened = await open({ maxBytes: 2000 })
    expect(await opened.channel.webhook(request(opened))).toEqual({ status })
    expect([opened.received, opened.errors]).toEqual([[], []])
  })

  test('over HTTP too, before an unsigned body is read', async () => {
    const { url, whatsapp, received } = await open({ maxBytes: 2000 })
    const body = JSON.stringify(one)
    const send = async (init: RequestInit): Promise<number> => (await fetch(url, init)).status
    const headers = { 'x-hub-signature-256': whatsapp.sign(body) }
    expect(await send({ method: 'POST', body: 'x'.repeat(100_000) })).toBe(401)
    expect(await send({ method: 'POST', headers, body: 'x'.repeat(100_000) })).toBe(413)
    expect(await send({ method: 'POST', headers, body: `${body} ` })).toBe(401)
    expect(received).toEqual([])
    expect(await send({ method: 'POST', headers, body })).toBe(200)
    expect(received).toHaveLength(1)
  })
})

describe("a message that can't be delivered after all", () => {
  test('is reported, with what to do', async () => {
    const { whatsapp, url, errors, client, clock } = await open()
    await whatsapp.setWebhook(url, verifyToken)
    await clock.advance(86_400_001)
    const { signal } = new AbortController()
    const { id } = await client.messages({ to: person, type: 'text', text: { body: 'Hello.' } }, signal)
    await until(() => errors.length === 1)
    expect(errors).toMatchObject([
      { type: 'delivery', messageRef: { id }, message: expect.stringMatching(/131047.*24 h.*template/) },
    ])
    expect(whatsapp.screen(person)).toEqual([])
  })

  test("is reported with WhatsApp's own text if there is no advice", async () => {
    const opened = await open()
    const statuses = [
      {
        id: 'wamid.a',
        status: 'failed',
        recipient_id: person,
        errors: [{ code: 1, title: 'Odd', error_data: { details: 'Very.' } }],
      },
      { id: 'wamid.b', status: 'delivered', recipient_id: person },
      { id: 'wamid.c', status: 'failed', recipient_user_id: 'DE.1' },
    ]
    const errors = [{ code: 130429, title: 'Rate limit hit' }]
    await opened.channel.webhook(signed(opened, bodyOf({ ...value([]), statuses, errors })))
    expect(opened.errors.map(({ message }) => message)).toEqual([
      `Message wamid.a to ${person} was not delivered: 1 Odd. Very.`,
      'Message wamid.c to DE.1 was not delivered: -1 no reason given',
      'The Cloud API reports 130429 Rate limit hit',
    ])
  })
})

test('a stopped channel lets Meta redeliver, and finishes what it began', async () => {
  let release = (): void => {}
  const opened = await open({
    onInbound: () =>
      new Promise<void>((resolve) => {
        release = resolve
      }),
  })
  const first = opened.channel.webhook(signed(opened, bodyOf(value([text('one')]))))
  await new Promise((resolve) => setImmediate(resolve))
  let isOver = false
  const stopped = opened.channel.stop().then(() => {
    isOver = true
  })
  expect(await opened.channel.webhook(signed(opened, bodyOf(value([text('two')]))))).toEqual({ status: 503 })
  expect(isOver).toBe(false)
  release()
  await stopped
  expect(await first).toEqual({ status: 200 })
})

test('a channel needs its secrets', async () => {
  const { client } = await start()
  const make = (more: object) => async () =>
    whatsappChannel({ client, appSecret, verifyToken, onInbound: () => {}, ...more })
  expect(await ending(make({ appSecret: '' })())).toMatchObject({
    type: 'invalid',
    message: expect.stringMatching(/appSecret/),
  })
  expect(await ending(make({ verifyToken: 'short' })())).toMatchObject({
    type: 'invalid',
    message: expect.stringMatching(/verifyToken/),
  })
})

test('no error contains a secret', async () => {
  const opened = await open({ onInbound: () => Promise.reject(new Error('broken')) })
  await opened.channel.webhook(signed(opened, bodyOf(value([text('a'), { id: 1 }, text('old', { timestamp: '1' })]))))
  expect(opened.errors.map((error) => (error as WhatsAppError).type)).toEqual(['malformed', 'stale', 'inbound'])
  const said = inspect(opened.errors, { depth: 20, showHidden: true })
  for (const secret of [appSecret, verifyToken, 'very-secret']) expect(said).not.toContain(secret)
})
