import { request as ask, createServer, type Server } from 'node:http'
import { launchOpencode, type OpencodeServer, type ScriptedModel, sayText, startModel } from '@reply/testing'
import { afterAll, beforeAll, test, vi } from 'vitest'
import { connect, textOf } from '../../src/index.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let model: ScriptedModel
let server: OpencodeServer

interface Buffering {
  /** What a server streams is held back, and sent every so many ms. */
  readonly everyMs: number
  /** What it answers is held back that long. */
  readonly answerMs: number
}

/** Passes requests on, and buffers. */
function buffering(target: string, { everyMs, answerMs }: Buffering): Server {
  return createServer((request, response) => {
    const to = ask(
      new URL(request.url ?? '/', target),
      { method: request.method, headers: request.headers },
      (from) => {
        const isStream = String(from.headers['content-type']).includes('text/event-stream')
        const begin = (): void => void response.writeHead(from.statusCode ?? 502, from.headers)
        if (!isStream) {
          setTimeout(() => {
            begin()
            from.pipe(response)
          }, answerMs)
          return
        }
        let held: Buffer[] = []
        let isBegun = false
        from.on('data', (chunk: Buffer) => held.push(chunk))
        const timer = setInterval(() => {
          if (held.length === 0) return
          if (!isBegun) begin()
          isBegun = true
          response.write(Buffer.concat(held))
          held = []
        }, everyMs)
        from.on('close', () => {
          clearInterval(timer)
          response.end()
        })
        response.on('close', () => from.destroy())
      },
    )
    to.on('error', () => response.destroy())
    request.pipe(to)
  })
}

beforeAll(async () => {
  model = await startModel({ scripts: { hello: { steps: [[sayText('Hello to you.')]] } } })
  server = await launchOpencode({ model })
})
afterAll(async () => {
  await server.stop()
  await model.close()
})

// They wait for the proxy most of the time.
test.concurrent.for<Buffering & { readonly connectTimeoutMs?: number }>([
  { everyMs: 3000, answerMs: 0 },
  { everyMs: 3000, answerMs: 3000 },
  { everyMs: 7000, answerMs: 0, connectTimeoutMs: 60_000 },
])('the first prompt behind a proxy that buffers is answered: %j', async ({ connectTimeoutMs, ...by }, { expect }) => {
  const proxy = buffering(server.url, by)
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const at = proxy.address()
  const port = typeof at === 'object' ? at?.port : undefined
  const opencode = connect({
    url: `http://127.0.0.1:${port}`,
    directory: server.directory,
    connectTimeoutMs,
  })
  const stream = opencode.prompt({ text: 'Say hello. [scenario:hello]' })
  const reply = await stream.result
  expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'Hello to you.'])
  await opencode.close()
  proxy.closeAllConnections()
  proxy.close()
})
