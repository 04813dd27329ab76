import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createEventStream } from '../../src/drive/connection/event-stream.ts'
import type { ReplyError } from '../../src/index.ts'

test('an event stream continues although its onLost throws', async () => {
  const clock = createHandClock()
  const errors: ReplyError[] = []
  let attempts = 0
  const events = createEventStream({
    source: {
      name: 'http://nowhere',
      // biome-ignore lint/correctness/useYield: it fails before its first event.
      connect: async function* () {
        attempts += 1
        throw new TypeError('fetch failed')
      },
    },
    clock,
    random: () => 0,
    onError: (error) => errors.push(error),
    receive: () => {},
    onLost: () => {
      throw new Error('Mine to fix.')
    },
    firstFrameMs: 5000,
    silenceMs: () => 25_000,
    backOff: { minMs: 500, maxMs: 10_000 },
  })
  const rest = () => new Promise<void>((resolve) => setImmediate(resolve))
  await rest()
  await clock.advance(2000, rest)
  expect(attempts).toBeGreaterThan(2)
  expect(errors[0]).toMatchObject({ type: 'observer', message: '"onLost" failed: Mine to fix..' })
  events.close()
})
