import { expect, test } from 'vitest'
import { tokens, withSecrets } from '../src/asks/asks.ts'
import { askSecret, isAskToken } from '../src/asks/token.ts'
import { emptyLedger } from '../src/ledger/ledger.ts'
import { asks, replyWith } from './make.ts'

const word = 'AbCd-_0123456789'
const tokensOf = (secret: string): readonly string[] => [
  tokens.option(secret, 99, 999),
  tokens.done(secret, 0),
  tokens.form(secret, 12),
  ...(['once', 'always', 'reject'] as const).map((reply) => tokens.permission(secret, reply)),
]

test.each([askSecret(() => word), word])("the tokens of an ask are told from others', with %s", (secret) => {
  expect(tokensOf(secret).filter((token) => !isAskToken(token))).toEqual([])
})

test.each(['page:2', 'yes', '', 'AbCd-_0123456789', 'AbCd-_0123456789.maybe', '{"a":1}', 'RANDOM', 'reply:5'])(
  'the data of a button of another program is not a token: %s',
  (data) => {
    expect(isAskToken(data)).toBe(false)
  },
)

// https://core.telegram.org/bots/api#inlinekeyboardbutton: "1-64 bytes".
test('a token fits into the smallest button data, which is 64 bytes', () => {
  for (const token of tokensOf(askSecret(() => word))) expect(Buffer.byteLength(token)).toBeLessThanOrEqual(64)
})

test('a pending ask keeps the tokens that an earlier version gave it', () => {
  const before = { secret: word, answers: [], picked: [] }
  const ledger = { ...emptyLedger, asks: { [asks().requestID]: before } }
  expect(withSecrets(ledger, replyWith([], { asks: [asks()] }), { secret: () => 'new', now: 0 })).toBe(ledger)
})
