import { connect } from '@reply/core'
import { createHandClock, createRecordedServer, readRecording } from '@reply/testing'
import { expect, test } from 'vitest'
import { createBridge } from '../src/bridge.ts'
import { parseConfig } from '../src/config/parse.ts'
import { createMemoryStore } from '../src/testing.ts'

const { bytes } = readRecording({ version: '1.18.33', scenario: 'plain' })
const never = async (): Promise<never> => await new Promise(() => {})
const none = async (): Promise<void> => {}

/** A bridge with a channel of these methods, and whether its store is closed. */
async function startedWith(channel: { readonly stop: () => Promise<void> }) {
  const clock = createHandClock()
  const store = createMemoryStore()
  let isClosed = false
  const bridge = createBridge({
    config: parseConfig({
      servers: { home: { url: 'http://127.0.0.1:1' } },
      channels: { own: { type: 'telegram', token: { env: 'TOKEN' } } },
      people: {},
    }),
    store: {
      ...store,
      close: async () => {
        isClosed = true
      },
    },
    connections: {
      own: () => ({
        listens: 'anywhere',
        posts: 'anywhere',
        check: none,
        start: none,
        typing: none,
        edit: none,
        sinkFor: () => never() as never,
        budgets: {},
        post: never,
        download: never,
        ...channel,
      }),
    },
    connectTo: () => connect({ url: 'http://recorded', fetch: createRecordedServer({ bytes }).fetch, clock }),
    clock,
  })
  await bridge.start()
  return { bridge, clock, isClosed: () => isClosed }
}

test('a bridge stops at once when its channels do', async () => {
  const { bridge, isClosed } = await startedWith({ stop: none })
  await bridge.stop()
  expect(isClosed()).toBe(true)
  expect(bridge.status().state).toBe('stopped')
})

test('a channel that does not stop holds up the stop for ten seconds and no longer', async () => {
  const { bridge, clock, isClosed } = await startedWith({ stop: never })
  let isStopped = false
  const stopped = bridge.stop().then(() => {
    isStopped = true
  })
  await clock.advance(9999, async () => await new Promise((resolve) => setImmediate(resolve)))
  expect([isStopped, isClosed()]).toEqual([false, false])
  await clock.advance(1)
  await stopped
  expect(isClosed()).toBe(true)
})
