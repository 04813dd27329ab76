import { PortError } from '@reply/sink/channel'
import { describe, expect, test } from 'vitest'
import { sharedReports } from '../src/cloud/reports.ts'
import { createCloudClient } from '../src/index.ts'
import { createCloudPort, renderWhatsApp } from '../src/internal.ts'
import { editing, ending, open, passing, person, posting, token } from './cloud.ts'

const button = (label: string, data = `tok.${label}`): { label: string; data: string } => ({ label, data })

describe('buttons', () => {
  test('are reply buttons if three short ones fit', async () => {
    const { whatsapp, port, bubble } = await open()
    const buttons = [[button('Allow once'), button('Always'), button('Reject')]]
    await port.post(bubble('May it?', { buttons }), posting)
    expect(whatsapp.screen(person)).toMatchObject([
      {
        kind: 'buttons',
        text: 'May it?',
        buttons: [{ label: 'Allow once', data: 'tok.Allow once' }, {}, { label: 'Reject' }],
      },
    ])
  })

  test.each([
    ['four', ['a', 'b', 'c', 'd'], 'Pick.'],
    ['long labels', ['a label of more than 20 units', 'b'], 'Pick.'],
    ['the same label twice', ['a', 'a'], 'Pick.'],
  ])('are a list for %s', async (_, labels, body) => {
    const { whatsapp, port, bubble } = await open()
    const buttons = labels.map((label, index) => [button(label, `tok.${index}`)])
    await port.post(bubble(body, { buttons }), posting)
    const [message] = whatsapp.screen(person)
    expect(message).toMatchObject({ kind: 'list', text: body })
    expect(message?.buttons.map(({ data }) => data)).toEqual(labels.map((_label, index) => `tok.${index}`))
  })

  test("have their full label in the row's description if its title is too short", async () => {
    const { whatsapp, port, bubble } = await open()
    const label = `${'x'.repeat(22)}👍 and no less than this`
    await port.post(bubble('Pick.', { buttons: [[button(label)]] }), posting)
    expect(whatsapp.screen(person)[0]?.buttons).toEqual([
      { label: `${'x'.repeat(22)}…`, description: label, data: `tok.${label}` },
    ])
  })

  test('are left out if there are more than ten: the text names the options', async () => {
    const { whatsapp, port, bubble } = await open()
    const buttons = Array.from({ length: 11 }, (_, index) => [button(String(index))])
    await port.post(bubble('Pick.', { buttons }), posting)
    expect(whatsapp.screen(person)).toMatchObject([{ kind: 'text', text: 'Pick.', buttons: [] }])
  })

  test('are left out below a body of over 1,024 units; no text is lost or repeated', async () => {
    const { whatsapp, port, bubble } = await open()
    const body = 'x'.repeat(1025)
    await port.post(bubble(body, { buttons: [[button('a')]] }), posting)
    expect(whatsapp.screen(person)).toMatchObject([{ kind: 'text', text: body }])
    expect(whatsapp.calls.map(({ kind, status }) => [kind, status])).toEqual([['text', 200]])
  })
})

test('the prompt is marked as read, and typing shows until it is answered', async () => {
  const { whatsapp, client, clock, bubble } = await open()
  const port = createCloudPort({ client, clock, to: person, replyTo: whatsapp.say(person, 'Hi') })
  await port.typing?.(true, editing)
  expect(whatsapp.typing(person)).toBe(true)
  await clock.advance(25_000)
  expect(whatsapp.typing(person)).toBe(false)
  await port.typing?.(true, editing)
  await port.post(bubble('Hello.'), posting)
  expect(whatsapp.typing(person)).toBe(false)
  await port.typing?.(false, editing)
  expect(whatsapp.count('typing')).toBe(2)
})

test('a file is uploaded, and sent with its name and caption', async () => {
  const { whatsapp, port } = await open()
  const file = {
    name: 'code-1.ts',
    mime: 'text/plain',
    bytes: Buffer.from('const a = "ä"\n'),
    caption: 'code_1, *new*',
  }
  await port.upload?.(file, posting)
  const [message] = whatsapp.screen(person)
  expect([message?.kind, message?.text, message?.document?.name]).toEqual(['document', 'code_1, *new*', 'code-1.ts'])
  expect(Buffer.from(message?.document?.bytes ?? [])).toEqual(file.bytes)
})

test('a reaction is set and removed', async () => {
  const { whatsapp, port, clock } = await open()
  const id = whatsapp.say(person, 'Hi')
  await port.react?.({ id }, 'seen', editing)
  expect(whatsapp.screen(person)[0]?.reaction).toBe('👀')
  await clock.advance(6000)
  await port.react?.({ id }, undefined, editing)
  expect(whatsapp.screen(person)[0]?.reaction).toBeUndefined()
})

test('a person with a username instead of a number is addressed by their id', async () => {
  const { whatsapp, port, bubble } = await open({}, { to: 'DE.13491208655302741918' })
  await port.post(bubble('Hello.'), posting)
  expect(whatsapp.screen('DE.13491208655302741918')).toMatchObject([{ text: 'Hello.' }])
  expect(whatsapp.calls[0]?.fields).toMatchObject({ recipient: 'DE.13491208655302741918' })
  expect(whatsapp.calls[0]?.fields.to).toBeUndefined()
})

describe('a failure', () => {
  test.each<[string, number, number, Partial<PortError>]>([
    ["the pair's rate", 429, 131056, { type: 'rate-limited', retryAfterMs: 6000, scope: 'chat' }],
    ["the number's rate", 429, 130429, { type: 'rate-limited', retryAfterMs: 5000, scope: 'client' }],
    ["the account's rate", 400, 80007, { type: 'rate-limited', retryAfterMs: 60_000, scope: 'client' }],
    ['the 24 hours', 400, 131047, { type: 'refused', message: expect.stringMatching(/24 h.*template/) }],
    [
      'no such person',
      400,
      131026,
      { type: 'refused', isOfChat: true, message: expect.stringMatching(/not on WhatsApp/) },
    ],
    [
      'not on the list of a test number',
      400,
      131030,
      { type: 'refused', message: expect.stringMatching(/test number/) },
    ],
    [
      'a token that expired',
      401,
      190,
      { type: 'refused', isOfChat: false, message: expect.stringMatching(/system user/) },
    ],
    ['an unknown code', 400, 131051, { type: 'refused' }],
    ['an internal error', 500, 131000, { type: 'unreachable' }],
    ['an unavailable service', 503, 2, { type: 'unreachable' }],
    ['a gateway', 504, 1, { type: 'ambiguous' }],
  ])('has its kind: %s', async (_, status, code, expected) => {
    const { whatsapp, port, bubble } = await open({ faults: [{ type: 'refused', status, code }] })
    expect(await ending(port.post(bubble('Hello.'), posting))).toMatchObject(expected)
    expect(whatsapp.screen(person)).toEqual([])
  })

  test('never contains the token, although Meta repeats a malformed one', async () => {
    const details = `Malformed access token ${token}`
    const { port, bubble } = await open({ faults: [{ type: 'refused', status: 401, code: 190, details }] })
    expect(await ending(port.post(bubble('Hello.'), posting))).toMatchObject({ message: /Malformed access token …/ })
  })

  test("is too-long if Meta's text says so", async () => {
    const { port, bubble } = await open({
      faults: [
        { type: 'refused', status: 400, code: 100, details: 'Param text[body] must be at most 4096 characters long.' },
      ],
    })
    expect(await ending(port.post(bubble('Hello.'), posting))).toMatchObject({ type: 'too-long' })
  })

  test.each([
    ['a page', { type: 'page', status: 502 }, 'ambiguous'],
    ['a page of a gateway', { type: 'page', status: 504 }, 'ambiguous'],
    ['a broken connection', { type: 'accept-then-drop' }, 'ambiguous'],
  ] as const)('%s', async (_, fault, type) => {
    const { port, bubble } = await open({ faults: [fault] })
    expect(await ending(port.post(bubble('Hello.'), posting))).toMatchObject({ type })
  })

  test('is ambiguous after a timeout', async () => {
    const { whatsapp, port, bubble, clock } = await open(
      { faults: [{ type: 'accept-then-stall' }] },
      { timeoutMs: 1000 },
    )
    const post = ending(port.post(bubble('Hello.'), posting))
    while (whatsapp.screen(person).length === 0) await new Promise((resolve) => setImmediate(resolve))
    await clock.advance(1000)
    expect(await post).toMatchObject({ type: 'ambiguous' })
  })

  test('of a media upload is unreachable: it posted nothing', async () => {
    const { whatsapp, port } = await open({ faults: [{ type: 'accept-then-drop', kind: 'media' }] })
    const file = { name: 'a.txt', mime: 'text/plain', bytes: Buffer.from('a'), caption: 'A.' }
    expect(await ending(port.upload?.(file, posting))).toMatchObject({ type: 'unreachable' })
    expect(whatsapp.screen(person)).toEqual([])
  })

  test('without a server is unreachable', async () => {
    const { whatsapp, port, bubble } = await open()
    await whatsapp.close()
    expect(await ending(port.post(bubble('Hello.'), posting))).toMatchObject({ type: 'unreachable' })
  })
})

type Failure = Awaited<ReturnType<typeof open>>

/** Posts with the key `k`, and gets an answer that tells nothing. */
async function postUnanswered({ whatsapp, port, bubble }: Failure): Promise<void> {
  whatsapp.inject({ type: 'page', status: 502, kind: 'text' })
  await ending(port.post(bubble('a'), posting))
}

/** Posts with the key `k`, and may no longer do so before the answer. */
async function postUntilAborted({ whatsapp, port, bubble }: Failure): Promise<void> {
  whatsapp.inject({ type: 'accept-then-stall', kind: 'text' })
  const lost = new AbortController()
  const post = ending(port.post(bubble('a'), { ...posting, signal: lost.signal }))
  while (whatsapp.screen(person).length === 0) await new Promise((resolve) => setImmediate(resolve))
  lost.abort()
  await post
}

test.each([
  ['absent if it had no answer and the webhooks were received since before it', 'absent', 1000, postUnanswered],
  ['unknown if its status may have come before they were received', 'unknown', -1000, postUnanswered],
  ['unknown if its status may have gone to another process that posted it', 'unknown', 1000, async () => {}],
  ['unknown if another process may have got its status meanwhile', 'unknown', 1000, postUntilAborted],
] as const)('a post that no status names while others come is %s', async (_, type, triedAfterMs, act) => {
  const opened = await open()
  const { port, client, clock } = opened
  const reports = sharedReports(client)
  reports.startListening(clock.now())
  const since = clock.now() + triedAfterMs
  await act(opened)
  await clock.advance(2000)
  const looked = port.lookUp?.({ ...editing, kind: 'message', key: 'k', since })
  let found: unknown
  void looked?.then((result) => {
    found = result.type
  })
  reports.recordStatus({ ref: { id: 'wamid.other' }, key: 'other', people: [person] })
  await passing(clock, () => found !== undefined)
  expect(found).toBe(type)
})

test('invalid client options throw at once, without the token', async () => {
  const make = (more: object) => async () => createCloudClient({ token, phoneNumberId: '1', ...more })
  expect(await ending(make({ token: ' ' })())).toMatchObject({
    type: 'invalid',
    message: expect.stringMatching(/token/),
  })
  expect(await ending(make({ phoneNumberId: '+49 170' })())).toMatchObject({
    type: 'invalid',
    message: expect.stringMatching(/phone number id/),
  })
  expect(await ending(make({ apiUrl: 'graph' })())).toMatchObject({
    type: 'invalid',
    message: expect.stringMatching(/URL/),
  })
})

test('a wrong token and a wrong number are refused', async () => {
  const { whatsapp, clock } = await open()
  const bubble = { ...renderWhatsApp('a'), source: 'a', isPlain: false, buttons: [] }
  const apiUrl = whatsapp.url
  for (const client of [
    createCloudClient({ token: 'EAAvery-secret-other', phoneNumberId: whatsapp.phoneNumberId, apiUrl }),
    createCloudClient({ token, phoneNumberId: '1', apiUrl }),
  ]) {
    const error = await ending(createCloudPort({ client, to: person, clock }).post(bubble, posting))
    expect(error).toBeInstanceOf(PortError)
    expect(error).toMatchObject({ type: 'refused' })
  }
})

describe('a post has the time when it was accepted', () => {
  test("by Meta's clock, in whole seconds", async () => {
    const { port, clock, bubble } = await open()
    await clock.advance(1234)
    const at = Math.floor(clock.now() / 1000) * 1000
    expect((await port.post(bubble('Ask.'), posting)).postedAt).toBe(at)
    await clock.advance(6000)
    const file = { name: 'a.txt', mime: 'text/plain', bytes: Buffer.from('a'), caption: 'A.' }
    expect((await port.upload?.(file, posting))?.postedAt).toBe(at + 6000)
  })

  test('unless the Date header is missing', async () => {
    const { port, bubble } = await open({ dates: false })
    expect(await port.post(bubble('Ask.'), posting)).toEqual({
      id: expect.stringMatching(/^wamid/),
      postedAt: undefined,
    })
  })
})
