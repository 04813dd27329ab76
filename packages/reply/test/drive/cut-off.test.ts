import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { wasCutOff } from '../../src/drive/never-sent.ts'
import { setStage } from './stage.ts'

const cut = (): TypeError =>
  new TypeError('fetch failed', { cause: Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }) })

interface Told {
  readonly info: { readonly role: string }
}

/** A server on which the connection of the first posts is cut off, as `stores` and `reads` say. */
function stage({ cuts = 1, stores = false, reads = true, breaks = false }) {
  const posts: string[] = []
  const { server, opencode, advance, rest } = setStage({
    scenario: 'plain',
    before: 10_000,
    // The recorded server sends no heartbeats.
    connect: { silenceMs: breaks ? 25_000 : 10_000_000 },
    between: async (request, answer) => {
      const { pathname } = new URL(request.url)
      if (pathname.endsWith('/prompt_async')) {
        posts.push(JSON.parse(await request.text()).messageID)
        if (posts.length <= cuts) throw cut()
        return new Response(undefined, { status: 204 })
      }
      if (!pathname.endsWith('/message') || posts.length === 0) return await answer(request)
      if (!reads) throw cut()
      if (!stores) return await answer(request)
      const messages: Told[] = JSON.parse(await (await answer(request)).text())
      const prompt = messages.find(({ info }) => info.role === 'user')
      const sent = { ...prompt, info: { ...prompt?.info, id: posts[0] }, parts: [] }
      return Response.json([...messages, sent])
    },
  })
  const post = async () => {
    server.publish(server.length)
    await opencode.ready
    const [session] = await opencode.sessions()
    return opencode.prompt({ text: 'More.', sessionID: session?.sessionID ?? '' })
  }
  return { opencode, posts, post, advance, rest }
}

test('a prompt whose connection was cut off is posted again with the same id if the server lacks it', async () => {
  const { opencode, posts, post, advance, rest } = stage({})
  await post()
  await rest()
  expect(posts).toHaveLength(1)
  // A server that works on the request yet would have stored it by then.
  await advance(9000)
  expect(posts).toHaveLength(1)
  await advance(3000)
  expect(posts).toHaveLength(2)
  expect(posts[1]).toBe(posts[0])
  await opencode.close()
})

test('a prompt whose connection was cut off is not posted again if the server has it', async () => {
  const { opencode, posts, post, advance } = stage({ stores: true })
  await post()
  await advance(120_000)
  expect(posts).toHaveLength(1)
  await opencode.close()
})

test('a stored prompt for which nothing runs is posted again when the event stream has broken off, three times at most', async () => {
  const { opencode, posts, post, advance } = stage({ cuts: 0, stores: true, breaks: true })
  const stream = await post()
  await advance(20_000)
  expect(posts).toHaveLength(1)
  await advance(30_000)
  expect(posts).toHaveLength(2)
  await advance(600_000)
  expect((await stream.result).error?.name).toBe('NeverStarted')
  expect(new Set(posts)).toEqual(new Set([posts[0]]))
  expect(posts).toHaveLength(4)
  await opencode.close()
})

test('a prompt whose connection was cut off is not posted again if the server cannot tell', async () => {
  const { opencode, posts, post, advance } = stage({ reads: false })
  await post()
  await advance(120_000)
  expect(posts).toHaveLength(1)
  await opencode.close()
})

test('a prompt that is stopped while it is looked for is not posted again', async () => {
  const { opencode, posts, post, advance } = stage({})
  const stream = await post()
  await advance(1000)
  void stream.abort().catch(() => {})
  await advance(120_000)
  expect(posts).toHaveLength(1)
  await opencode.close()
})

test('a prompt that is cut off each time is posted for a minute at most', async () => {
  const { opencode, posts, post, advance } = stage({ cuts: 1000 })
  const stream = await post()
  await advance(300_000)
  expect((await stream.result).outcome).toBe('failed')
  expect(posts.length).toBeGreaterThan(2)
  expect(posts.length).toBeLessThan(9)
  await opencode.close()
})

test('a kept connection that the server closes is recognised', async () => {
  const server = createServer((request, response) => {
    if (request.method === 'GET') response.end()
    else request.socket.destroy()
  })
  const port = await new Promise<number>((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve(Reflect.get(server.address() ?? {}, 'port'))),
  )
  const url = `http://127.0.0.1:${port}`
  await (await fetch(url)).text()
  const closed = await fetch(url, { method: 'POST', body: 'x' }).catch((error: unknown) => error)
  await new Promise((resolve) => server.close(resolve))
  const unconnected = Object.assign(new Error('It failed.'), { code: 'ECONNRESET', syscall: 'connect' })
  expect([closed, unconnected, new Error('no')].map(wasCutOff)).toEqual([true, false, false])
})
