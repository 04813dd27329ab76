import { connect } from '@reply/core'
import { bridgeChannel } from '@reply/telegram/bridge'
import { createHandClock, createRecordedServer, readRecording, until } from '@reply/testing'
import { startTelegram } from '@reply/testing/telegram'
import { expect, test } from 'vitest'
import { createBridge } from '../src/bridge.ts'
import { parseConfig } from '../src/config/parse.ts'
import { bridgeMetrics } from '../src/events/metrics.ts'
import { serveBridge } from '../src/serve-bridge.ts'
import { createMemoryStore } from '../src/testing.ts'

const { bytes } = readRecording({ version: '1.18.33', scenario: 'plain' })
const token = '42:secret'

/** A bridge with the real grammY on a fake Telegram. */
async function create() {
  const clock = createHandClock()
  const telegram = await startTelegram({ token, clock, chats: [{ id: 1, type: 'private', title: 'Ann' }] })
  const metrics = bridgeMetrics()
  const errors: Error[] = []
  const notices: string[] = []
  const bridge = createBridge({
    config: parseConfig({
      servers: { home: { url: 'http://127.0.0.1:1' } },
      channels: { tg: { type: 'telegram', token: { env: 'TOKEN' }, apiRoot: telegram.url } },
      people: {},
    }),
    store: createMemoryStore(),
    secret: () => token,
    load: async () => bridgeChannel,
    connectTo: () => connect({ url: 'http://recorded', fetch: createRecordedServer({ bytes }).fetch, clock }),
    observers: [metrics.observe],
    onError: (error) => void errors.push(error),
    onNotice: (notice) => void notices.push(notice),
    clock,
  })
  return { bridge, telegram, clock, metrics, errors, notices }
}

test('a channel whose token is refused makes the bridge not ready, until it is heard again', async () => {
  const { bridge, telegram, clock, metrics, errors, notices } = await create()
  await bridge.start()
  const served = await serveBridge({ bridge, metrics, port: 0 })
  const ready = async (): Promise<number> => (await fetch(`${served.url}/readyz`)).status
  const gauge = async (): Promise<string | undefined> =>
    (await metrics.text()).split('\n').find((line) => line.startsWith('reply_bridge_channel_receiving{'))
  expect([bridge.status(), await ready()]).toEqual([
    { state: 'ready', problems: [], channels: { tg: { status: 'receiving' } } },
    200,
  ])
  telegram.inject({ type: 'status', code: 401, method: 'getUpdates', times: 1 })
  await until(() => telegram.count('getUpdates') === 1)
  // Ends the poll that waits for updates.
  telegram.say(1, 'Hi')
  await until(() => errors.length > 0)
  expect(bridge.status()).toMatchObject({
    state: 'disconnected',
    channels: { tg: { status: 'disconnected', since: clock.now(), reason: expect.stringContaining('@BotFather') } },
  })
  expect([await ready(), await gauge()]).toEqual([503, 'reply_bridge_channel_receiving{channel="tg"} 0'])
  expect(notices.at(-1)).toContain('tg receives nothing, and retries: Telegram rejected')
  // With turns of the event loop in between, in which it beats.
  await clock.advance(5000, async () => await new Promise((resolve) => setImmediate(resolve)))
  await until(() => bridge.status().state === 'ready')
  expect([await ready(), await gauge()]).toEqual([200, 'reply_bridge_channel_receiving{channel="tg"} 1'])
  expect(notices.at(-1)).toBe('tg receives messages again.')
  const stopped = bridge.stop()
  await clock.advance(10_000)
  await stopped
  await served.close()
  await telegram.close()
})

test('a token that is refused at the start ends it with the cure', async () => {
  const { bridge, telegram } = await create()
  telegram.inject({ type: 'status', code: 401, method: 'getMe' })
  await expect(bridge.start()).rejects.toMatchObject({ type: 'unauthorized' })
  expect(bridge.status().state).toBe('stopped')
  await telegram.close()
})
