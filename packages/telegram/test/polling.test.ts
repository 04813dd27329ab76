import { getEventListeners } from 'node:events'
import { type InboundStatus, NotTakenError } from '@reply/sink/channel'
import { backOffMs } from '@reply/sink/internal'
import type { HandClock } from '@reply/testing'
import type { FakeTelegram, TelegramFault } from '@reply/testing/telegram'
import { Api } from 'grammy'
import { describe, expect, test, vi } from 'vitest'
import type { TelegramInboundApi } from '../src/api.ts'
import { type TelegramChannelOptions, telegramChannel } from '../src/index.ts'
import { start, token, until } from './bot.ts'

async function poll(onInbound: TelegramChannelOptions['onInbound'], faults: readonly TelegramFault[] = []) {
  const started = await start({ faults })
  const errors: Error[] = []
  const told: InboundStatus[] = []
  const onInboundStatus = (status: InboundStatus): void => void told.push(status)
  const { api, clock } = started
  const onError = (error: Error): void => void errors.push(error)
  const channel = telegramChannel({ api, clock, updates: 'polling', onInbound, onError, onInboundStatus })
  channel.start()
  return { ...started, channel, errors, told }
}

describe('while an update is being handled', () => {
  const never = new Promise(() => {})

  test('people in other chats are heard, each update once', async () => {
    const chats: string[] = []
    const { telegram, clock, channel } = await poll(({ chat }) => {
      chats.push(chat.id)
      return chat.id === '7' ? never : undefined
    })
    telegram.say(7, 'A long prompt')
    await until(() => chats.length === 1)
    for (const id of [8, 9]) {
      telegram.say(id, 'Hi')
      const polls = telegram.count('getUpdates')
      await clock.advance(500)
      await until(() => telegram.count('getUpdates') > polls && chats.length === id - 6)
    }
    expect(chats).toEqual(['7', '8', '9'])
    const stopped = channel.stop()
    await clock.advance(5000)
    await stopped
    expect(chats).toEqual(['7', '8', '9'])
  })

  test('it is not confirmed, and comes again to the next process', async () => {
    let received = 0
    const { telegram, api, clock, channel } = await poll(() => {
      received += 1
      return never
    })
    telegram.say(7, 'A long prompt')
    await until(() => received === 1)
    await clock.advance(500)
    await until(() => telegram.count('getUpdates') > 1)
    expect(await api.getUpdates({ timeout: 0 })).toHaveLength(1)
    const stopped = channel.stop()
    await clock.advance(5000)
    await stopped
    expect(received).toBe(1)
    expect(await api.getUpdates({ timeout: 0 })).toEqual([])
  })
})

test('an update that the host does not take is passed on again, in time, and only then confirmed', async () => {
  const heard: string[] = []
  const { telegram, api, clock, channel } = await poll((inbound) => {
    heard.push(inbound.type === 'text' ? inbound.text : inbound.type)
    if (heard.length < 3) throw new NotTakenError()
  })
  telegram.say(7, 'A prompt')
  for (const times of [1, 2]) {
    await until(() => heard.length === times)
    const polls = telegram.count('getUpdates')
    await clock.advance(499)
    expect(telegram.count('getUpdates')).toBe(polls)
    await clock.advance(1)
    await until(() => heard.length > times)
  }
  const stopped = channel.stop()
  await clock.advance(5000)
  await stopped
  expect(heard).toEqual(['A prompt', 'A prompt', 'A prompt'])
  expect(await api.getUpdates({ timeout: 0 })).toEqual([])
})

const missing = (times: number): TelegramFault => ({ type: 'status', code: 404, method: 'getUpdates', times })

describe('a 404 to a poll', () => {
  test('of a gateway does not end the polling', async () => {
    const received: string[] = []
    const { telegram, clock, errors } = await poll((one) => void received.push(one.type), [missing(7)])
    telegram.say(7, 'Hi')
    for (let count = 1; count <= 7; count++) {
      await until(() => errors.length === count)
      await clock.advance(backOffMs(count - 1))
    }
    await until(() => received.length === 1)
    expect(new Set(errors.map((error) => 'type' in error && error.type))).toEqual(new Set(['updates']))
  })

  test('counts as a refused token when it comes eight times in a row', async () => {
    const { clock, errors, told } = await poll(() => {}, [missing(8)])
    for (let count = 1; count <= 7; count++) {
      await until(() => errors.length === count)
      await clock.advance(backOffMs(count - 1))
    }
    await until(() => errors.length === 8)
    expect(errors.at(-1)).toMatchObject({ type: 'unauthorized', message: expect.stringContaining('@BotFather') })
    expect(told.at(-1)).toMatchObject({ status: 'disconnected' })
    await clock.advance(5000)
    await until(() => told.at(-1)?.status === 'receiving')
  })
})

test('a token that Telegram refuses for a while is tried again and again, told, and works again', async () => {
  const received: string[] = []
  const refused: TelegramFault = { type: 'status', code: 401, method: 'getUpdates', times: 12 }
  const { telegram, clock, errors, told, channel } = await poll((one) => void received.push(one.type), [refused])
  telegram.say(7, 'Hi')
  for (let count = 1; count <= 12; count++) {
    await until(() => errors.length === count && clock.pending > 0)
    expect(told).toMatchObject([{ status: 'disconnected', reason: expect.stringContaining('rejected the bot') }])
    await clock.advance(Math.min(300_000, 5000 * 2 ** (count - 1)))
  }
  await until(() => received.length === 1)
  expect(told.slice(1)).toEqual([{ status: 'receiving' }])
  expect(new Set(errors.map((error) => 'type' in error && error.type))).toEqual(new Set(['unauthorized']))
  await channel.stop()
})

test('after an outage the first poll that is answered says so, without waiting for an update', async () => {
  const away: TelegramFault = { type: 'status', code: 502, method: 'getUpdates', times: 7 }
  const { clock, errors, told, telegram, channel } = await poll(() => {}, [away])
  for (let count = 1; count <= 7; count++) {
    await until(() => errors.length === count && clock.pending > 0)
    await clock.advance(backOffMs(count - 1))
  }
  await until(() => told.at(-1)?.status === 'receiving')
  expect(told).toMatchObject([{ status: 'disconnected', reason: expect.stringContaining('502') }, {}])
  expect(telegram.count('getUpdates')).toBe(8)
  await channel.stop()
})

test('a stop ends although Telegram does not confirm the last updates, and they come to the next process', async () => {
  let received = 0
  const { telegram, api, clock, channel, errors } = await poll(() => {
    received += 1
    return new Promise(() => {})
  })
  telegram.say(7, 'A long prompt')
  await until(() => received === 1)
  const since = clock.now()
  const stopped = channel.stop()
  telegram.inject({ type: 'stall', method: 'getUpdates' })
  await advanceUntil(clock, () => errors.length > 0)
  await stopped
  expect(clock.now() - since).toBeLessThan(20_000)
  expect(errors).toMatchObject([{ type: 'updates' }])
  expect(await api.getUpdates({ timeout: 0 })).toMatchObject([{ message: { text: 'A long prompt' } }])
})

describe('two processes that poll one bot', () => {
  /** Polls with a second client of the bot until it is told to stop, as a process that lost its lease does. */
  function pollElsewhere({ url }: FakeTelegram): { readonly stop: () => Promise<void> } {
    const api: TelegramInboundApi = new Api(token, { apiRoot: `${url}/other` })
    const abort = new AbortController()
    const ended = (async () => {
      while (!abort.signal.aborted) await api.getUpdates({ timeout: 30 }, abort.signal).catch(() => {})
    })()
    return {
      stop: async () => {
        abort.abort()
        await ended
      },
    }
  }

  /** How many polls of the channel were ended by the other process. */
  function conflictsOf({ calls }: FakeTelegram): number {
    return calls.filter(({ root, status }) => root === undefined && status === 409).length
  }

  test('a predecessor that goes on for some seconds is waited out, and neither reported nor told', async () => {
    const received: string[] = []
    const { telegram, clock, channel, errors, told } = await poll((one) => void received.push(one.type))
    await until(() => telegram.isPolled)
    const other = pollElsewhere(telegram)
    await advanceUntil(clock, () => conflictsOf(telegram) === 8)
    await other.stop()
    telegram.say(7, 'Hi')
    await advanceUntil(clock, () => received.length === 1)
    expect([errors, told.filter(({ status }) => status === 'disconnected')]).toEqual([[], []])
    await channel.stop()
  })

  test('one that never stops is reported after a minute, and polled against once a minute', async () => {
    const { telegram, clock, channel, errors, told } = await poll(() => {})
    await until(() => telegram.isPolled)
    const since = clock.now()
    const other = pollElsewhere(telegram)
    await advanceUntil(clock, () => errors.length > 0)
    expect(clock.now() - since).toBeGreaterThanOrEqual(60_000)
    expect(clock.now() - since).toBeLessThan(70_000)
    expect(errors).toMatchObject([{ type: 'conflict', message: /Another process polls the same bot/ }])
    expect(told).toMatchObject([{ status: 'disconnected', reason: expect.stringContaining('Another process') }])
    const reportedAt = clock.now()
    await advanceUntil(clock, () => errors.length > 1)
    expect(clock.now() - reportedAt).toBeGreaterThanOrEqual(60_000)
    await other.stop()
    await advanceUntil(clock, () => told.length > 1)
    expect(told[1]).toEqual({ status: 'receiving' })
    await channel.stop()
  })
})

/** Lets seconds pass until the condition holds, with a turn in between for calls to arrive. */
async function advanceUntil(clock: HandClock, isDone: () => boolean): Promise<void> {
  await until(() => {
    if (!isDone()) void clock.advance(1000)
    return isDone()
  })
}

test('polls leave nothing behind on the signal that ends them all', async () => {
  const signals: AbortSignal[] = []
  const listened = vi.spyOn(AbortSignal.prototype, 'addEventListener').mockImplementation(function (
    this: AbortSignal,
    ...given: Parameters<AbortSignal['addEventListener']>
  ) {
    signals.push(this)
    EventTarget.prototype.addEventListener.apply(this, given)
  })
  const received: string[] = []
  const { telegram, channel } = await poll((one) => void received.push(one.type))
  for (let said = 0; said < 40; said++) {
    telegram.say(7, 'Hi')
    await until(() => received.length > said)
  }
  listened.mockRestore()
  expect(signals.length).toBeGreaterThan(40)
  expect(Math.max(...signals.map(entriesOn))).toBeLessThan(5)
  await channel.stop()
})

/** The most of anything that a signal keeps: listeners, or signals that were made of it. */
function entriesOn(signal: AbortSignal): number {
  const kept = Object.getOwnPropertySymbols(signal).map((symbol): unknown => Reflect.get(signal, symbol))
  const sizes = kept.map((one) => (typeof one === 'object' && one !== null && 'size' in one ? Number(one.size) : 0))
  return Math.max(getEventListeners(signal, 'abort').length, ...sizes)
}
