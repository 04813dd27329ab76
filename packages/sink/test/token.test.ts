import { expect, test } from 'vitest'
import { tokens } from '../src/asks/asks.ts'
import { actionIn, cardSecrets, isAskToken, sealToken, secretHash, secretIn, unsealToken } from '../src/asks/token.ts'

const secret = cardSecrets('key')('ask:que_1:0')
const all: readonly string[] = [
  tokens.option(secret, 99, 999),
  tokens.done(secret, 0),
  tokens.form(secret, 12),
  ...(['once', 'always', 'reject'] as const).map((reply) => tokens.permission(secret, reply)),
]

test("the tokens of an ask are told from others'", () => {
  expect(all.filter((token) => !isAskToken(token))).toEqual([])
})

test.each(['page:2', 'yes', '', 'AbCd-_0123456789', 'AbCd-_0123456789.once', '{"a":1}', 'RANDOM', 'reply:5'])(
  'the data of a button of another program is not a token: %s',
  (data) => {
    expect(isAskToken(data)).toBe(false)
  },
)

// https://core.telegram.org/bots/api#inlinekeyboardbutton: "1-64 bytes".
test('a token fits into the smallest button data, which is 64 bytes', () => {
  for (const token of all) expect(Buffer.byteLength(token)).toBeLessThanOrEqual(64)
})

test('each card and each key have other secrets, and the same ones each time', () => {
  const cards = ['ask:que_1:0', 'ask:que_1:1', 'ask:per_1:digest']
  const secrets = ['key', 'another'].flatMap((key) => cards.map(cardSecrets(key)))
  expect(new Set(secrets).size).toBe(6)
  expect(['key', 'another'].flatMap((key) => cards.map(cardSecrets(key)))).toEqual(secrets)
})

test('a hash knows a token by its secret alone, whatever it does', () => {
  expect(new Set(all.map(secretHash)).size).toBe(1)
  expect(secretHash(all[0] ?? '')).not.toContain(secretIn(all[0] ?? ''))
  expect(secretHash('r~other.once')).not.toBe(secretHash(all[0] ?? ''))
  expect(all.map(actionIn)).toEqual(['.99.999', '.0.d', '.12.f', '.once', '.always', '.reject'])
})

test('a sealed token has the same hash and does the same, and does not tell the secret', () => {
  const sealed = all.map(sealToken)
  expect(sealed.map(secretHash)).toEqual(all.map(secretHash))
  expect(sealed.map(actionIn)).toEqual(all.map(actionIn))
  expect(sealed.join()).not.toContain(secret.slice(2))
  expect(sealed.map(sealToken)).toEqual(sealed)
  expect(sealed.map((token) => unsealToken(token, all[0] ?? ''))).toEqual(all)
})

test('the data of other buttons is neither sealed nor unsealed', () => {
  expect(['b/run/1', 'page:2', ''].map(sealToken)).toEqual(['b/run/1', 'page:2', ''])
  expect(unsealToken('b/run/1', all[0] ?? '')).toBe('b/run/1')
})
