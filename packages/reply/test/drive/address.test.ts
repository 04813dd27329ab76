import { afterEach, describe, expect, test, vi } from 'vitest'
import { toAddress, unauthorizedError } from '../../src/source/http/address.ts'

const env = {
  OPENCODE_URL: 'http://elsewhere:1/',
  OPENCODE_SERVER_USERNAME: 'ann',
  OPENCODE_SERVER_PASSWORD: 'geheim',
}
const basic = (words: string) => `Basic ${Buffer.from(words).toString('base64')}`

afterEach(() => vi.unstubAllGlobals())

describe('without a url', () => {
  test('the environment names the server and its credentials', () => {
    expect(toAddress({}, env)).toMatchObject({ url: 'http://elsewhere:1', authorization: basic('ann:geheim') })
  })

  test('the server is on this machine where the environment names none', () => {
    expect(toAddress({}, {})).toEqual({ url: 'http://127.0.0.1:4096', cure: expect.any(String) })
    expect(toAddress({}, { OPENCODE_URL: '' }).url).toBe('http://127.0.0.1:4096')
  })

  test('what the caller gives goes before the environment', () => {
    expect(toAddress({ password: 'other', username: 'bob' }, env).authorization).toBe(basic('bob:other'))
  })

  test('a bad OPENCODE_URL is named', () => {
    expect(() => toAddress({}, { OPENCODE_URL: 'me:geheim@localhost' })).toThrow(
      'OPENCODE_URL "***@localhost" is not an http(s) address',
    )
  })
})

describe('with a url', () => {
  test('the environment is not read: its password is for another server', () => {
    expect(toAddress({ url: 'http://here:2' }, env).authorization).toBeUndefined()
    expect(toAddress({ url: 'http://here:2', password: 'x' }, env).authorization).toBe(basic('opencode:x'))
  })

  test('its credentials are kept and not shown', () => {
    const { url, authorization } = toAddress({ url: 'http://me:p%40ss@here:2/base/' }, env)
    expect([url, authorization]).toEqual(['http://here:2/base', basic('me:p@ss')])
  })
})

test('the error for refused credentials names what the caller has to set', () => {
  const words = (address: Parameters<typeof unauthorizedError>[0]) => unauthorizedError(address, 401).message
  expect(words(toAddress({}, {}))).toMatch(/requires a password \(401\): set OPENCODE_SERVER_PASSWORD/)
  expect(words(toAddress({}, env))).toMatch(/rejected the credentials \(401\): set OPENCODE_SERVER_PASSWORD/)
  expect(words(toAddress({ url: 'http://here:2' }, env))).toMatch(/connect\(\) needs .* as password/)
  expect(words(toAddress({ url: 'http://here:2', password: 'geheim' }, env))).not.toContain('geheim')
})

test('a password works without Node: in browsers there is neither process nor Buffer', () => {
  const expected = basic('opencode:pässwörd…')
  vi.stubGlobal('process', undefined)
  vi.stubGlobal('Buffer', undefined)
  const { authorization } = toAddress({ password: 'pässwörd…' })
  vi.unstubAllGlobals()
  expect(authorization).toBe(expected)
})
