import type { Reply } from '@reply/core'
import { type Delivery, type Inbound, memoryStore, type Sink } from '@reply/sink'
import { type BridgeConnection, NotTakenError } from '@reply/sink/channel'
import type { FakeWhatsApp } from '@reply/testing/whatsapp'
import { afterEach, expect, test } from 'vitest'
import { settledWith, text } from '../../sink/test/make.ts'
import { listen } from '../../testing/test/listen.ts'
import { connectCloud } from '../src/cloud/connection.ts'
import { passing, person, start, token } from './cloud.ts'

const dayMs = 86_400_000
const verifyToken = 'a-verify-token'
const chat = { id: person, kind: 'private' } as const

const stops: (() => unknown)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

/** Two processes with one number: the first gets all webhooks, the second shows replies, and facts reach it as JSON. */
async function openTwo() {
  const { whatsapp, clock } = await start()
  const shared: unknown[] = []
  const received: Inbound[] = []
  const errors: Error[] = []
  /** The processes that told their host of a message that was not delivered. */
  const undelivered: string[] = []
  let isStored = true
  const connect = (name: string, share?: (fact: unknown) => void): BridgeConnection => {
    const values: Readonly<Record<string, string>> = { TOKEN: token, APP: whatsapp.appSecret, VERIFY: verifyToken }
    const { url: apiUrl, phoneNumberId } = whatsapp
    const secrets = { token: { env: 'TOKEN' }, appSecret: { env: 'APP' }, verifyToken: { env: 'VERIFY' } }
    return connectCloud(
      { type: 'whatsapp', api: 'cloud', phoneNumberId, apiUrl, ...secrets },
      {
        ...{ name: 'wa', clock, store: memoryStore(), onError: (error) => errors.push(error) },
        secret: (source) => ('env' in source && values[source.env]) || '',
        onInbound: (inbound) => received.push(inbound),
        onUndelivered: ({ id }) => undelivered.push(`${name}: ${id}`),
        share: async (chats, fact) => {
          if (!isStored) throw new NotTakenError()
          expect(chats).toEqual([chat])
          share?.(JSON.parse(JSON.stringify(fact)))
        },
      },
    )
  }
  const owner = connect('owner')
  const receiver = connect('receiver', (fact) => {
    shared.push(fact)
    owner.learn?.(fact)
  })
  for (const one of [owner, receiver]) {
    await one.start()
    stops.push(one.stop)
  }
  const { webhook } = receiver
  const hook = await listen(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method = '', url, headers } = request
    const answer = await webhook?.take({ method, url, headers, body: Buffer.concat(chunks) })
    response.writeHead(answer?.status ?? 503).end(answer?.body?.text)
  })
  stops.push(hook.stop)
  await whatsapp.setWebhook(`${hook.url}/`, verifyToken)
  const store = (isWorking: boolean): void => {
    isStored = isWorking
  }
  return { whatsapp, clock, owner, receiver, shared, received, errors, undelivered, store }
}

const done = settledWith([text('It is done.')])

/** Shows a reply in the person's chat, and has its delivery once that is over. */
function show(owner: BridgeConnection, reply: Reply): { readonly sink: Sink; delivery?: Delivery } {
  const sink = owner.sinkFor({ chat })
  const shown: { readonly sink: Sink; delivery?: Delivery } = { sink }
  sink.replyStarted?.({ type: 'replyStarted', reply })
  void sink.settled().then((delivery) => {
    shown.delivery = delivery
  })
  return shown
}

const said = (whatsapp: FakeWhatsApp): readonly string[] =>
  whatsapp.screen(person).flatMap(({ from, text: shown }) => (from === 'business' ? [shown] : []))

test('a post whose response was lost is settled by a status that another process received', async () => {
  const { whatsapp, clock, owner } = await openTwo()
  whatsapp.inject({ type: 'accept-then-drop', kind: 'text' })
  const shown = show(owner, done)
  await passing(clock, () => shown.delivery !== undefined)
  expect(said(whatsapp)).toEqual(['It is done.'])
  expect(shown.delivery).toMatchObject({ shown: 1, undelivered: [], doubtful: 0 })
})

test('a failure that another process received counts, and is reported once', async () => {
  const { whatsapp, clock, owner, errors, undelivered } = await openTwo()
  whatsapp.inject({ type: 'undelivered', code: 131026 })
  const shown = show(owner, done)
  await passing(clock, () => shown.delivery !== undefined)
  expect(shown.delivery).toMatchObject({ shown: 0, undelivered: [{ type: 'refused' }] })
  expect(errors.filter((error) => 'type' in error && error.type === 'delivery')).toHaveLength(1)
  expect(undelivered.toSorted()).toEqual([`owner: ${person}`, `receiver: ${person}`])
})

test('a failure long after the reply is over is told to the host of the process that works in the chat', async () => {
  const { whatsapp, clock, owner, undelivered } = await openTwo()
  whatsapp.inject({ type: 'undelivered', code: 131026, afterMs: 600_000 })
  const shown = show(owner, done)
  await passing(clock, () => shown.delivery !== undefined)
  expect([shown.delivery?.shown, undelivered]).toEqual([1, []])
  await passing(clock, () => undelivered.length === 2)
  expect(undelivered).toContain(`owner: ${person}`)
})

test.each([
  ['a message', {}],
  ['a sticker', { file: { name: 'a.webp', bytes: new Uint8Array(1), mime: 'image/webp' } }],
])('%s at another process opens the chat', async (_, more) => {
  const { whatsapp, clock, owner } = await openTwo()
  await clock.advance(dayMs + 1000)
  const shown = show(owner, done)
  const posts = () => whatsapp.calls.filter(({ kind }) => kind === 'text').length
  await passing(clock, () => posts() === 1)
  const from = clock.now()
  await passing(clock, () => clock.now() - from > 30_000)
  expect([posts(), said(whatsapp)]).toEqual([1, []])
  whatsapp.say(person, 'file' in more ? '' : 'And?', more)
  await passing(clock, () => shown.delivery !== undefined)
  expect(said(whatsapp)).toEqual(['It is done.'])
  expect(shown.delivery).toMatchObject({ shown: 1, undelivered: [], doubtful: 0 })
})

test('typing marks the newest text that another process received as read', async () => {
  const { whatsapp, clock, owner, received } = await openTwo()
  const id = whatsapp.say(person, 'Go')
  await passing(clock, () => received.length === 1)
  await owner.typing(chat)
  expect(whatsapp.calls.filter(({ kind }) => kind === 'typing')).toMatchObject([{ fields: { message_id: id } }])
})

test('a status that tells nothing new is not shared', async () => {
  const { whatsapp, clock, owner, receiver, shared } = await openTwo()
  const shown = show(owner, done)
  await passing(clock, () => shown.delivery !== undefined)
  const before = shared.length
  const [message] = whatsapp.screen(person)
  const { key } = (shared[0] as { readonly status: { readonly key: string } }).status
  const status = { id: message?.id, recipient_id: person, biz_opaque_callback_data: key, timestamp: '1' }
  const statuses = ['sent', 'delivered', 'read'].map((one) => ({ ...status, status: one }))
  expect(await push(whatsapp, receiver, { statuses })).toBe(200)
  expect(shared).toHaveLength(before)
  const errors = [{ code: 131026, title: 'Undeliverable' }]
  expect(await push(whatsapp, receiver, { statuses: [{ ...status, status: 'failed', errors }] })).toBe(200)
  expect(shared).toHaveLength(before + 1)
})

/** Has a process take a webhook, and resolves with the status of its response. */
async function push(whatsapp: FakeWhatsApp, to: BridgeConnection, value: object): Promise<number | undefined> {
  const metadata = { display_phone_number: '1', phone_number_id: whatsapp.phoneNumberId }
  const changes = [{ field: 'messages', value: { messaging_product: 'whatsapp', metadata, ...value } }]
  const body = Buffer.from(JSON.stringify({ object: 'whatsapp_business_account', entry: [{ id: '1', changes }] }))
  const headers = { 'x-hub-signature-256': whatsapp.sign(body) }
  return (await to.webhook?.take({ method: 'POST', headers, body }))?.status
}

test('a webhook whose fact could not be stored is redelivered, and then shared', async () => {
  const { whatsapp, clock, receiver, shared, received, errors, store } = await openTwo()
  const timestamp = String(Math.floor(clock.now() / 1000))
  const failed = { id: 'wamid.X', status: 'failed', timestamp, recipient_id: person, biz_opaque_callback_data: 'key' }
  const statuses = [{ ...failed, errors: [{ code: 131026, title: 'Undeliverable' }] }]
  const messages = [{ from: person, id: 'wamid.Y', timestamp, type: 'text', text: { body: 'Hi' } }]
  store(false)
  expect(await push(whatsapp, receiver, { statuses })).toBe(503)
  expect(await push(whatsapp, receiver, { messages })).toBe(503)
  expect([shared, received, errors]).toEqual([[], [], []])
  store(true)
  expect(await push(whatsapp, receiver, { statuses })).toBe(200)
  expect(await push(whatsapp, receiver, { messages })).toBe(200)
  expect(shared).toMatchObject([{ type: 'status' }, { type: 'wrote', people: [person], textID: 'wamid.Y' }])
  expect([received.length, errors.length]).toEqual([1, 1])
})

test.each([undefined, 'status', { type: 'status' }, { type: 'wrote', people: person, at: 1 }])(
  'a fact that cannot be read is reported and skipped: %j',
  async (fact) => {
    const { owner, errors } = await openTwo()
    owner.learn?.(fact)
    expect(errors).toMatchObject([{ type: 'malformed' }])
  },
)
