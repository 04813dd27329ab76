import { createHandClock } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { callPlatform, callTimeoutMs } from '../src/port/call.ts'
import { requireLength } from '../src/port/limits.ts'
import { createToPortError, networkCodeOf, typeOfStatus } from '../src/port/network.ts'
import { ignoreGone, PortError } from '../src/port/port-error.ts'

const refusing = new Error('refused by the platform')
const toPortError = createToPortError('Chatty', (error) =>
  error === refusing ? { type: 'rate-limited', reason: '429 slow down', cause: error, scope: 'client' } : undefined,
)

describe('a call', () => {
  test('ends at its deadline, even if the client goes on', async () => {
    const clock = createHandClock()
    let aborted: AbortSignal | undefined
    const make = (signal: AbortSignal): Promise<never> => {
      aborted = signal
      return new Promise(() => {})
    }
    const ended = expect(callPlatform(make, { what: 'post in chat 7', clock, toPortError })).rejects.toMatchObject({
      type: 'ambiguous',
      message: 'post in chat 7: no response within 30000 ms.',
    })
    await clock.advance(callTimeoutMs)
    await ended
    expect(aborted?.aborted).toBe(true)
  })

  test('is aborted by the signal of its caller, and leaves no timer', async () => {
    const clock = createHandClock()
    const abort = new AbortController()
    const make = (signal: AbortSignal): Promise<never> =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))
    const ended = expect(
      callPlatform(make, { what: 'poll', signal: abort.signal, clock, toPortError }),
    ).rejects.toMatchObject({ type: 'ambiguous' })
    abort.abort()
    await ended
    expect(clock.pending).toBe(0)
  })

  test('ends when its caller aborts it, even if the client goes on', async () => {
    const abort = new AbortController()
    const clock = createHandClock()
    const make = (): Promise<never> => new Promise(() => {})
    const ended = expect(
      callPlatform(make, { what: 'post in chat 7', signal: abort.signal, clock, toPortError }),
    ).rejects.toMatchObject({ type: 'ambiguous', message: 'post in chat 7: no response before it was aborted.' })
    abort.abort()
    await ended
    expect(clock.pending).toBe(0)
  })

  test('is not made after its caller aborted it', async () => {
    let isMade = false
    const make = async (): Promise<void> => {
      isMade = true
    }
    const call = callPlatform(make, {
      ...{ what: 'post in chat 7', signal: AbortSignal.abort(), clock: createHandClock(), toPortError },
    })
    await expect(call).rejects.toMatchObject({ type: 'unreachable' })
    expect(isMade).toBe(false)
  })

  test('that the platform refuses keeps what it said, and the error of the client', async () => {
    const call = callPlatform(() => Promise.reject(refusing), { what: 'post', clock: createHandClock(), toPortError })
    await expect(call).rejects.toMatchObject({
      ...{ type: 'rate-limited', message: 'post: 429 slow down', cause: refusing },
      ...{ scope: 'client', retryAfterMs: 1000 },
    })
  })
})

describe('a network error', () => {
  const code = (name: string): Error => Object.assign(new Error(`to https://host/token: ${name}`), { code: name })

  test.each([
    ['ECONNREFUSED', 'unreachable', "post: Chatty can't be reached (ECONNREFUSED)."],
    ['CERT_HAS_EXPIRED', 'unreachable', "post: Chatty can't be reached (CERT_HAS_EXPIRED)."],
    ['ECONNRESET', 'ambiguous', 'post: no readable response arrived (ECONNRESET).'],
  ])('with %s is %s, and the cause is dropped, which may contain the token', (name, type, message) => {
    const { cause, ...error } = toPortError(code(name), 'post')
    expect([error.type, toPortError(code(name), 'post').message, cause]).toEqual([type, message, undefined])
  })

  test.each([
    ['cause', new Error('outer', { cause: code('ENOTFOUND') })],
    ["grammY's error", Object.assign(new Error('outer'), { error: new Error('x', { cause: code('ENOTFOUND') }) })],
    [
      "Slack's original",
      Object.assign(new Error('outer'), { code: 'slack_webapi_request_error', original: code('ENOTFOUND') }),
    ],
  ])('is found below %s', (_, error) => {
    expect(networkCodeOf(error)).toBe('ENOTFOUND')
  })

  test('without a code has none', () => {
    const endless: { cause?: unknown } = {}
    endless.cause = endless
    expect([networkCodeOf(endless), networkCodeOf('text'), networkCodeOf(undefined)]).toEqual(Array(3).fill(undefined))
  })
})

test.each([
  [200, 'ambiguous'],
  [400, 'refused'],
  [413, 'too-long'],
  [429, 'rate-limited'],
  [502, 'ambiguous'],
  [504, 'ambiguous'],
] as const)('status %i alone means %s', (status, type) => {
  expect(typeOfStatus(status)).toBe(type)
})

test.each([
  [undefined, 1000],
  [0, 1000],
  [250, 250],
])('a rate limit that names %s ms waits %i ms', (retryAfterMs, expected) => {
  expect(new PortError('rate-limited', 'x', { retryAfterMs }).retryAfterMs).toBe(expected)
  expect(new PortError('refused', 'x', { retryAfterMs }).retryAfterMs).toBeUndefined()
})

test('a text of more units than the platform takes is too long', () => {
  expect(() => requireLength('abc', 3)).not.toThrow()
  expect(() => requireLength('abcd', 3)).toThrow('4 UTF-16 units are too many; the maximum is 3.')
})

test('the removal of a message that is gone succeeds, any other failure does not', async () => {
  await ignoreGone(Promise.reject(new PortError('gone', 'x')))
  await expect(ignoreGone(Promise.reject(new PortError('fixed', 'y')))).rejects.toThrow('y')
})
