import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import * as channelModule from '../src/channel.ts'
import * as sinkModule from '../src/index.ts'
import { runProgram } from './readme-program.ts'

interface Sent {
  readonly url: string | undefined
  readonly method: string | undefined
  readonly body: unknown
}

test("the README's program posts the answer through the channel that it defines", async () => {
  const sent: Sent[] = []
  const server = createServer(async (request, response) => {
    sent.push({ url: request.url, method: request.method, body: JSON.parse(await text(request)) })
    // The program waits for as long as the chat asks, and tries again.
    if (sent.length === 1) response.writeHead(429, { 'retry-after': '0' }).end()
    else response.end(JSON.stringify({ id: 'm1' }))
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const local = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
  const logged = await runProgram({
    page: 'packages/sink/README.md',
    modules: { '@reply/sink': sinkModule, '@reply/sink/channel': channelModule },
    globals: {
      fetch: (url: string, init: RequestInit) => fetch(url.replace('https://chat.example', local), init),
    },
  })
  const body = { text: 'It is a typo.', silent: false }
  const post = { url: '/chats/general/messages', method: 'POST', body }
  expect(sent).toEqual([post, post])
  expect(logged).toMatchObject(['completed', { shown: 1, undelivered: [], doubtful: 0, rateLimited: 1 }])
  server.close()
  server.closeAllConnections()
})
