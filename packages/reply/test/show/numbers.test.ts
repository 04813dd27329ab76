import { emptyReply } from '@reply/core'
import { amount, byteSize, contextPercent, counted, dollars, duration, elapsed } from '@reply/core/show'
import { expect, test } from 'vitest'

test.each([
  [-5, '0.0s', '0s'],
  [400, '0.4s', '0s'],
  [9_940, '9.9s', '9s'],
  [9_950, '10s', '9s'],
  [59_600, '1m 00s', '59s'],
  [185_000, '3m 05s', '3m 05s'],
  [3_720_000, '1h 02m', '1h 02m'],
])('%i ms took %s, and are %s so far', (ms, took, soFar) => {
  expect([duration(ms), elapsed(ms)]).toEqual([took, soFar])
})

test.each([
  [950, '950'],
  [1000, '1k'],
  [12_340, '12.3k'],
  [999_949, '999.9k'],
  [999_950, '1M'],
  [1_234_000, '1.2M'],
])('%i is written as %s', (count, expected) => {
  expect(amount(count)).toBe(expected)
})

test.each([
  [999, '999 B'],
  [1000, '1 kB'],
  [1001, '1.1 kB'],
  [999_900, '999.9 kB'],
  [999_901, '1 MB'],
  [5_000_001, '5.1 MB'],
  [999_900_001, '1 GB'],
  [2_147_483_648, '2.2 GB'],
])('%i bytes are %s, never less than they are', (bytes, expected) => expect(byteSize(bytes)).toBe(expected))

test('small costs have four digits', () => {
  expect([dollars(0.0012), dollars(1.2)]).toEqual(['$0.0012', '$1.20'])
})

test('a count has its noun', () => {
  expect([counted(1, 'step'), counted(3, 'step')]).toEqual(['1 step', '3 steps'])
})

test.each([
  [undefined, 100, undefined],
  [50, 0, undefined],
  [1, 1000, undefined],
  [655, 1000, 66],
  [2000, 1000, 100],
])('%s tokens of %i are %s percent', (contextTokens, contextLimit, expected) => {
  const { usage } = emptyReply('ses_1')
  expect(contextPercent({ usage: { ...usage, contextTokens, contextLimit } })).toBe(expected)
})
