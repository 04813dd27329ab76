import { type InboundFault, type InboundStage, inboundContract } from '@reply/sink/testing'
import { createHandClock } from '@reply/testing'
import { startTelegram, type TelegramFault } from '@reply/testing/telegram'
import { Api } from 'grammy'
import { test } from 'vitest'
import { createArrivals } from '../../sink/test/arrivals.ts'
import { createInFlight, stalledIn } from '../../sink/test/in-flight.ts'
import { telegramChannel } from '../src/index.ts'
import { token } from './bot.ts'

const faults: Readonly<Record<InboundFault, TelegramFault>> = {
  'rate-limited': { type: 'rate-limited', retryAfterS: 3 },
  'limited-too-long': { type: 'rate-limited', retryAfterS: 600 },
  stalled: { type: 'stall' },
}

const writing = /^(?:answer|edit|send(?!ChatAction))/

/** A bot that polls the fake Telegram, with the real grammY. */
async function setup(): Promise<InboundStage> {
  const clock = createHandClock()
  const telegram = await startTelegram({ token, clock })
  const api = new Api(token, { apiRoot: telegram.url })
  const inFlight = createInFlight(() => stalledIn(telegram.calls))
  const buttons = [
    { text: 'Yes', callback_data: 'r~tok' },
    { text: 'Own', callback_data: 'own' },
  ]
  await api.sendMessage(7, '?', { reply_markup: { inline_keyboard: [buttons] } })
  const begun = telegram.calls.length
  // A poll is in flight all the time.
  api.config.use(async (call, method, payload, signal) => {
    return await (method === 'getUpdates'
      ? call(method, payload, signal)
      : inFlight.during(() => call(method, payload, signal)))
  })
  const { host, listen, next } = createArrivals()
  const channel = telegramChannel({ api, clock, updates: 'polling', ...host })
  channel.start()
  return {
    clock,
    listen,
    pass: async (ms) => await clock.advance(ms, inFlight.rest),
    writeText: async () => await next(() => telegram.say(7, 'Purple')),
    press: async () => await next(() => telegram.press(7, 1, 'Yes')),
    pressOwn: async () => await next(() => telegram.press(7, 1, 'Own')),
    faults: ['rate-limited', 'limited-too-long', 'stalled'],
    limitMs: 3000,
    failNext: (fault) => telegram.inject({ ...faults[fault], method: writing }),
    calls: () =>
      telegram.calls
        .slice(begun)
        .filter(({ method }) => writing.test(method))
        .map(({ at }) => at),
    sink: () => channel.sinkFor({ chat: { id: '7' } }),
    close: async () => {
      await channel.stop()
      await telegram.close()
    },
  }
}

const clauses = inboundContract({ name: 'Telegram', setup })
test.each(clauses.map((clause) => [clause.name, clause.run] as const))('%s', async (_, run) => await run())
