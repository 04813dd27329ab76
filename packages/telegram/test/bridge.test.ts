import { systemClock } from '@reply/core'
import { type Inbound, memoryStore } from '@reply/sink'
import { type BridgeStage, bridgeChannelContract, type SharedAccount } from '@reply/sink/testing'
import { createHandClock } from '@reply/testing'
import { startTelegram } from '@reply/testing/telegram'
import { Api } from 'grammy'
import { expect, test } from 'vitest'
import { createInFlight } from '../../sink/test/in-flight.ts'
import { settledWith, text } from '../../sink/test/make.ts'
import { bridgeChannel } from '../src/bridge.ts'
import { telegramConnection } from '../src/connection.ts'
import { token, until } from './bot.ts'

/** A group of the fake Telegram, reached through the real grammY. */
async function setup(): Promise<BridgeStage> {
  const telegram = await startTelegram({ token, chats: [{ id: -7 }] })
  const ours = () => telegram.screen(-7).filter(({ from }) => from === 'bot')
  return {
    channel: bridgeChannel,
    config: { type: 'telegram', token: { env: 'TOKEN' }, apiRoot: telegram.url },
    secret: () => token,
    chat: { id: '-7', kind: 'shared' },
    account: '@fake_bot',
    writeText: ({ text, isMention, replyTo, file }) => {
      const said = isMention ? `@fake_bot ${text}` : text
      telegram.say(-7, said, { ...(replyTo && { replyTo: Number(replyTo.id) }), ...(file && { file }) })
    },
    press: (label) => void telegram.press(-7, ours().at(-1)?.messageId ?? 0, label),
    screen: () =>
      ours().map(({ messageId, text, buttons }) => ({
        id: String(messageId),
        text,
        buttons: buttons.map((row) => row.map((button) => ({ label: button.text, data: button.data ?? '' }))),
      })),
    isTyping: () => telegram.typing(-7),
    commands: () => telegram.commands.map(({ command }) => command),
    connections: () => Number(telegram.isPolled),
    keepsMessages: true,
    shareAccount,
    close: () => telegram.close(),
  }
}

/** A bot of the fake Telegram that several clients of the real grammY use. */
async function shareAccount(): Promise<SharedAccount> {
  const clock = createHandClock()
  const telegram = await startTelegram({ token, clock })
  const inFlight = createInFlight()
  const written = () => telegram.calls.filter(({ method }) => /^(send(?!ChatAction)|edit)/.test(method))
  return {
    clock,
    pass: async (ms) => await clock.advance(ms, inFlight.rest),
    connect: (host) => {
      const api = new Api(token, { apiRoot: telegram.url })
      api.config.use(async (call, ...args) => await inFlight.during(async () => await call(...args)))
      return telegramConnection({ api, updates: 'polling' }, host)
    },
    chats: Array.from({ length: 100 }, (_, index) => ({ id: String(1000 + index), kind: 'private' })),
    budget: 'calls',
    arrivals: () => written().map(({ at }) => at),
    refused: () => telegram.calls.filter(({ status, fault }) => status === 429 || fault === 'rate-limited').length,
    // Telegram doesn't say that a limit is the bot's, so a second chat is limited, too.
    refuseNext: () =>
      telegram.inject({ type: 'rate-limited', retryAfterS: 3, method: /^(send(?!ChatAction)|edit)/, times: 2 }),
    close: () => telegram.close(),
  }
}

const clauses = bridgeChannelContract({ name: 'Telegram', setup })
test.each(clauses.map((clause) => [clause.name, clause.run] as const))('%s', async (_, run) => await run())

test('a file above what Telegram lets bots read is refused with the limit', async () => {
  const telegram = await startTelegram({ token })
  const received: Inbound[] = []
  const connection = await bridgeChannel.create(
    { type: 'telegram', token: { env: 'TOKEN' }, apiRoot: telegram.url },
    {
      name: 'tg',
      secret: () => token,
      store: memoryStore(),
      clock: systemClock,
      onError: () => {},
      onInbound: (inbound) => received.push(inbound),
    },
  )
  await connection.start()
  const bytes = new Uint8Array(20_000_001)
  telegram.say(7, '', { file: { bytes, isSizeHidden: true } })
  await until(() => received.length === 1)
  const [file] = received.flatMap((one) => (one.type === 'text' ? (one.files ?? []) : []))
  if (!file) throw new Error('There is no file.')
  await expect(connection.download(file, { maxBytes: 1e9 })).rejects.toMatchObject({
    type: 'too-long',
    message: 'file file.txt: it has more than 20 MB, the most that bots can download from Telegram.',
  })
  await connection.stop()
  await telegram.close()
})

test('a host that fails to note a moved group keeps nothing from being shown, and is reported', async () => {
  const telegram = await startTelegram({ token, chats: [{ id: -7 }, { id: -1007 }] })
  const errors: Error[] = []
  const connection = await bridgeChannel.create(
    { type: 'telegram', token: { env: 'TOKEN' }, apiRoot: telegram.url },
    {
      name: 'tg',
      secret: () => token,
      store: memoryStore(),
      clock: systemClock,
      onInbound: () => {},
      onError: (error) => errors.push(error),
      onMoved: async () => {
        throw new Error('The disk is full.')
      },
    },
  )
  telegram.upgrade(-7, -1007)
  const sink = connection.sinkFor({ chat: { id: '-7', kind: 'shared' } }, {})
  sink.replyStarted?.({ type: 'replyStarted', reply: settledWith([text('It goes on.')]) })
  expect(await sink.settled()).toMatchObject({ shown: 1, undelivered: [] })
  await until(() => errors.length > 0)
  expect(errors.map(({ message }) => message)).toEqual(['The disk is full.'])
  await telegram.close()
})

test('a webhook needs its secret, and only then are there requests', async () => {
  const config = { type: 'telegram', token: { env: 'TOKEN' }, updates: 'webhook' }
  expect(bridgeChannel.schema.safeParse(config).error?.issues[0]?.message).toContain('needs a secretToken')
  const host = {
    name: 'tg',
    secret: () => 'secret_1',
    store: memoryStore(),
    clock: systemClock,
    onError: () => {},
    onInbound: () => {},
  }
  const hooked = bridgeChannel.schema.parse({ ...config, secretToken: { env: 'SECRET' } })
  const { webhook } = await bridgeChannel.create(hooked, host)
  expect(webhook?.refuse({ method: 'POST', headers: {} })).toEqual({ status: 401 })
  const polled = bridgeChannel.schema.parse({ type: 'telegram', token: { env: 'TOKEN' } })
  expect(await bridgeChannel.create(polled, host)).not.toHaveProperty('webhook')
})

test('a link opens a message of a supergroup or a topic, or the private chat with the bot', async () => {
  const telegram = await startTelegram({ token })
  const host = {
    name: 'tg',
    secret: () => token,
    store: memoryStore(),
    clock: systemClock,
    onInbound: () => {},
    onError: () => {},
  }
  const connection = telegramConnection({ api: new Api(token, { apiRoot: telegram.url }), updates: 'polling' }, host)
  const message = { id: '12' }
  const links = () => [
    connection.linkTo?.({ id: '7', kind: 'private' }, message),
    connection.linkTo?.({ id: '-1001234', kind: 'shared' }, message),
    connection.linkTo?.({ id: '-1001234', kind: 'shared', thread: '5' }, message),
    connection.linkTo?.({ id: '-7', kind: 'shared' }, message),
    connection.linkTo?.({ id: '-1001234', kind: 'shared' }, undefined),
    connection.linkTo?.({ id: '7' }, undefined),
  ]
  const shared = ['https://t.me/c/1234/12', 'https://t.me/c/1234/5/12', undefined, undefined]
  expect(links()).toEqual([undefined, ...shared, undefined])
  await connection.check()
  expect(links()).toEqual(['https://t.me/fake_bot', ...shared, 'https://t.me/fake_bot'])
  await telegram.close()
})
