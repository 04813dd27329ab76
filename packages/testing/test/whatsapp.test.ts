import { createServer, type IncomingMessage } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { createHandClock, type HandClock, until } from '../src/index.ts'
import { type FakeWhatsApp, startWhatsApp, type WhatsAppOptions } from '../src/whatsapp/index.ts'

const token = 'EAA-token'
const ada = '491700000001'
const stops: (() => unknown)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

interface Started {
  readonly whatsapp: FakeWhatsApp
  readonly clock: HandClock
  /** Calls as a client does; what was answered. */
  send(
    body: object,
    to?: { readonly token?: string; readonly path?: string },
  ): Promise<{ status: number; body: Answer }>
}

interface Answer {
  readonly messages?: readonly { readonly id: string }[]
  readonly error?: { readonly code: number; readonly error_data?: { readonly details: string } }
}

async function start(options: Partial<WhatsAppOptions> = {}): Promise<Started> {
  const clock = createHandClock()
  const whatsapp = await startWhatsApp({ token, clock, ...options })
  stops.push(() => whatsapp.close())
  const send: Started['send'] = async (
    body,
    { token: given = token, path = `${whatsapp.phoneNumberId}/messages` } = {},
  ) => {
    const headers = { authorization: `Bearer ${given}`, 'content-type': 'application/json' }
    const whole = JSON.stringify({ messaging_product: 'whatsapp', ...body })
    const answer = await fetch(`${whatsapp.url}/${path}`, { method: 'POST', headers, body: whole })
    return { status: answer.status, body: (await answer.json()) as Answer }
  }
  return { whatsapp, clock, send }
}

const text = (body: string, to = ada): object => ({ to, type: 'text', text: { body } })
const buttons = (titles: readonly string[], body = 'Pick.'): object => ({
  to: ada,
  type: 'interactive',
  interactive: {
    type: 'button',
    body: { text: body },
    action: { buttons: titles.map((title, index) => ({ type: 'reply', reply: { id: `id-${index}`, title } })) },
  },
})
const list = (rows: readonly object[], body = 'Pick.'): object => ({
  to: ada,
  type: 'interactive',
  interactive: { type: 'list', body: { text: body }, action: { button: 'Options', sections: [{ rows }] } },
})

/** A webhook of the host's, and what it was told. */
async function hookOf({ whatsapp }: Started, status = 200): Promise<{ readonly told: Told[]; status: number }> {
  const told: Told[] = []
  const state = { told, status }
  const server = createServer((request, response) => {
    if (request.method === 'GET') {
      const query = new URL(request.url ?? '', 'http://a').searchParams
      response.end(query.get('hub.verify_token') === 'verify' ? query.get('hub.challenge') : '')
      return
    }
    void bodyOf(request).then((body) => {
      told.push({ body: JSON.parse(body), isSigned: request.headers['x-hub-signature-256'] === whatsapp.sign(body) })
      response.writeHead(state.status).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stops.push(() => {
    server.close()
    server.closeAllConnections()
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  await whatsapp.setWebhook(`http://127.0.0.1:${port}/`, 'verify')
  return state
}

interface Told {
  readonly body: {
    readonly entry: readonly { readonly changes: readonly { readonly value: Record<string, unknown> }[] }[]
  }
  readonly isSigned: boolean
}

const changeIn = ({ body }: Told): Record<string, unknown> => body.entry[0]?.changes[0]?.value ?? {}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

test('a text is shown with its formatting, and notifies', async () => {
  const { whatsapp, send } = await start()
  const { body } = await send({ ...text('*Hello* there'), context: { message_id: 'wamid.x' } })
  expect(whatsapp.screen(ada)).toMatchObject([
    {
      id: body.messages?.[0]?.id,
      text: 'Hello there',
      entities: [{ type: 'bold', offset: 0, length: 5 }],
      replyTo: 'wamid.x',
    },
  ])
  expect(whatsapp.notifications(ada)).toBe(1)
})

describe('rejected:', () => {
  const row = (more: object = {}): object => ({ id: 'a', title: 'A', ...more })
  test.each<[string, object, number]>([
    ['a text of more than 4,096 units', text('x'.repeat(4097)), 131009],
    ['an empty text', text(' '), 131009],
    ['a fourth button', buttons(['a', 'b', 'c', 'd']), 131009],
    ['a long title', buttons(['x'.repeat(21)]), 131009],
    ['a repeated title', buttons(['a', 'a']), 131009],
    ['a long body above buttons', buttons(['a'], 'x'.repeat(1025)), 131009],
    ['an eleventh row', list(Array.from({ length: 11 }, (_, index) => row({ id: String(index) }))), 131009],
    ['a long row', list([row({ title: 'x'.repeat(25) })]), 131009],
    ['a long description', list([row({ description: 'x'.repeat(73) })]), 131009],
    ['a repeated id', list([row(), row()]), 131009],
    ['a document that was never uploaded', { to: ada, type: 'document', document: { id: '5', filename: 'a' } }, 131009],
    ['a name where a number belongs', text('a', 'DE.123'), 131009],
    ['an unknown type', { to: ada, type: 'sticker' }, 131009],
  ])('%s', async (_, body, code) => {
    const { whatsapp, send } = await start()
    const answer = await send(body)
    expect([answer.status, answer.body.error?.code]).toEqual([400, code])
    expect(whatsapp.screen(ada)).toEqual([])
  })

  test('a wrong token, and the number of another business', async () => {
    const { whatsapp, send } = await start()
    expect((await send(text('a'), { token: 'other' })).body.error?.code).toBe(190)
    expect((await send(text('a'), { path: '1/messages' })).body.error?.code).toBe(100)
    expect(whatsapp.calls).toEqual([])
  })

  test('a second message within 6 s, but not after', async () => {
    const { clock, send, whatsapp } = await start()
    await send(text('one'))
    await clock.advance(5999)
    expect((await send(text('two'))).body.error?.code).toBe(131056)
    await clock.advance(6000)
    expect((await send(text('three'))).status).toBe(200)
    expect((await send(text('to another', '491700000002'))).status).toBe(200)
    expect(whatsapp.screen(ada).map((one) => one.text)).toEqual(['one', 'three'])
  })
})

test('an older server takes a shorter text above a list', async () => {
  const { send } = await start({ listBody: 1024 })
  const answer = await send(list([{ id: 'a', title: 'A' }], 'x'.repeat(1025)))
  expect(answer.body.error?.error_data?.details).toMatch(/max length: 1024/)
})

test('the webhook gets the challenge, then signed events of what people do', async () => {
  const started = await start()
  const { whatsapp, send } = started
  const { told } = await hookOf(started)
  const first = whatsapp.say(ada, 'Hi', { name: 'Ada' })
  await until(() => told.length === 1)
  expect(told[0]).toMatchObject({ isSigned: true, body: { object: 'whatsapp_business_account' } })
  expect(changeIn(told[0] ?? expect.fail())).toMatchObject({
    metadata: { phone_number_id: whatsapp.phoneNumberId },
    contacts: [{ wa_id: ada, profile: { name: 'Ada' } }],
    messages: [{ id: first, from: ada, type: 'text', text: { body: 'Hi' } }],
  })
  const { body } = await send(buttons(['Yes', 'No']))
  const id = body.messages?.[0]?.id ?? ''
  whatsapp.press(ada, id, 'No')
  await until(() => told.length === 4)
  expect(told.map((one) => Object.keys(changeIn(one)).at(-1))).toEqual(['messages', 'statuses', 'statuses', 'messages'])
  expect(changeIn(told[3] ?? expect.fail())).toMatchObject({
    messages: [{ context: { id }, interactive: { type: 'button_reply', button_reply: { id: 'id-1', title: 'No' } } }],
  })
  await expect(whatsapp.setWebhook('http://127.0.0.1:1/', 'verify')).rejects.toThrow()
})

test('an event that the webhook rejects is sent again', async () => {
  const started = await start()
  const hook = await hookOf(started, 500)
  started.whatsapp.say(ada, 'Hi')
  await until(() => started.whatsapp.webhookCalls[0]?.status === 500)
  hook.status = 200
  await started.clock.advance(1000)
  await until(() => started.whatsapp.webhookCalls[1]?.status === 200)
  expect(hook.told).toHaveLength(2)
})

test('a person with a username is identified by user id alone', async () => {
  const started = await start()
  const { told } = await hookOf(started)
  started.whatsapp.say('DE.123', 'Hi')
  await until(() => told.length === 1)
  expect(changeIn(told[0] ?? expect.fail())).toMatchObject({
    contacts: [{ user_id: 'DE.123' }],
    messages: [{ from_user_id: 'DE.123' }],
  })
  expect((await started.send({ ...text('Hi'), to: undefined, recipient: 'DE.123' })).status).toBe(200)
})

// https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/status
test('statuses repeat what was posted with a message, also one that is not delivered', async () => {
  const started = await start({ faults: [{ type: 'undelivered', code: 131026, nth: 2 }] })
  const { whatsapp, clock, send } = started
  const { told } = await hookOf(started)
  const marked = (mark: string): object => ({ ...text('Hi'), biz_opaque_callback_data: mark })
  await send(marked('one'))
  await clock.advance(6000)
  expect((await send(marked('two'))).status).toBe(200)
  await until(() => told.length === 3)
  expect(told.map((one) => changeIn(one).statuses)).toMatchObject([
    [{ status: 'sent', biz_opaque_callback_data: 'one' }],
    [{ status: 'delivered', biz_opaque_callback_data: 'one' }],
    [{ status: 'failed', biz_opaque_callback_data: 'two', errors: [{ code: 131026 }] }],
  ])
  expect(whatsapp.screen(ada)).toHaveLength(1)
  await clock.advance(6000)
  expect((await send(marked('x'.repeat(513)))).body.error?.code).toBe(131009)
})

test('after 24 h a message is accepted and reported as failed, or rejected at once', async () => {
  const started = await start()
  const { whatsapp, clock, send } = started
  const { told } = await hookOf(started)
  await clock.advance(86_400_001)
  expect((await send(text('late'))).status).toBe(200)
  await until(() => told.length === 1)
  expect(changeIn(told[0] ?? expect.fail())).toMatchObject({
    statuses: [{ status: 'failed', errors: [{ code: 131047 }] }],
  })
  expect(whatsapp.screen(ada)).toEqual([])
  const strict = await start({ closedWindow: 'refuse' })
  await strict.clock.advance(86_400_001)
  expect((await strict.send(text('late'))).body.error?.code).toBe(131047)
  strict.whatsapp.say(ada, 'Hi')
  expect((await strict.send(text('now'))).status).toBe(200)
})

test('typing shows for 25 s, or until a message comes', async () => {
  const { whatsapp, clock, send } = await start()
  const typing = { status: 'read', message_id: whatsapp.say(ada, 'Hi'), typing_indicator: { type: 'text' } }
  await send(typing)
  expect(whatsapp.typing(ada)).toBe(true)
  await clock.advance(25_000)
  expect(whatsapp.typing(ada)).toBe(false)
  expect((await send({ ...typing, message_id: 'wamid.none' })).status).toBe(400)
})

test.each([
  ['refuse', 0],
  ['accept-then-drop', 1],
] as const)('%s breaks the connection and leaves %i messages', async (type, count) => {
  const { whatsapp, send } = await start({ faults: [{ type, nth: 2 }] })
  expect((await send(text('to Bob', '491700000002'))).status).toBe(200)
  await expect(send(text('one'))).rejects.toThrow()
  expect(whatsapp.screen(ada)).toHaveLength(count)
  expect((await send(text('three', '491700000003'))).status).toBe(200)
})

test('people remove messages and press existing buttons only, and observers are notified', async () => {
  const { whatsapp, send } = await start()
  const seen: string[] = []
  const stop = whatsapp.observe((person) => seen.push(person))
  const { body } = await send(buttons(['Yes']))
  const id = body.messages?.[0]?.id ?? ''
  expect(() => whatsapp.press(ada, id, 'No')).toThrow(/no button "No"/)
  whatsapp.remove(ada, id)
  stop()
  expect(() => whatsapp.press(ada, id, 'Yes')).toThrow(/shows no message/)
  expect([whatsapp.screen(ada), seen]).toEqual([[], [ada, ada]])
})
