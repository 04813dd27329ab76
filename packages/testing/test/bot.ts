import { Api, GrammyError, HttpError } from 'grammy'
import { afterEach } from 'vitest'
import { createHandClock, type HandClock } from '../src/index.ts'
import { type FakeTelegram, startTelegram, type TelegramOptions } from '../src/telegram/index.ts'

export const token = '42:secret'

export interface Started {
  readonly telegram: FakeTelegram
  /** The real client. */
  readonly api: Api
  readonly clock: HandClock
}

const started: FakeTelegram[] = []
afterEach(async () => {
  await Promise.all(started.splice(0).map((telegram) => telegram.close()))
})

export const start = async (options: Partial<TelegramOptions> = {}): Promise<Started> => {
  const clock = createHandClock()
  const telegram = await startTelegram({ token, clock, ...options })
  started.push(telegram)
  return { telegram, clock, api: new Api(token, { apiRoot: telegram.url }) }
}

/** What the client was told instead of a result. */
export const refusal = async (call: Promise<unknown>): Promise<string> => {
  try {
    return `done: ${JSON.stringify(await call)}`
  } catch (error) {
    if (error instanceof GrammyError) return `${error.error_code} ${error.description}`
    if (error instanceof HttpError) return 'no answer'
    throw error
  }
}

export { until } from '../src/index.ts'
