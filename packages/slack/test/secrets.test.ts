import { SocketModeClient } from '@slack/socket-mode'
import { WebClient } from '@slack/web-api'
import { expect, test } from 'vitest'
import { slackChannel, slackSink } from '../src/index.ts'

const onInbound = (): void => {}
const clientOptions = { retryConfig: { retries: 0 }, rejectRateLimitedCalls: true }

test.each(['', ' ', '\u200b'.repeat(32), 'sh-rt', 'a-secret-of-length\n'])(
  'the signing secret %j is refused however events come, and is not repeated',
  (signingSecret) => {
    const api = new WebClient('xoxb-fake', clientOptions)
    for (const events of ['http', 'own'] as const) {
      const make = () => slackChannel({ api, events, signingSecret, onInbound })
      expect(make).toThrow(
        expect.objectContaining({ type: 'invalid', message: expect.stringMatching(/needs a signingSecret/) }),
      )
      expect(make).not.toThrow(/sh-rt|a-secret/)
    }
  },
)

test('a client with a blank token is refused', () => {
  const api = new WebClient(' ', clientOptions)
  const refusal = expect.objectContaining({ type: 'invalid', message: expect.stringMatching(/token .* blank/) })
  expect(() => slackChannel({ api, events: 'own', onInbound })).toThrow(refusal)
  expect(() => slackSink({ api, channelId: 'C1' })).toThrow(refusal)
})

test('a socket without an app token is refused by its client', () => {
  expect(() => new SocketModeClient({ appToken: '' })).toThrow(/App-Level Token/)
})
