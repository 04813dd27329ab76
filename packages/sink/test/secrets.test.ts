import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { ChannelError } from '../src/error.ts'
import { createToPortError } from '../src/port/network.ts'
import { PortError } from '../src/port/port-error.ts'
import { keepSecret, quotable, safeError, withoutSecrets } from '../src/port/secrets.ts'

/** Random but fixed: none is real. */
const secret = 'Q7wErTy9UiOp2AsDfGh4JkLzXcV6bNm1'
keepSecret(secret)
keepSecret('two words & more')

test('a kept secret is removed from any text, whole, in part and escaped', () => {
  expect(withoutSecrets(`see ${secret}, ${secret}.`)).toBe('see [redacted], [redacted].')
  expect(withoutSecrets(`Invalid token "${secret.slice(0, 16)}"…`)).toBe('Invalid token "[redacted]"…')
  expect(withoutSecrets(`…${secret.slice(-18)}`)).toBe('…[redacted]')
  expect(withoutSecrets(`a${secret.slice(7, 25)}b`)).toBe('a[redacted]b')
  expect(withoutSecrets('?t=two%20words%20%26%20more&x=1')).toBe('?t=[redacted]&x=1')
  expect(withoutSecrets(`${secret}${secret}`)).toMatch(/^(?:\[redacted\])+$/)
})

test('a kept secret is removed from what URLs, JSON, HTML and Base64 make of it', () => {
  const odd = 'p"w\\ß/+=&<hunter>-and-more'
  keepSecret(odd)
  const basic = (before: string): string => Buffer.from(`${before}${odd}`).toString('base64')
  for (const text of [
    encodeURIComponent(odd).toLowerCase(),
    JSON.stringify(odd).slice(1, -1),
    'p&quot;w\\ß/+=&amp;&lt;hunter&gt;-and-more',
  ])
    expect(withoutSecrets(text)).toBe('[redacted]')
  for (const before of ['', 'a:', 'ab:', 'opencode:'])
    for (const text of [basic(before), basic(before).replaceAll('+', '-').replaceAll('/', '_')])
      expect(withoutSecrets(text)).toMatch(/^.{0,12}\[redacted\].{0,4}$/)
})

test('what has fewer of its characters in a row stays', () => {
  for (const text of [secret.slice(0, 15), secret.slice(5, 20), 'two words', 'ordinary words', ''])
    expect(withoutSecrets(text)).toBe(text)
})

test('a short secret is removed whole, and one that is too short to be one stays', () => {
  keepSecret('hunter42')
  keepSecret('invalid')
  expect(withoutSecrets('hunter42 is invalid, hunter2 too')).toBe('[redacted] is invalid, hunter2 too')
})

test('of secrets that soon end, the newest 200 are removed', () => {
  const passing = Array.from({ length: 201 }, (_, at) => `${at * 7919}`.repeat(4).padStart(16, 'i'))
  for (const one of passing) keepSecret(one, { isTemporary: true })
  expect([passing.at(-1), passing.at(1)].map((one = '') => withoutSecrets(one))).toEqual(['[redacted]', '[redacted]'])
  expect(withoutSecrets(passing.at(0) ?? '')).toBe(passing.at(0))
  expect(withoutSecrets(secret)).toBe('[redacted]')
})

test('a text of a million characters takes little time', () => {
  keepSecret('¶'.repeat(30))
  expect(withoutSecrets('qz'.repeat(500_000))).toHaveLength(1_000_000)
  expect(withoutSecrets('¶'.repeat(1_000_000)).length).toBeLessThan(1_000_000)
})

test('message, stack and cause of an error leave it out', () => {
  const cause = Object.assign(new TypeError(`fetch ${secret}`, { cause: new Error(secret) }), {
    url: `https://x/bot${secret}/getMe`,
    payload: { list: [`a ${secret}`], [secret]: 1 },
    request: new Request('https://x/', { headers: { authorization: `Bearer ${secret}` } }),
    read: () => secret,
    get late(): string {
      return secret
    },
  })
  for (const error of [
    new PortError('refused', `no ${secret}`, { cause }),
    new ChannelError('answer', secret, { cause }),
  ]) {
    const shown = inspect(error, { depth: null, showHidden: true, getters: true }) + JSON.stringify(error) + error.stack
    expect(shown).not.toContain(secret.slice(0, 12))
    expect(error.cause).toBeInstanceOf(TypeError)
    expect(error.cause).toMatchObject({ message: 'fetch [redacted]', url: 'https://x/bot[redacted]/getMe' })
    expect(JSON.stringify(error.cause)).toContain('"list":["a [redacted]"]')
  }
})

test('a getter and a symbol, which may give a secret later, are left out of a cause', () => {
  const late = Object.defineProperty(new Error('late'), 'url', { get: () => secret, enumerable: true })
  const symbol = Object.assign(new Error('symbol'), { [Symbol('headers')]: [secret] })
  for (const cause of [late, symbol]) {
    const error = new PortError('refused', 'x', { cause })
    expect(inspect(error, { depth: null, showHidden: true, getters: true })).not.toContain(secret)
    expect(error.cause).toMatchObject({ message: cause.message })
  }
})

test('a cause without a secret stays the same object, and one without an end is cut', () => {
  const clean = Object.assign(new Error('no'), { code: 'ECONNRESET', data: { ok: false } })
  expect(new PortError('refused', 'x', { cause: clean }).cause).toBe(clean)
  expect(safeError(clean)).toBe(clean)
  const round: { message: string; self?: unknown } = { message: 'round' }
  round.self = round
  expect(new PortError('refused', 'x', { cause: round }).cause).toEqual({ message: 'round', self: undefined })
  expect(new PortError('refused', 'x')).not.toHaveProperty('cause')
  expect(new PortError('refused', 'x', { cause: undefined })).toHaveProperty('cause', undefined)
})

test('a token that begins like a kept secret is removed whole', () => {
  keepSecret('xoxb-2345678901234-3456789012345-AaBbCcDdEeFfGgHhIiJjKkLl')
  const other = 'xoxb-2345678901234-3456789012345-ZzYyXxWwVvUuTtSsRrQqPp22'
  expect(quotable(`bad ${other}`)).toBe('bad [redacted]')
})

test("what looks like a token is removed from a server's words, not from the program's own", () => {
  const unknown = `xoxb-2345678901234-3456789012345-ZzYyXxWwVvUuTtSsRrQqPp11`
  const toPortError = createToPortError('Test', () => ({ type: 'refused', reason: `400 bad ${unknown} in /home/jane` }))
  expect(toPortError({}, 'post').message).toBe('post: 400 bad [redacted] in /home/jane')
  expect(new ChannelError('invalid', 'A webhook needs a secretToken: without one, anyone could post.').message).toBe(
    'A webhook needs a secretToken: without one, anyone could post.',
  )
})
