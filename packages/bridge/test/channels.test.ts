import { expect, test } from 'vitest'
import { createChannels } from '../src/chats/channels.ts'

test('a sink that is made after its chats are handed over is stopped, so that it never posts beside the next owner', () => {
  const stopping = new AbortController()
  let made = 0
  const stopped: number[] = []
  const sinkFor = () => {
    const number = ++made
    return { stop: async () => void stopped.push(number) }
  }
  const options = {
    connections: new Map([['tg', { sinkFor }]]),
    stopping: stopping.signal,
    state: {},
    ledgersOf: () => {},
  }
  const channels = createChannels(options as unknown as Parameters<typeof createChannels>[0])
  const place = { channel: 'tg', chat: { id: '1' } }
  channels.sinkFor(place, {})
  expect(stopped).toEqual([])
  stopping.abort()
  channels.sinkFor(place, {})
  expect(stopped).toEqual([2])
})
