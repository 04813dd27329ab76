import { backOffMs } from '@reply/sink/channel'
import type { TelegramFault } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { type TelegramChannelOptions, telegramChannel } from '../src/index.ts'
import { start, until } from './bot.ts'

async function poll(onInbound: TelegramChannelOptions['onInbound'], faults: readonly TelegramFault[] = []) {
  const started = await start({ faults })
  const errors: Error[] = []
  const { api, clock } = started
  const onError = (error: Error): void => void errors.push(error)
  const channel = telegramChannel({ api, clock, updates: 'polling', onInbound, onError })
  channel.start()
  return { ...started, channel, errors }
}

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

  test('ends it when it comes eight times in a row', async () => {
    const { telegram, clock, errors } = await poll(() => {}, [missing(90)])
    for (let count = 1; count <= 7; count++) {
      await until(() => errors.length === count)
      await clock.advance(backOffMs(count - 1))
    }
    await until(() => errors.length === 8)
    expect(errors.at(-1)).toMatchObject({ type: 'unauthorized', message: expect.stringContaining('@BotFather') })
    await clock.advance(600_000)
    expect(telegram.count('getUpdates')).toBe(8)
  })
})
