import type { Reply } from '@reply/core'
import { type Delivery, type Inbound, memoryStore, type Sink, SinkError } from '@reply/sink'
import type { CloudFault, WhatsAppOptions } from '@reply/testing/whatsapp'
import { afterEach, expect, test } from 'vitest'
import { replyWith, settledWith, text } from '../../sink/test/make.ts'
import { listen } from '../../testing/test/listen.ts'
import { type WhatsAppError, whatsappChannel } from '../src/index.ts'
import { createCloudPort } from '../src/internal.ts'
import { passing, person, start } from './cloud.ts'

const dayMs = 86_400_000

const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

/** A number whose webhooks reach a channel, and one person's chat with it. */
async function open(options: Partial<WhatsAppOptions> = {}, onInbound: (inbound: Inbound) => unknown = () => {}) {
  const begun = await start(options)
  const { whatsapp, client, clock } = begun
  const store = memoryStore()
  const errors: Error[] = []
  const onError = (error: Error): unknown => errors.push(error)
  const channel = whatsappChannel({
    client,
    clock,
    store,
    onError,
    onInbound,
    appSecret: whatsapp.appSecret,
    verifyToken: 'a-verify-token',
  })
  const hook = await listen(channel.listener)
  stops.push(hook.stop)
  await whatsapp.setWebhook(`${hook.url}/`, 'a-verify-token')
  const sinkNow = (): Sink => channel.sinkFor({ chat: { id: person } })
  const pass = async (ms: number): Promise<void> => {
    const end = clock.now() + ms
    await passing(clock, () => clock.now() >= end)
  }
  /** What the person sees of the number's messages. */
  const shown = () => whatsapp.screen(person).flatMap(({ from, text }) => (from === 'business' ? [text] : []))
  const posts = () => whatsapp.calls.filter(({ kind }) => kind === 'text').length
  const held = () => errors.filter((error) => error instanceof SinkError && error.type === 'chat-closed').length
  return { ...begun, channel, errors, sinkNow, pass, shown, posts, held }
}

const show = (sink: Sink, reply: Reply): void => void sink.replyStarted?.({ type: 'replyStarted', reply })
const settle = (sink: Sink, reply: Reply): void =>
  void sink.replySettled?.({ type: 'replySettled', outcome: 'completed', reply })
const done = settledWith([text('It is done.')])

/** The delivery, once it is over. */
function endOf(sink: Sink): { delivery?: Delivery } {
  const end: { delivery?: Delivery } = {}
  void sink.settled().then((delivery) => {
    end.delivery = delivery
  })
  return end
}

test.each(['report', 'refuse'] as const)(
  'after 24 h no more calls are made, and the answer comes when the person writes: %s',
  async (closedWindow) => {
    const { whatsapp, clock, sinkNow, pass, shown, posts, held, errors } = await open({ closedWindow })
    await clock.advance(dayMs + 1000)
    const sink = sinkNow()
    show(sink, { ...replyWith([]), startedAt: clock.now() })
    await pass(240_000)
    expect([posts(), shown(), held()]).toEqual([1, [], 1])
    await pass(1_200_000)
    settle(sink, done)
    const end = endOf(sink)
    await pass(60_000)
    expect([posts(), shown(), held(), end]).toEqual([1, [], 1, {}])
    expect(errors.some(({ message }) => /131047.*send an approved template/.test(message))).toBe(true)
    whatsapp.say(person, 'And?')
    await passing(clock, () => end.delivery !== undefined)
    expect(shown()).toEqual(['It is done.'])
    expect(end.delivery).toMatchObject({ shown: 1, undelivered: [], doubtful: 0 })
  },
)

test('an answer that WhatsApp took and did not deliver is not shown, and is posted again when the person writes', async () => {
  const { whatsapp, clock, sinkNow, pass, shown, posts } = await open()
  await clock.advance(dayMs + 1000)
  const sink = sinkNow()
  show(sink, done)
  const end = endOf(sink)
  await pass(30_000)
  expect([posts(), shown(), end]).toEqual([1, [], {}])
  whatsapp.say(person, 'And?')
  await passing(clock, () => end.delivery !== undefined)
  expect([shown(), end.delivery]).toMatchObject([['It is done.'], { shown: 1, undelivered: [], doubtful: 0 }])
})

test('a sticker opens the chat too', async () => {
  const { whatsapp, clock, sinkNow, pass, shown } = await open()
  await clock.advance(dayMs + 1000)
  const sink = sinkNow()
  show(sink, done)
  await pass(30_000)
  expect(shown()).toEqual([])
  whatsapp.say(person, '', { file: { name: 'a.webp', bytes: new Uint8Array(1), mime: 'image/webp' } })
  await passing(clock, () => shown().length === 1)
  await sink.stop()
})

test('what is held survives a restart', async () => {
  const { whatsapp, clock, sinkNow, pass, shown } = await open()
  await clock.advance(dayMs + 1000)
  const first = sinkNow()
  show(first, done)
  await pass(30_000)
  await first.stop()
  expect((await first.settled()).undelivered).toMatchObject([{ key: 'answer#0', type: 'stopped' }])
  const second = sinkNow()
  show(second, done)
  const end = endOf(second)
  await pass(30_000)
  expect([shown(), end]).toEqual([[], {}])
  whatsapp.say(person, 'And?')
  await passing(clock, () => end.delivery !== undefined)
  expect(shown()).toEqual(['It is done.'])
})

test('another chat goes on while one is closed', async () => {
  const { whatsapp, clock, channel, sinkNow, pass, shown } = await open()
  await clock.advance(dayMs + 1000)
  const other = '491700000002'
  whatsapp.say(other, 'Hi')
  const here = sinkNow()
  show(here, done)
  await pass(30_000)
  const there = channel.sinkFor({ chat: { id: other } })
  show(there, done)
  await passing(clock, () => whatsapp.screen(other).length === 2)
  expect(shown()).toEqual([])
  await Promise.all([here.stop(), there.stop()])
})

test('a message that fails for another reason is named with it, and does not count as shown', async () => {
  const { whatsapp, clock, sinkNow, shown, errors } = await open()
  whatsapp.inject({ type: 'undelivered', code: 131026 })
  const sink = sinkNow()
  show(sink, done)
  const end = endOf(sink)
  await passing(clock, () => end.delivery !== undefined)
  expect(shown()).toEqual([])
  expect(end.delivery).toMatchObject({
    shown: 0,
    undelivered: [{ key: 'answer#0', type: 'refused', reason: expect.stringMatching(/131026.*not on WhatsApp/) }],
  })
  expect((errors as WhatsAppError[]).filter(({ type }) => type === 'delivery')).toHaveLength(1)
})

test('a message that fails seconds after it was sent is named, too', async () => {
  const { whatsapp, clock, sinkNow, shown } = await open()
  whatsapp.inject({ type: 'undelivered', code: 131026, afterMs: 9000 })
  const sink = sinkNow()
  show(sink, done)
  const end = endOf(sink)
  await passing(clock, () => end.delivery !== undefined)
  expect(shown()).toEqual([])
  expect(end.delivery).toMatchObject({ shown: 0, undelivered: [{ key: 'answer#0', type: 'refused' }] })
})

test('a file that fails seconds after it was sent is named in the chat with the reason', async () => {
  const { whatsapp, clock, channel, shown } = await open()
  whatsapp.inject({ type: 'undelivered', code: 131053, afterMs: 3000, kind: 'document' })
  const sink = channel.sinkFor({ chat: { id: person } }, { readFile: async () => Buffer.from('content') })
  const file = { id: 'prt_f', messageID: 'msg_2', type: 'file', status: 'sealed', raw: undefined } as const
  show(sink, settledWith([text('It is done.'), { ...file, mime: 'text/plain', url: 'report.txt' }]))
  const end = endOf(sink)
  await passing(clock, () => end.delivery !== undefined)
  expect(shown()).toEqual(['It is done.', "📎 The file report.txt can't be sent to this chat."])
  expect(end.delivery).toMatchObject({ shown: 2, undelivered: [{ card: 'attachment', type: 'refused' }] })
})

test('a reply does not wait for more statuses of a message that was delivered', async () => {
  const { clock, sinkNow } = await open()
  const sink = sinkNow()
  show(sink, done)
  const end = endOf(sink)
  const at = clock.now()
  await passing(clock, () => end.delivery !== undefined)
  expect(clock.now() - at).toBeLessThan(5000)
})

const failure: CloudFault = { type: 'refused', status: 502, code: 9, kind: 'text' }

// 240 words of that length take two messages.
const words = (name: string): string =>
  Array.from({ length: 120 }, (_, at) => `${name}${at} ${'x'.repeat(20)}`).join(' ')
const long = settledWith([text(`${words('a')}\n\n${words('b')}`)])

test.each<[string, readonly CloudFault[]]>([
  ['two that were not taken', [{ ...failure, times: 2 }]],
  ['two that were taken', [{ ...failure, isTaken: true, times: 2 }]],
  [
    'one that was taken, then one that was not',
    [
      { ...failure, isTaken: true },
      { ...failure, nth: 2 },
    ],
  ],
  ['one that was not, then one that was', [failure, { ...failure, nth: 2, isTaken: true }]],
  [
    'broken connections',
    [
      { type: 'accept-then-drop', kind: 'text' },
      { type: 'refuse', kind: 'text', nth: 2 },
    ],
  ],
  ['five in a row', [{ ...failure, times: 5 }]],
])('failed calls are settled by what the webhooks say: %s', async (_, faults) => {
  const { whatsapp, clock, sinkNow, shown } = await open({}, (inbound) =>
    inbound.type === 'text' ? inbound.answer('On it.') : undefined,
  )
  whatsapp.say(person, 'Go')
  await passing(clock, () => shown().length === 1)
  for (const fault of faults) whatsapp.inject(fault)
  const sink = sinkNow()
  show(sink, long)
  const end = endOf(sink)
  await passing(clock, () => end.delivery !== undefined)
  const said = shown().join('\n').split(/\s+/)
  const copies = [...Array(120).keys()].flatMap((at) =>
    ['a', 'b'].map((name) => said.filter((word) => word === `${name}${at}`).length),
  )
  expect([new Set(copies), shown().length]).toEqual([new Set([1]), 3])
  expect(end.delivery).toMatchObject({ shown: 2, undelivered: [], doubtful: 0 })
})

/** Passes on a webhook with statuses or messages. */
async function pushed({ whatsapp, channel }: Awaited<ReturnType<typeof open>>, value: object): Promise<void> {
  const metadata = { display_phone_number: '1', phone_number_id: whatsapp.phoneNumberId }
  const changes = [{ field: 'messages', value: { messaging_product: 'whatsapp', metadata, ...value } }]
  const body = Buffer.from(JSON.stringify({ object: 'whatsapp_business_account', entry: [{ id: '1', changes }] }))
  const headers = { 'x-hub-signature-256': whatsapp.sign(body) }
  expect(await channel.webhook({ method: 'POST', headers, body })).toEqual({ status: 200 })
}

const closing = { code: 131047, title: 'Re-engagement message' }

test('a late report of a message from before the person wrote does not close the chat again', async () => {
  const opened = await open()
  const { whatsapp, clock, sinkNow, pass, shown } = opened
  const timestamp = String(Math.floor(clock.now() / 1000))
  await clock.advance(60_000)
  whatsapp.say(person, 'Hi')
  await pass(2000)
  await pushed(opened, {
    statuses: [{ id: 'wamid.X', status: 'failed', timestamp, recipient_id: person, errors: [closing] }],
  })
  const sink = sinkNow()
  show(sink, done)
  await passing(clock, () => shown().length === 1)
  await sink.stop()
})

test('a person who is known by two ids is reached by both as soon as they write, and not by a message to a group', async () => {
  const opened = await open()
  const { client, clock } = opened
  const at = (): string => String(Math.floor(clock.now() / 1000))
  const ids = [person, 'DE.1234567890']
  const areClosed = () => ids.map((to) => createCloudPort({ client, to, clock }).reports?.isClosed())
  const status = { id: 'wamid.X', status: 'failed', recipient_id: person, recipient_user_id: ids[1], errors: [closing] }
  await pushed(opened, { statuses: [{ ...status, timestamp: at() }] })
  expect(areClosed()).toEqual([true, true])
  const message = { from: person, from_user_id: ids[1], type: 'text', text: { body: 'Hi' } }
  await clock.advance(60_000)
  await pushed(opened, { messages: [{ ...message, id: 'wamid.Y', timestamp: at(), group_id: 'a-group' }] })
  expect(areClosed()).toEqual([true, true])
  await pushed(opened, { messages: [{ ...message, id: 'wamid.Z', timestamp: at() }] })
  expect(areClosed()).toEqual([false, false])
})

test('where no status comes, a reply is over ten seconds after its last message', async () => {
  const { client, clock, whatsapp } = await start()
  const channel = whatsappChannel({
    client,
    clock,
    onInbound: () => {},
    appSecret: whatsapp.appSecret,
    verifyToken: 'a-verify-token',
  })
  const sink = channel.sinkFor({ chat: { id: person } })
  show(sink, done)
  const end = endOf(sink)
  await passing(clock, () => whatsapp.screen(person).length === 1)
  const at = clock.now()
  await passing(clock, () => end.delivery !== undefined)
  expect(end.delivery).toMatchObject({ shown: 1, undelivered: [] })
  expect(clock.now() - at).toBeLessThanOrEqual(11_000)
})
