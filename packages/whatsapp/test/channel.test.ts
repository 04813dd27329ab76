import { type Ask, emptyReply, type Reply } from '@reply/core'
import { answerWith, type Inbound } from '@reply/sink'
import type { WhatsAppMessage } from '@reply/testing/whatsapp'
import { afterEach, describe, expect, test } from 'vitest'
import { listen } from '../../testing/test/listen.ts'
import { whatsappChannel } from '../src/index.ts'
import { ending, passing, person, start, until } from './cloud.ts'

const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

async function open(onInbound: (inbound: Inbound) => unknown = () => {}) {
  const begun = await start()
  const { whatsapp, client, clock } = begun
  const received: Inbound[] = []
  const errors: Error[] = []
  const channel = whatsappChannel({
    client,
    clock,
    appSecret: whatsapp.appSecret,
    verifyToken: 'a-verify-token',
    onInbound: (inbound) => {
      received.push(inbound)
      return onInbound(inbound)
    },
    onError: (error) => errors.push(error),
  })
  const hook = await listen(channel.listener)
  stops.push(hook.stop)
  await whatsapp.setWebhook(`${hook.url}/`, 'a-verify-token')
  const ours = (): readonly WhatsAppMessage[] => whatsapp.screen(person).filter(({ from }) => from === 'business')
  return { ...begun, channel, received, errors, ours }
}

describe('an answer', () => {
  test('is a reply to the message, with its characters unchanged', async () => {
    const { whatsapp, ours } = await open((inbound) =>
      inbound.type === 'text' ? inbound.answer('No *such* option.') : 0,
    )
    const asked = whatsapp.say(person, 'Purple')
    await until(() => ours().length === 1)
    expect(ours()).toMatchObject([{ text: 'No *such* option.', entities: [], replyTo: asked }])
    const texts = whatsapp.calls.flatMap(({ fields: { text } }) => text ?? [])
    expect(texts).toMatchObject([{ preview_url: false }])
  })

  test('that is too long is cut, never inside a surrogate pair', async () => {
    const { whatsapp, ours } = await open((inbound) =>
      inbound.type === 'text' ? inbound.answer('👍'.repeat(3000)) : 0,
    )
    whatsapp.say(person, 'Why?')
    await until(() => ours().length === 1)
    expect(ours()[0]?.source).toBe(`${'👍'.repeat(2047)}…`)
  })

  test('waits its turn, 6 s after the previous post', async () => {
    const { whatsapp, clock, received, ours } = await open((inbound) =>
      inbound.type === 'text' ? inbound.answer(inbound.text) : 0,
    )
    whatsapp.say(person, 'one')
    await until(() => whatsapp.webhookCalls.length > 2 && whatsapp.webhookCalls.every(({ status }) => status === 200))
    whatsapp.say(person, 'two')
    await until(() => received.length === 2)
    await clock.advance(5999)
    expect(ours()).toHaveLength(1)
    await clock.advance(1)
    await until(() => ours().length === 2)
    expect(whatsapp.calls.map(({ status }) => status)).toEqual([200, 200])
  })

  test('that fails is reported without a secret', async () => {
    const { whatsapp, errors } = await open((inbound) => (inbound.type === 'text' ? inbound.answer('Hi.') : 0))
    whatsapp.inject({ type: 'refused', status: 400, code: 131026 })
    whatsapp.say(person, 'Hi')
    await until(() => errors.length === 1)
    expect(await ending(Promise.reject(errors[0]))).toMatchObject({
      type: 'answer',
      message: expect.stringMatching(/131026/),
    })
  })
})

test('a slow handler does not block the next message', async () => {
  const { whatsapp, clock, received } = await open(() => new Promise(() => {}))
  whatsapp.say(person, 'one')
  await until(() => received.length === 1)
  whatsapp.say(person, 'two')
  await clock.advance(5000)
  await until(() => received.length === 2)
})

const ask: Ask = {
  type: 'permission',
  requestID: 'per_1',
  sessionID: 'ses_1',
  directory: undefined,
  path: ['ses_1'],
  status: 'pending',
  permission: 'bash',
  patterns: [],
  always: ['touch *'],
  title: 'touch a',
  call: { tool: 'bash', input: { command: 'touch a' } },
  metadata: {},
}
const asking: Reply = { ...emptyReply('ses_1'), promptIDs: ['msg_1'], phase: 'blocked', asks: [ask] }

test('a press answers once; the buttons stay, and later presses get a notice', async () => {
  const given: unknown[] = []
  let settled: Ask = ask
  let answer = async (_: Inbound): Promise<boolean> => false
  const { whatsapp, channel, clock, errors, ours } = await open((inbound) => answer(inbound))
  const sink = channel.sinkFor({ chat: { id: person } })
  answer = answerWith({
    client: {
      answer: async (_, value) => void given.push(value),
      reject: async () => void given.push('rejected'),
      abort: async () => {},
    },
    running: () => [{ sink, stream: { abort: async () => asking } }],
  })
  sink.replyStarted?.({ type: 'replyStarted', reply: asking })
  await until(() => ours().length === 1)
  const [message] = ours()
  expect(message?.buttons.map(({ label }) => label)).toEqual(['Allow once', 'Always', 'Reject'])
  whatsapp.press(person, message?.id ?? '', 'Always')
  await until(() => given.length === 1)
  settled = { ...ask, status: 'answered', reply: 'always' }
  sink.replyAmended?.({ type: 'replyAmended', reply: { ...asking, phase: 'working', asks: [settled] } })
  await clock.advance(6000)
  expect(ours()).toHaveLength(1)
  const late = whatsapp.press(person, message?.id ?? '', 'Reject')
  await passing(clock, () => ours().length === 2)
  expect(ours()[1]).toMatchObject({ text: expect.stringContaining('This was already resolved: ✅'), replyTo: late })
  expect([given, errors]).toEqual([['always'], []])
  await sink.stop()
})

test("a press with another ask's token answers nothing", async () => {
  const given: unknown[] = []
  let answer = async (_: Inbound): Promise<boolean> => false
  const { whatsapp, client, clock, channel, ours } = await open((inbound) => answer(inbound))
  const sink = channel.sinkFor({ chat: { id: person } })
  answer = answerWith({
    client: {
      answer: async (_, value) => void given.push(value),
      reject: async () => void given.push('rejected'),
      abort: async () => {},
    },
    running: () => [{ sink, stream: { abort: async () => asking } }],
  })
  const action = { buttons: [{ type: 'reply', reply: { id: 'r~guessed.once', title: 'Allow once' } }] }
  const interactive = { type: 'button', body: { text: 'Forged' }, action }
  const { id } = await client.messages({ to: person, type: 'interactive', interactive }, new AbortController().signal)
  await clock.advance(6000)
  sink.replyStarted?.({ type: 'replyStarted', reply: asking })
  await until(() => ours().length === 2)
  const forged = whatsapp.press(person, id ?? '', 'Allow once')
  await passing(clock, () => ours().length === 3 || given.length > 0)
  expect([given, ours()[2]]).toMatchObject([
    [],
    { text: expect.stringContaining('No request is waiting'), replyTo: forged },
  ])
  await sink.stop()
})

test('sinkFor takes the place from the inbound', async () => {
  const { channel } = await open()
  const sink = channel.sinkFor({ chat: { id: person }, replyTo: { id: 'wamid.x' } })
  await sink.stop()
  expect(await sink.settled()).toEqual({ shown: 0, undelivered: [], doubtful: 0, calls: 0, rateLimited: 0 })
})
