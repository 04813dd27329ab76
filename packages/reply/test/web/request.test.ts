import { describe, expect, test } from 'vitest'
import { parseJson, readText, refuseForeign, requireJson } from '../../src/web/request.ts'

const url = 'http://app.example/api'
const post = (
  headers: Readonly<Record<string, string>>,
  body?: string | Uint8Array<ArrayBuffer> | ReadableStream,
): Request => new Request(url, { method: 'POST', headers, ...(body !== undefined && { body, duplex: 'half' }) })

describe('a body', () => {
  test('is refused as soon as it is too large, whatever its headers say', async () => {
    let read = 0
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        read += 1
        controller.enqueue(new Uint8Array(1024))
      },
    })
    await expect(readText(post({}, endless), 4096)).rejects.toMatchObject({ status: 413 })
    expect(read).toBeLessThan(10)
    await expect(readText(post({ 'content-length': '5000' }, 'x'), 4096)).rejects.toMatchObject({ status: 413 })
  })

  test('is refused unless it is UTF-8, JSON, and said to be JSON', async () => {
    await expect(readText(post({}, new Uint8Array([0xff])), 10)).rejects.toMatchObject({ status: 400 })
    expect(() => parseJson('{')).toThrow('not valid JSON')
    expect(() => requireJson(post({ 'content-type': 'text/plain' }))).toThrow(expect.objectContaining({ status: 415 }))
    expect(() => requireJson(post({ 'content-type': 'application/json; charset=utf-8' }))).not.toThrow()
  })

  test('is refused if it is nested deeper than JSON can be written again', () => {
    const nested = (levels: number): string => `${'[{"a":'.repeat(levels / 2)}"]}\\"["${'}]'.repeat(levels / 2)}`
    expect(() => parseJson(nested(100_000))).toThrow('deeper than 1000 levels')
    expect(() => parseJson(nested(1002))).toThrow('deeper than 1000 levels')
    expect(JSON.stringify(parseJson(nested(1000)))).toBe(nested(1000))
    const flat = JSON.stringify(Array.from({ length: 2000 }, () => ['[[[{"\\']))
    expect(JSON.stringify(parseJson(flat))).toBe(flat)
  })
})

describe('a request of a page of another origin', () => {
  test.each<[string, Readonly<Record<string, string>>]>([
    ['by Sec-Fetch-Site', { 'sec-fetch-site': 'cross-site', origin: 'http://app.example' }],
    ['of a sibling', { 'sec-fetch-site': 'same-site' }],
    ['by Origin', { origin: 'http://evil.example' }],
    ['with an opaque origin', { origin: 'null' }],
  ])('is refused: %s', (_, headers) => {
    expect(() => refuseForeign(post(headers), [])).toThrow(expect.objectContaining({ status: 403 }))
  })

  test.each<[string, Readonly<Record<string, string>>]>([
    ['its own pages', { 'sec-fetch-site': 'same-origin', origin: 'http://app.example' }],
    ['a page of its own host without Sec-Fetch-Site', { origin: 'https://app.example' }],
    ['programs', {}],
    ['an allowed origin', { 'sec-fetch-site': 'cross-site', origin: 'https://other.example' }],
  ])('is not: %s', (_, headers) => {
    expect(() => refuseForeign(post(headers), ['https://other.example'])).not.toThrow()
  })
})
