import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Client, connect, type ReplyStream, textOf } from '@reply/core'
import type { Sink } from '@reply/sink'
import { answerWith, type Inbound } from '@reply/sink'
import {
  callTool,
  holdAnswer,
  launchOpencode,
  type OpencodeServer,
  type ScriptedModel,
  type Scripts,
  sayText,
  startModel,
} from '@reply/testing'
import { type FakeTelegram, startTelegram, type TelegramMessage } from '@reply/testing/telegram'
import { Api } from 'grammy'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type TelegramChannel, type TelegramSinkOptions, telegramChannel } from '../src/index.ts'

const token = '42:secret'

const paragraph = (count: number): string =>
  `Paragraph ${count} is **long** enough to be read, with \`code ${count}\` in it.\n\n- one of ${count}\n- two of ${count}\n\n`
const long = Array.from({ length: 225 }, (_, index) => paragraph(index + 1)).join('')

const options = [
  { label: 'Red', description: 'Warm' },
  { label: 'Blue', description: 'Cool' },
]
const scripts: Scripts = {
  question: {
    steps: [
      [
        sayText('Let me ask.'),
        callTool('question', { questions: [{ header: 'Colour', question: 'Which colour?', options }] }),
      ],
      [sayText('As you like.')],
    ],
  },
  permission: {
    steps: [
      [sayText('I touch it.'), callTool('bash', { command: 'touch asked-for.txt', description: 'Touch' })],
      [sayText('Done so.')],
    ],
  },
  forever: { steps: [[sayText('This never ends, and goes on. '), holdAnswer('forever'), sayText('never.')]] },
  long: { steps: [[sayText(long, 150)]] },
}

let model: ScriptedModel
let server: OpencodeServer
let opencode: Client
let telegram: FakeTelegram
let channel: TelegramChannel
let answer: (inbound: Inbound) => Promise<boolean>
const running = new Map<string, { readonly sink: Sink; readonly stream: ReplyStream }>()
const errors: Error[] = []
/** The options of one chat. */
const wishes: Readonly<Record<string, Partial<TelegramSinkOptions>>> = {
  3: { policy: { delivery: 'native' } },
  6: { rich: false },
}

beforeAll(async () => {
  model = await startModel({ scripts, fallback: 'long' })
  server = await launchOpencode({
    model,
    config: { permission: { bash: { '*': 'allow', 'touch *': 'ask' } }, extra: { snapshot: false } },
  })
  opencode = connect({ url: server.url, directory: server.directory, onError: (error) => errors.push(error) })
  telegram = await startTelegram({ token })
  answer = answerWith({
    client: opencode,
    running: ({ chat }) => [...running].flatMap(([id, one]) => (id === chat.id ? [one] : [])),
  })
  channel = telegramChannel({
    api: new Api(token, { apiRoot: telegram.url }),
    updates: 'polling',
    // On a busy machine every reply takes long and would otherwise end with a message about its duration.
    policy: { notifyAfterMs: 86_400_000 },
    onInbound,
    onError: (error) => errors.push(error),
  })
  channel.start()
})
afterAll(async () => {
  await channel.stop()
  await telegram.close()
  await opencode.close()
  await server.stop()
  await model.close()
})

/** The host: each text is an answer or a prompt. */
async function onInbound(inbound: Inbound): Promise<void> {
  if (inbound.type === 'text' && inbound.text === '/stop') {
    await running.get(inbound.chat.id)?.stream.abort()
    return
  }
  if ((await answer(inbound)) || inbound.type !== 'text') return
  const sink = channel.sinkFor(inbound, wishes[inbound.chat.id])
  const stream = opencode.prompt({ text: inbound.text }, { observe: () => [sink] })
  running.set(inbound.chat.id, { sink, stream })
}

const ours = (chatId: number): readonly TelegramMessage[] =>
  telegram.screen(chatId).filter(({ from }) => from === 'bot')

/** Waits until the chat's screen meets the condition. */
function seen<T>(chatId: number, find: (screen: readonly TelegramMessage[]) => T | undefined): Promise<T> {
  return new Promise((resolve) => {
    const look = (): void => {
      const found = find(ours(chatId))
      if (found === undefined) return
      stop()
      resolve(found)
    }
    const stop = telegram.observe((id) => id === chatId && queueMicrotask(look))
    look()
  })
}

/** Waits for the reply and its delivery, and checks that no text is missing. */
async function end(chatId: number) {
  const one = await vi.waitFor(() => running.get(String(chatId)) ?? expect.fail(), 60_000)
  const reply = await one.stream.result
  const delivery = await one.sink.settled()
  expect(delivery).toMatchObject({ undelivered: [], doubtful: 0, rateLimited: 0 })
  return { reply, delivery, screen: ours(chatId) }
}

function keyboardOf({ buttons }: TelegramMessage) {
  return {
    inline_keyboard: buttons.map((row) =>
      row.map(({ text: label, data = '' }) => ({ text: label, callback_data: data })),
    ),
  }
}

const letters = (words: string): string => words.replace(/[^\p{L}\p{N}]/gu, '')

test('a question is answered by pressing a button', async () => {
  const chatId = 1
  const asked = telegram.say(chatId, 'Go. [scenario:question]')
  const ask = await seen(chatId, (screen) => screen.find(({ buttons }) => buttons.length > 0))
  expect([ask.text, ask.isSilent]).toEqual([expect.stringContaining('Which colour?'), false])
  const api = new Api(token, { apiRoot: telegram.url })
  const { message_id } = await api.sendMessage(9, 'Of another chat', { reply_markup: keyboardOf(ask) })
  const foreign = await telegram.press(9, message_id, 'Red').settled
  expect(foreign.text).toContain('No request is waiting')
  const presses = ['Blue', 'Red'].map((label) => telegram.press(chatId, ask.messageId, label).settled)
  expect((await Promise.all(presses)).map((press) => press.text)).toEqual([
    expect.stringContaining('Blue'),
    expect.stringMatching(/^This was already resolved/),
  ])
  const { reply, screen } = await end(chatId)
  expect(reply.asks).toMatchObject([{ status: 'answered', answers: [['Blue']] }])
  expect(screen.map((one) => letters(one.text))).toEqual([
    'Letmeask',
    expect.stringMatching(/Colour.*Blue/),
    'Asyoulike',
  ])
  expect(screen).toMatchObject([{ replyTo: asked }, { buttons: [] }, { text: 'As you like.' }])
})

test('a permission is allowed by a text, and an unauthorized person is told what is needed', async () => {
  const chatId = 2
  telegram.say(chatId, 'Go. [scenario:permission]')
  await seen(chatId, (screen) => screen.find(({ buttons }) => buttons.length > 0))
  const maybe = telegram.say(chatId, 'maybe')
  await seen(chatId, (screen) => screen.find(({ replyTo }) => replyTo === maybe))
  telegram.say(chatId, 'once')
  const { reply, screen } = await end(chatId)
  expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'I touch it.\n\nDone so.'])
  expect(existsSync(join(server.directory, 'asked-for.txt'))).toBe(true)
  expect(screen.map((one) => one.text).join('\n')).toMatch(/I touch it\.[\s\S]*once[\s\S]*Done so\./)
})

test("a draft's Stop aborts", async () => {
  const chatId = 3
  telegram.say(chatId, 'Go. [scenario:forever]')
  await seen(chatId, (screen) => screen.find(({ isDraft, text: shown }) => isDraft && shown.includes('goes on')))
  telegram.stopDraft(chatId)
  const { reply, screen } = await end(chatId)
  expect([reply.outcome, textOf(reply).trim()]).toEqual(['aborted', 'This never ends, and goes on.'])
  expect(letters(screen.map((one) => one.text).join(''))).toBe(`Thisneverendsandgoeson`)
})

test('a command aborts as well', async () => {
  const chatId = 4
  telegram.say(chatId, 'Go. [scenario:forever]')
  await seen(chatId, (screen) => screen.find(({ text: shown }) => shown.includes('goes on')))
  telegram.say(chatId, '/stop')
  const { reply, screen } = await end(chatId)
  expect(reply.outcome).toBe('aborted')
  expect(letters(screen.map((one) => one.text).join(''))).toBe(`Thisneverendsandgoeson`)
})

test.each([
  ['as rich messages', 5, 2],
  ['in HTML', 6, 5],
] as const)('an answer of 20,000 letters is there, whole and once: %s', async (_, chatId, count) => {
  telegram.say(chatId, 'Go. [scenario:long]')
  const { reply, screen } = await end(chatId)
  expect(textOf(reply).length).toBeGreaterThan(20_000)
  expect(letters(screen.map((one) => one.text).join(''))).toBe(letters(textOf(reply)))
  expect(screen.length).toBeGreaterThanOrEqual(count)
  // Zero if the whole text was posted before it was known to be complete.
  expect(telegram.notifications(chatId)).toBeLessThanOrEqual(1)
})

test('no errors and no rate limits occurred', () => {
  expect(errors).toEqual([])
  expect(telegram.calls.filter(({ status }) => status === 429)).toEqual([])
})
