import { createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { listen } from './listen.ts'
import { until, workspace } from './workspace.ts'

interface Received {
  readonly at: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
  readonly body: Readonly<Record<string, unknown>>
}

const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

/** An app that keeps what it is sent, and answers with the statuses given, the last one again and again. */
async function app(...statuses: readonly number[]) {
  const begun = await workspace()
  const received: Received[] = []
  const hook = await listen(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    const json = text.startsWith('payload=') ? new URLSearchParams(text).get('payload') : text
    received.push({ at: begun.clock.now(), headers: request.headers, text, body: JSON.parse(json ?? '') })
    response.writeHead(statuses[received.length - 1] ?? statuses.at(-1) ?? 200).end()
  })
  stops.push(hook.stop)
  begun.slack.sendTo(`${hook.url}/`)
  return { ...begun, received }
}

describe('an event', () => {
  test('is signed and contains the text and its place', async () => {
    const { slack, received } = await app()
    const ts = slack.say('C1', 'a & b', { from: { id: 'U5', name: 'Ada' } })
    await until(() => received.length === 1)
    const { headers, text, body } = received[0] ?? expect.fail()
    const time = headers['x-slack-request-timestamp']
    const hmac = createHmac('sha256', slack.signingSecret).update(`v0:${time}:${text}`).digest('hex')
    expect(headers['x-slack-signature']).toBe(`v0=${hmac}`)
    expect(body).toMatchObject({
      type: 'event_callback',
      event: { type: 'message', channel: 'C1', channel_type: 'channel', ts, user: 'U5', text: 'a &amp; b' },
    })
  })

  test('arrives twice when the bot is mentioned, each time with its own id', async () => {
    const { slack, received } = await app()
    slack.say('C1', 'Hi', { mention: true })
    await until(() => received.length === 2)
    expect(received.map(({ body }) => Object(body.event).type)).toEqual(['message', 'app_mention'])
    expect(new Set(received.map(({ body }) => body.event_id)).size).toBe(2)
  })

  test('without an acknowledgement is sent again at once, after a minute, and after five more', async () => {
    const { slack, received, clock } = await app(500)
    slack.say('D1', 'x')
    while (received.length < 4) {
      for (let calm = 0; calm < 9; calm++) await new Promise((resolve) => setImmediate(resolve))
      await clock.advance(1000)
    }
    const [first = 0, ...times] = received.map(({ at }) => at)
    expect(times.map((at) => Math.round((at - first) / 60_000))).toEqual([0, 1, 6])
    expect(received.map(({ headers }) => headers['x-slack-retry-num'])).toEqual([undefined, '1', '2', '3'])
    expect(new Set(received.map(({ body }) => body.event_id)).size).toBe(1)
  })

  test('is sent again if the acknowledgement is lost', async () => {
    const { slack, received } = await app()
    slack.repeatNext()
    slack.say('D1', 'x')
    await until(() => received.length === 2)
    expect(received[1]?.headers['x-slack-retry-num']).toBe('1')
  })
})

describe('a person', () => {
  const blocks = [
    {
      type: 'actions',
      block_id: 'b',
      elements: [
        { type: 'button', action_id: 'a', text: { type: 'plain_text', text: 'Open' }, value: 'v' },
        {
          type: 'static_select',
          action_id: 's',
          placeholder: { type: 'plain_text', text: 'Pick' },
          options: [{ text: { type: 'plain_text', text: 'One' }, value: '1' }],
        },
      ],
    },
  ]
  const label = { type: 'plain_text', text: 'Name' }
  const input = { type: 'input', block_id: 'i', label, element: { type: 'plain_text_input', action_id: 'n' } }
  const view = { type: 'modal', title: label, submit: label, callback_id: 'c', private_metadata: 'm', blocks: [input] }

  test('presses a button and picks an option, and the app receives both', async () => {
    const { slack, received, call } = await app()
    const { ts = '' } = await call('chat.postMessage', { channel: 'C1', text: '?', blocks })
    expect([await slack.press('C1', ts, 'Open'), await slack.choose('C1', ts, 'One')]).toEqual([true, true])
    expect(received.map(({ body }) => body)).toMatchObject([
      {
        type: 'block_actions',
        actions: [{ action_id: 'a', block_id: 'b', value: 'v' }],
        message: { ts },
        user: { id: 'U1' },
      },
      { actions: [{ action_id: 's', selected_option: { value: '1' } }] },
    ])
    expect(() => slack.press('C1', ts, 'Close')).toThrow(/no button "Close" that reaches the bot\. It has "Open"/)
  })

  test('fills in a dialog, which one press opens once and within 3 s', async () => {
    const { slack, received, call, clock } = await app()
    const { ts = '' } = await call('chat.postMessage', { channel: 'C1', text: '?', blocks })
    const trigger = async (): Promise<unknown> => {
      await slack.press('C1', ts, 'Open')
      return received.at(-1)?.body.trigger_id
    }
    const trigger_id = await trigger()
    expect((await call('views.open', { trigger_id, view })).ok).toBe(true)
    expect((await call('views.open', { trigger_id, view })).error).toBe('invalid_trigger_id')
    await expect(slack.submit([''])).rejects.toThrow(/"Name" must be filled in/)
    expect(await slack.submit(['Rex'])).toBe(true)
    expect(received.at(-1)?.body).toMatchObject({
      type: 'view_submission',
      view: { callback_id: 'c', private_metadata: 'm', state: { values: { i: { n: { value: 'Rex' } } } } },
    })
    const late = await trigger()
    await clock.advance(3001)
    expect((await call('views.open', { trigger_id: late, view })).error).toBe('expired_trigger_id')
    await expect(slack.submit(['x'])).rejects.toThrow(/no dialog open/)
  })
})

test('a socket delivers the same events, and repeats those that are not acknowledged', async () => {
  const { slack, call, clock } = await workspace()
  expect((await call('apps.connections.open')).error).toBe('invalid_auth')
  const { url } = await call('apps.connections.open', {}, slack.appToken)
  const socket = new WebSocket(String(url))
  stops.push(() => socket.terminate())
  const messages: Readonly<Record<string, unknown>>[] = []
  socket.on('message', (message) => messages.push(JSON.parse(String(message))))
  await until(() => messages.length === 1)
  expect([messages[0]?.type, slack.sockets]).toEqual(['hello', 1])
  slack.say('D1', 'x')
  await until(() => messages.length === 2)
  await clock.advance(3000)
  await until(() => messages.length === 3)
  expect(messages.slice(1)).toMatchObject([
    { type: 'events_api', retry_attempt: 0, payload: { event: { text: 'x' } } },
    { type: 'events_api', retry_attempt: 1 },
  ])
  socket.send(JSON.stringify({ envelope_id: messages[2]?.envelope_id }))
  await until(() => clock.pending === 0)
  slack.recycle()
  await until(() => messages.at(-1)?.type === 'disconnect')
  const again = new WebSocket(String(url))
  again.on('error', () => {})
  await until(() => again.readyState === WebSocket.CLOSED)
})
