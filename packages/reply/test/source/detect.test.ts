import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { connect, type ReplyError } from '../../src/index.ts'
import { createSemaphore } from '../../src/source/http/fetcher.ts'

/** A server that takes requests and never answers. */
const silent: typeof fetch = async (_, init) =>
  await new Promise((_resolve, reject) => {
    init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))
  })

const rest = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
}

const failureOf = (call: Promise<unknown>) => {
  const failures: ReplyError[] = []
  call.catch((error: ReplyError) => failures.push(error))
  return failures
}

test('a call before the first connection has a deadline', async () => {
  const clock = createHandClock()
  const opencode = connect({ url: 'http://silent', fetch: silent, clock, deadlineMs: 300, onError: () => {} })
  const failures = failureOf(opencode.models())
  await clock.advance(1000, rest)
  expect(failures).toMatchObject([{ type: 'unreachable' }])
  await opencode.close()
})

test('closing fails a call before the first connection', async () => {
  const clock = createHandClock()
  const opencode = connect({ url: 'http://silent', fetch: silent, clock, onError: () => {} })
  const failures = failureOf(opencode.models())
  await rest()
  await opencode.close()
  await rest()
  expect(failures).toMatchObject([{ type: 'closed' }])
})

test('calls before the first connection ask once which version answers', async () => {
  const asked: string[] = []
  const opencode = connect({
    url: 'http://one',
    clock: createHandClock(),
    onError: () => {},
    fetch: async (input) => {
      const { pathname } = new URL(input instanceof Request ? input.url : String(input))
      if (pathname === '/api/health') asked.push(pathname)
      return pathname.endsWith('event') ? await new Promise(() => {}) : Response.json([])
    },
  })
  await Promise.all([opencode.sessions(), opencode.commands(), opencode.agents()])
  await opencode.commands()
  expect(asked).toHaveLength(1)
  await opencode.close()
})

test('a semaphore never lets in more than its limit', async () => {
  const turn = createSemaphore(2)
  let [inside, most] = [0, 0]
  const visit = async (): Promise<void> => {
    const release = await turn()
    most = Math.max(most, ++inside)
    await Promise.resolve()
    inside--
    release()
    // Asks again in the moment in which a waiting caller wakes.
    await turn().then((again) => {
      most = Math.max(most, ++inside)
      inside--
      again()
    })
  }
  await Promise.all(Array.from({ length: 8 }, visit))
  expect(most).toBe(2)
})
