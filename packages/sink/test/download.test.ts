import { createServer } from 'node:http'
import { createHandClock } from '@reply/testing'
import { afterEach, expect, test } from 'vitest'
import { createWebDownload, downloadFile, type FileRequest } from '../src/inbound/download.ts'

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
  ['says its length', (length: number) => ({ 'content-length': length }), 'it has 2 kB, and the limit is 1 kB'],
  ['does not say its length', () => ({}), 'it has more than 1 kB'],
])('a file that is too large and %s is refused', async (_, headers, sizes) => {
  const url = await serve((_, response) => {
    response.writeHead(200, headers(2000))
    response.end(Buffer.alloc(2000))
  })
  await expect(download(url)).rejects.toMatchObject({
    type: 'too-long',
    message: `file a.txt is too large: ${sizes}.`,
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

function webDownload(allows: (address: URL) => boolean) {
  return createWebDownload({ allows, clock: createHandClock(), signal: new AbortController().signal })
}

test('a file at an address that an agent chose is read if the policy allows it', async () => {
  const url = await serve((_, response) => response.end('Hello.'))
  const asked: string[] = []
  const read = webDownload(({ href }) => asked.push(href) > 0)
  expect(Buffer.from(await read(url, 1000)).toString()).toBe('Hello.')
  expect(asked).toEqual([url])
  await expect(read(url, 3)).rejects.toMatchObject({ type: 'too-long' })
})

test('an address that an agent chose is refused without a request unless the policy allows it', async () => {
  let requests = 0
  const url = await serve((_, response) => {
    requests += 1
    response.end()
  })
  const { host } = new URL(url)
  const message = `Files of ${host} are not downloaded: the settings don't allow it.`
  await expect(webDownload(() => false)(url, 1000)).rejects.toMatchObject({ type: 'refused', message })
  const withUser = url.replace('//', '//user:pass@')
  await expect(webDownload(() => true)(withUser, 1000)).rejects.toMatchObject({ type: 'refused', message })
  await expect(webDownload(() => true)('file:///etc/passwd', 1000)).rejects.toMatchObject({ type: 'refused' })
  expect(requests).toBe(0)
})

test('a redirect from an address that an agent chose leads nowhere', async () => {
  let isReached = false
  const inner = await serve((_, response) => {
    isReached = true
    response.end('secret')
  })
  const url = await serve((_, response) => response.writeHead(302, { location: inner }).end())
  await expect(webDownload(() => true)(url, 1000)).rejects.toMatchObject({ type: 'refused' })
  expect(isReached).toBe(false)
})
