import { causeOf, replay } from '@reply/core'
import { openCode2Version, readRecording } from '@reply/testing'
import { expect, test } from 'vitest'

test.each([
  ['1.18.33', 'unauthorized', 'credentials'],
  ['1.1.65', 'unauthorized', 'credentials'],
  [openCode2Version, 'unauthorized', 'credentials'],
  ['1.18.33', 'retry-429', undefined],
])('the cause of a failure is told from what %s says (%s)', async (version, scenario, cause) => {
  const replies = await replay(readRecording({ version, scenario }).bytes)
  expect(replies.map(({ error }) => error && causeOf(error))).toEqual([cause])
})

test.each([
  [{ name: 'provider.rate-limit' }, 'rate'],
  [{ name: 'provider.internal' }, 'provider'],
  [{ name: 'provider.no-route' }, 'model'],
  [{ name: 'ContextOverflowError', statusCode: 400 }, 'context'],
  [{ name: 'APIError', statusCode: 403 }, 'credentials'],
  [{ name: 'APIError', statusCode: 429 }, 'rate'],
  [{ name: 'APIError', statusCode: 502 }, 'provider'],
  [{ name: 'APIError', statusCode: 400 }, undefined],
  [{ name: 'constructor' }, undefined],
])('the cause of %o is %s', (error, cause) => expect(causeOf(error)).toBe(cause))
