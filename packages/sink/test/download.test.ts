import { createServer } from 'node:http'
import { createHandClock } from '@reply/testing'
import { afterEach, expect, test } from 'vitest'
import { downloadFile, type FileRequest } from '../src/inbound/download.ts'

const stops: (() => unknown)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

async function serve(answer: Parameters<typeof createServer>[1]): Promise<string> {
  const server = createServer(answer ?? (() => {}))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stops.push(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const address = server.address()
  return `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}/secret`
}

async function download(url: string, more: Partial<FileRequest> = {}): Promise<Uint8Array> {
  const clock = createHandClock()
  return await downloadFile({ url, maxBytes: 1000, what: 'file a.txt', platform: 'Chat', clock, ...more })
}

test('a file is read whole', async () => {
  const url = await serve((_, response) => response.end('Hello.'))
  expect(Buffer.from(await download(url)).toString()).toBe('Hello.')
})

test.each([
  ['says its length', (length: number) => ({ 'content-length': length })],
  ['does not say its length', () => ({})],
])('a file that is too large and %s is refused', async (_, headers) => {
  const url = await serve((_, response) => {
    response.writeHead(200, headers(2000))
    response.end(Buffer.alloc(2000))
  })
  await expect(download(url)).rejects.toMatchObject({
    type: 'too-long',
    message: 'file a.txt is too large: it has more than 1000 bytes.',
  })
})

test('a file without an end is refused when it is too large', async () => {
  const url = await serve((_, response) => {
    response.writeHead(200)
    response.write(Buffer.alloc(2000))
  })
  await expect(download(url)).rejects.toMatchObject({ type: 'too-long' })
})

test.each([
  [404, 'gone'],
  [403, 'refused'],
  [502, 'ambiguous'],
])('an answer of %d is an error with a cure and without the address', async (status, type) => {
  const url = await serve((_, response) => response.writeHead(status).end())
  const failed = download(url, { cure: 'Ask again.' })
  await expect(failed).rejects.toMatchObject({ type, message: `file a.txt: Chat answered ${status}. Ask again.` })
})

test('a token follows no redirect', async () => {
  const seen: string[] = []
  const other = await serve((request, response) => {
    seen.push(String(request.headers.authorization))
    response.end()
  })
  const url = await serve((_, response) => response.writeHead(302, { location: other }).end())
  await expect(download(url, { headers: { authorization: 'Bearer x' } })).rejects.toMatchObject({ type: 'refused' })
  expect(seen).toEqual([])
})

test('a network error does not name the address', async () => {
  const url = await serve((_, response) => response.end())
  for (const stop of stops.splice(0)) await stop()
  const error = await download(url).catch((reason: unknown) => reason)
  expect(error).toMatchObject({ type: 'unreachable' })
  expect(String(error)).not.toContain('secret')
})
