import { Api } from 'grammy'
import { expect, test } from 'vitest'
import { telegramChannel, telegramSink } from '../src/index.ts'
import { token } from './bot.ts'

const onInbound = (): void => {}
const updatings = ['webhook', 'own', 'polling'] as const

test.each(['', ' ', '\t\n ', '\u200b\u2060', 'a-secret\n', 'a secret', 'x'.repeat(257)])(
  'the secret %j is refused however updates come, and is not repeated',
  (secretToken) => {
    const api = new Api(token)
    for (const updates of updatings) {
      const make = () => telegramChannel({ api, updates, secretToken, onInbound })
      expect(make).toThrow(
        expect.objectContaining({ type: 'invalid', message: expect.stringMatching(/needs a secretToken/) }),
      )
      expect(make).not.toThrow(/a.secret[^T]|xx/)
    }
  },
)

test('every allowed form of secret is accepted', () => {
  const api = new Api(token)
  for (const secretToken of ['a', 'A-Z_0-9', 'x'.repeat(256)])
    expect(() => telegramChannel({ api, updates: 'webhook', secretToken, onInbound })).not.toThrow()
})

test('a client with a blank token is refused', () => {
  const api = new Api('  ')
  const refusal = expect.objectContaining({ type: 'invalid', message: expect.stringMatching(/token .* blank/) })
  expect(() => telegramChannel({ api, updates: 'own', onInbound })).toThrow(refusal)
  expect(() => telegramSink({ api, chatId: 1 })).toThrow(refusal)
})
