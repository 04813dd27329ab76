import type { Inbound } from '@reply/sink'
import type { DiscordFault } from '@reply/testing/discord'
import { describe, expect, test } from 'vitest'
import { createCatchUp } from '../src/catch-up.ts'
import { discordChannel } from '../src/index.ts'
import { channelId, start, until } from './bot.ts'

const direct = '100000000000000009'

/** A channel that has received nothing yet, and chats in which people write meanwhile. */
async function open(faults: readonly DiscordFault[] = []) {
  const { discord, rest, clock } = await start({
    channels: [{ id: channelId }, { id: direct, kind: 'direct' }],
    faults,
  })
  const received: Inbound[] = []
  const errors: Error[] = []
  const onError = (error: Error): unknown => errors.push(error)
  const channel = discordChannel({
    rest,
    clock,
    updates: 'own' as const,
    onError,
    onInbound: (inbound) => received.push(inbound),
  })
  const since = clock.now()
  const chats = [direct, channelId].map((id) => ({ chat: { id }, since }))
  const { handleEvent } = channel
  const catchUp = createCatchUp(rest, { chats: async () => chats, onError, clock }, handleEvent)
  const run = async (signal = new AbortController().signal): Promise<void> => await catchUp(signal).ended
  const texts = (): readonly string[] => received.flatMap((one) => (one.type === 'text' ? [one.text] : []))
  await clock.advance(1000)
  return { discord, rest, clock, received, errors, texts, run }
}

test('what people wrote meanwhile is passed on once, oldest first, with its time and kind of chat', async () => {
  const { discord, received, errors, texts, run, clock } = await open()
  const said = Array.from({ length: 230 }, (_, index) => `Number ${index}`)
  for (const text of said) discord.say(channelId, text)
  discord.say(direct, 'Hi')
  const wroteAt = clock.now()
  await clock.advance(3_600_000)
  await run()
  expect(texts()).toEqual(['Hi', ...said])
  expect(received[0]).toMatchObject({ chat: { id: direct, kind: 'private' }, messageRef: { postedAt: wroteAt } })
  expect(received[1]).toMatchObject({ chat: { id: channelId, kind: 'shared' } })
  await run()
  expect([received.length, errors]).toEqual([231, []])
})

test('a chat without news is not read, and what was known before is left', async () => {
  const { discord, run, texts } = await open()
  await run()
  expect(discord.calls.map(({ name }) => name)).toEqual(['channel', 'channel'])
  expect(texts()).toEqual([])
})

describe('a call that fails', () => {
  test('for now is made again', async () => {
    const { discord, texts, errors, run, clock } = await open([
      { type: 'rate-limited', retryAfterS: 3, call: 'messages' },
      { type: 'status', status: 502, call: 'channel', times: 2 },
    ])
    discord.say(direct, 'Hi')
    const ended = run()
    let isOver = false
    void ended.then(() => {
      isOver = true
    })
    while (!isOver) {
      await clock.advance(1000)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect([texts(), errors]).toEqual([['Hi'], []])
  })

  test('at a rate limit is made again as often as that is told', async () => {
    const { discord, texts, errors, run, clock } = await open([
      { type: 'rate-limited', retryAfterS: 20, call: 'channel', channelId: direct, times: 8 },
    ])
    discord.say(direct, 'Hi')
    void run()
    await until(() => {
      void clock.advance(1000)
      return texts().length + errors.length === 1
    })
    expect([texts(), errors]).toEqual([['Hi'], []])
  })

  test('for long is reported, and the other chats are read', async () => {
    const { discord, texts, errors, run, clock } = await open([
      { type: 'status', status: 502, call: 'channel', channelId: direct, times: 5 },
    ])
    discord.say(channelId, 'Hi')
    void run()
    await until(() => {
      void clock.advance(1000)
      return texts().length === 1
    })
    expect(errors).toMatchObject([{ type: 'updates', message: expect.stringContaining(direct) }])
  })

  test('because the bot is no longer there is not reported', async () => {
    const { discord, texts, errors, run } = await open()
    discord.shut(direct)
    discord.say(channelId, 'Hi')
    await run()
    expect([texts(), errors]).toEqual([['Hi'], []])
  })
})

test('nothing is read after a stop', async () => {
  const { discord, run } = await open()
  await run(AbortSignal.abort())
  expect(discord.calls).toEqual([])
})
