import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { serve } from '../../reply/test/web/serve.ts'
import { chunksOf, createStage, prompt, readUntil, textIn } from './handler-stage.ts'

/** The example for Express, before Node's own server. */
async function listen(stage: Pick<ReturnType<typeof createStage>, 'handle'>): Promise<{ url: string; port: number }> {
  const { url, port, close } = await serve(stage.handle)
  onTestFinished(close)
  return { url: `${url}/api/chat`, port }
}

const json = { 'content-type': 'application/json' }

test('streams replies over HTTP, and lets a reader go that went away', async () => {
  const stage = createStage()
  const { url } = await listen(stage)
  const post = async (text: string, signal?: AbortSignal): Promise<Response> =>
    await fetch(url, { method: 'POST', headers: json, body: JSON.stringify(prompt(text)), ...(signal && { signal }) })
  expect(textIn(await chunksOf(await post('answer')))).toBe('An answer.')
  const first = new AbortController()
  await readUntil(await post('endless', first.signal), (chunks) => textIn(chunks) !== '')
  first.abort()
  const second = new AbortController()
  await readUntil(await fetch(`${url}/mine/stream`, { signal: second.signal }), (chunks) => textIn(chunks) !== '')
  expect(stage.client.watches.open).toBe(1)
  second.abort()
  await expect.poll(() => stage.client.watches.open).toBe(0)
  expect(stage.run().isOpen()).toBe(true)
})

test('refuses a body that goes on for 10 MB', async () => {
  const stage = createStage()
  const { url } = await listen(stage)
  const response = await fetch(url, { method: 'POST', headers: json, body: `"${'x'.repeat(10_000_000)}"` })
  expect(response.status).toBe(413)
})

test.each([
  ['TRACE /api/chat/mine/stream', '400'],
  ['GET //evil.example/stream', '404'],
  ['GET http://evil.example/api/chat/theirs/stream', '404'],
  ['OPTIONS *', '405'],
])('answers %s with %s', async (line, status) => {
  const { port } = await listen(createStage())
  const socket = connect(port, '127.0.0.1')
  socket.write(`${line} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nconnection: close\r\n\r\n`)
  let answer = ''
  for await (const data of socket) answer += String(data)
  expect(answer.split(' ')[1]).toBe(status)
})
