import { describe, expect, test, vi } from 'vitest'
import { toSettings } from '../../src/drive/options.ts'
import { systemClock } from '../../src/index.ts'
import { toAddress } from '../../src/source/http/address.ts'
import { createRest } from '../../src/source/opencode1/rest.ts'

/** A server that answers with an endless body and counts the bytes read. */
function endless(headers: Readonly<Record<string, string>> = {}) {
  const taken = { bytes: 0, isCancelled: false, requests: 0 }
  const answer = async (): Promise<Response> => {
    taken.requests++
    const body = new ReadableStream<Uint8Array>(
      {
        pull: (controller) => {
          taken.bytes += 1000
          controller.enqueue(new Uint8Array(1000).fill(32))
        },
        cancel: () => {
          taken.isCancelled = true
        },
      },
      { highWaterMark: 0 },
    )
    return new Response(body, { headers: { 'content-type': 'application/json', ...headers } })
  }
  const rest = createRest({
    address: toAddress({ url: 'http://h:1' }),
    fetch: answer,
    clock: systemClock,
    deadlineMs: 30_000,
    maxAnswerBytes: 5000,
  })
  return { rest, taken }
}

describe('an answer over REST that is too large', () => {
  test('is refused once while it is read, and its rest is not read', async () => {
    const { rest, taken } = endless()
    await expect(rest.health()).rejects.toMatchObject({
      type: 'too-large',
      message: expect.stringMatching(/GET \/global\/health.*more than 5000 bytes.*maxAnswerBytes/),
    })
    expect(taken).toEqual({ bytes: 6000, isCancelled: true, requests: 1 })
  })

  test('is refused by its header, without a byte of it', async () => {
    const { rest, taken } = endless({ 'content-length': '5001' })
    await expect(rest.health()).rejects.toMatchObject({ type: 'too-large' })
    expect(taken).toMatchObject({ bytes: 0, isCancelled: true })
  })
})

describe('options', () => {
  test.each([
    [{ minMs: 100 }, { minMs: 100, maxMs: 10_000 }],
    [{ minMs: 20_000 }, { minMs: 20_000, maxMs: 20_000 }],
    [{ maxMs: 100 }, { minMs: 100, maxMs: 100 }],
    [{ maxMs: 60_000 }, { minMs: 500, maxMs: 60_000 }],
    [{}, { minMs: 500, maxMs: 10_000 }],
  ])('backOff %j is %j', (backOff, whole) => {
    expect(toSettings({ backOff }).backOff).toEqual(whole)
  })

  test('stalledAfterMs takes one of its fields alone', () => {
    expect(toSettings({ stalledAfterMs: { first: 5 } }).stalledAfterMs).toEqual({
      first: 5,
      later: 300_000,
    })
  })

  test('a password of any letters becomes a header without Buffer, as in a browser', () => {
    vi.stubGlobal('Buffer', undefined)
    const { authorization } = toAddress({ url: 'http://h:1', username: 'jürgen', password: 'pässwörd 漢字' })
    vi.unstubAllGlobals()
    expect(authorization).toBe(`Basic ${Buffer.from('jürgen:pässwörd 漢字').toString('base64')}`)
  })
})
