import { expect, test } from 'vitest'
import { createSecretFilter, hideValues, redactStrings, secretsIn } from '../src/internal.ts'

test.each([
  ['an option and the next argument', ['--api-key', 'sesame', 'other'], ['sesame']],
  ['an option with its value', ['--token=sesame', '--auth-key="sesame two"'], ['sesame', '"sesame two"', 'sesame two']],
  ['a variable', ['OPENAI_API_KEY=sesame', 'DOOR_KEY=sesame2'], ['sesame', 'sesame2']],
  ['a setting of a table', ['-c', 'providers.mine.bearer_token="sesame"'], ['"sesame"', 'sesame']],
  ['a header', ['-H', 'Authorization: Bearer sesame'], ['Bearer sesame', 'sesame']],
  [
    'fields of JSON',
    ['--mcp={"a":[{"headers":{"X-Api-Key":"sesame"}}]}', '{"b_token":"two-sesame"}'],
    ['sesame', 'two-sesame'],
  ],
  ['each line of a value', ['--password', 'first line\nsecond line'], ['first line', 'second line']],
])('the secrets in arguments are found: %s', (_, args, found) => {
  expect([...new Set(secretsIn({ args }))]).toEqual(found)
})

test('other arguments, short values and settings are none', () => {
  const args = [
    '--model',
    'sonnet',
    '--max-tokens',
    '4096',
    '--token',
    'yes',
    '--use-token=true',
    'a: b',
    '{"a":',
    '{}',
  ]
  expect(secretsIn({ args })).toEqual([])
})

test('a filter removes the values of variables and arguments, and what looks like a secret', () => {
  const filter = createSecretFilter({
    args: ['--token', 'sesame'],
    env: { DOOR_KEY: 'open-sesame', HOME_PAGE: 'here' },
  })
  expect(filter('No open-sesame, no sesame, no sk-ant-abcdefghijklmnop here.')).toBe(
    'No [redacted], no [redacted], no [redacted] here.',
  )
})

test('strings of a value are replaced at any depth, and a value that is too deep is removed', () => {
  const shout = (text: string): string => text.toUpperCase()
  expect(redactStrings({ a: ['b', { c: 'd' }], n: 1, none: null }, shout)).toEqual({
    a: ['B', { c: 'D' }],
    n: 1,
    none: null,
  })
  let deep: unknown = 'secret'
  for (let level = 0; level < 100_000; level++) deep = [deep]
  expect(JSON.stringify(redactStrings(deep, shout))).not.toContain('SECRET')
})

test('an empty value hides nothing, and the others are hidden in any split', () => {
  const values = hideValues(['', 'sesame'])
  expect(values.push('open ses') + values.push('ame') + values.end()).toBe('open [redacted]')
  const none = hideValues([''])
  expect(none.push('open') + none.end()).toBe('open')
})
