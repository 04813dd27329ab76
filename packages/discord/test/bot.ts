import { REST } from '@discordjs/rest'
import type { Bubble, ChannelPort } from '@reply/sink/channel'
import { createHandClock, type HandClock, until as patient } from '@reply/testing'
import { type DiscordOptions, type FakeDiscord, startDiscord } from '@reply/testing/discord'
import { afterEach, vi } from 'vitest'
import type { InFlight } from '../../sink/test/in-flight.ts'
import { type DiscordRequest, type DiscordRest, discordRestOptions } from '../src/index.ts'
import { createDiscordPort, renderDiscord } from '../src/internal.ts'
import type { DiscordPortOptions } from '../src/port.ts'

export const token = 'MTA.very-secret-token'
export const channelId = '100000000000000001'
export const person = { id: '800000000000000005', name: 'Ada' }

const started: FakeDiscord[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  await Promise.all(started.splice(0).map((discord) => discord.close()))
})

export interface Started {
  readonly discord: FakeDiscord
  /** The real client. */
  readonly rest: REST
  readonly clock: HandClock
}

export async function start(options: Partial<DiscordOptions> = {}, startMs?: number): Promise<Started> {
  const clock = createHandClock(startMs)
  const discord = await startDiscord({ token, clock, ...options })
  started.push(discord)
  return { discord, clock, rest: clientOf(discord, clock) }
}

/** The client counts its rate limits by the system clock, so that one is manual as well. */
export function clientOf({ url: api }: FakeDiscord, clock: HandClock): REST {
  vi.spyOn(Date, 'now').mockImplementation(clock.now)
  return new REST({ api, ...discordRestOptions }).setToken(token)
}

/** The same client, with a hook before each call and a count of pending calls. */
export function watched(
  rest: DiscordRest,
  inFlight: InFlight,
  before: () => Promise<void> = async () => {},
): DiscordRest {
  const around =
    (verb: 'post' | 'put' | 'patch' | 'delete') =>
    async (route: `/${string}`, request?: DiscordRequest): Promise<unknown> =>
      await inFlight.during(async () => {
        await before()
        return await rest[verb](route, request)
      })
  return {
    post: around('post'),
    put: around('put'),
    patch: around('patch'),
    delete: around('delete'),
    on: (event, listener) => rest.on(event, listener),
  }
}

export interface Opened extends Started {
  readonly port: ChannelPort
}

export async function open(
  options: Partial<DiscordOptions> = {},
  port: Partial<DiscordPortOptions> = {},
): Promise<Opened> {
  const begun = await start(options)
  const { rest, clock } = begun
  return { ...begun, port: createDiscordPort({ rest, clock, channelId, ...port }) }
}

export function bubble(source: string, more: Partial<Bubble> = {}): Bubble {
  return { ...renderDiscord(source), source, isPlain: false, buttons: [], ...more }
}

const chat = { id: channelId }
export const editing = { chat, signal: new AbortController().signal }
export const posting = { ...editing, silent: false, key: 'k' }

export { ending, tellsNothing } from '../../sink/test/ending.ts'

/** Waits in real time, because the real discord.js does. */
export function until(isSo: () => boolean, what = isSo.toString()): Promise<void> {
  return patient(isSo, what)
}
