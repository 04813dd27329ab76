import type { Bubble } from '@reply/sink/channel'
import { createHandClock, type HandClock } from '@reply/testing'
import { type FakeTelegram, startTelegram, type TelegramOptions } from '@reply/testing/telegram'
import { Api } from 'grammy'
import { afterEach } from 'vitest'
import { createTelegramPort } from '../src/internal.ts'
import { renderFor, type TelegramPortOptions } from '../src/port.ts'

export { until } from '@reply/testing'

export const token = '42:very-secret-token'

const started: FakeTelegram[] = []
afterEach(async () => {
  await Promise.all(started.splice(0).map((telegram) => telegram.close()))
})

export interface Started {
  readonly telegram: FakeTelegram
  /** The real client. */
  readonly api: Api
  readonly clock: HandClock
}

export async function start(options: Partial<TelegramOptions> = {}): Promise<Started> {
  const clock = createHandClock()
  const telegram = await startTelegram({ token, clock, ...options })
  started.push(telegram)
  return { telegram, clock, api: new Api(token, { apiRoot: telegram.url }) }
}

export interface Opened extends Started {
  readonly port: ReturnType<typeof createTelegramPort>
  bubble(source: string, more?: Partial<Bubble>): Bubble
}

export async function open(
  options: Partial<TelegramOptions> = {},
  port: Partial<TelegramPortOptions> = {},
): Promise<Opened> {
  const begun = await start(options)
  const { api, clock } = begun
  const render = renderFor(api, port.rich)
  return {
    ...begun,
    port: createTelegramPort({ api, clock, chatId: 7, ...port }),
    bubble: (source, more) => ({ ...render(source), source, isPlain: false, buttons: [], ...more }),
  }
}

const chat = { id: '7' }
export const editing = { chat, signal: new AbortController().signal }
export const posting = { ...editing, silent: false, key: 'k' }

export { ending } from '../../sink/test/ending.ts'
