import { afterEach } from 'vitest'
import { type DiscordOptions, type FakeDiscord, startDiscord } from '../src/discord/index.ts'
import { createHandClock, type HandClock } from '../src/index.ts'

export const token = 'MTA.secret'
export const channelId = '100000000000000001'

export interface Answered {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
  readonly headers: Headers
}

export interface Started {
  readonly discord: FakeDiscord
  readonly clock: HandClock
  /** One call, as the bot makes it. */
  call(method: string, path: string, body?: unknown, as?: string): Promise<Answered>
  /** A message; its id. */
  post(body: object): Promise<string>
}

const started: FakeDiscord[] = []
afterEach(async () => {
  await Promise.all(started.splice(0).map((discord) => discord.close()))
})

export const start = async (options: Partial<DiscordOptions> = {}): Promise<Started> => {
  const clock = createHandClock()
  const discord = await startDiscord({ token, clock, ...options })
  started.push(discord)
  const call: Started['call'] = async (method, path, body, as = token) => {
    const headers = { authorization: `Bot ${as}`, 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const response = await fetch(`${discord.url}/v10${path}`, { method, headers, ...sent })
    const text = await response.text()
    return { status: response.status, body: text === '' ? {} : JSON.parse(text), headers: response.headers }
  }
  const post: Started['post'] = async (body) =>
    String((await call('POST', `/channels/${channelId}/messages`, body)).body.id)
  return { discord, clock, call, post }
}

export { until } from '../src/index.ts'
