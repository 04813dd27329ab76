import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { main } from '../src/cli/main.ts'
import { fakeProcess } from './fixture/io.ts'

/** The built command. */
const bin = new URL('../bin/reply.mjs', import.meta.url)
const FULL = 'no space left on the device. Make room, or write elsewhere.'

/** A minimal server that sends a heartbeat to each new client. */
async function tinyServer() {
  const server = createServer(({ url = '' }, response) => {
    if (!url.startsWith('/global/event')) {
      response.setHeader('content-type', 'application/json')
      return void response.end(url.startsWith('/global/health') ? '{"healthy":true,"version":"1.18.33"}' : '[]')
    }
    response.setHeader('content-type', 'text/event-stream')
    for (const type of ['server.connected', 'server.heartbeat'])
      response.write(`data: {"type":"${type}","properties":{}}\n\n`)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** A stream that fails at the first write, as a file on a full disk does. */
function failing(code: string): Writable {
  return new Writable({
    write: (chunk, _, done) =>
      chunk.length === 0 ? done() : setImmediate(done, Object.assign(new Error(`${code}: it failed`), { code })),
  })
}

const onFull = test.skipIf(!existsSync('/dev/full'))

onFull('record into a file that is full ends at once, with one sentence and exit code 1', async () => {
  const server = await tinyServer()
  const fake = fakeProcess()
  const code = await main(['record', '/dev/full', '--force', '--url', server.url], fake.io)
  server.close()
  expect(fake.stderr()).toBe(`reply: /dev/full can't be written: ${FULL}\n`)
  expect(code).toBe(1)
  expect(fake.listening()).toBe(0)
})

test('a full standard output ends the command, with one sentence and exit code 1', async () => {
  const server = await tinyServer()
  for (const command of [['watch'], ['record', '-']]) {
    const fake = fakeProcess()
    const io = { ...fake.io, stdout: failing('ENOSPC') }
    expect(await main([...command, '--url', server.url], io)).toBe(1)
    expect(fake.stderr()).toContain(`reply: Standard output can't be written: ${FULL}\n`)
    expect(fake.listening()).toBe(0)
  }
  server.close()
})

test('a reader that leaves a pipe does not count as a failure', async () => {
  const fake = fakeProcess()
  expect(await main(['--help'], { ...fake.io, stdout: failing('EPIPE') })).toBe(0)
  expect(fake.stderr()).toBe('')
})

onFull('a process whose standard output is full says so and ends with 1', async () => {
  const command = '"$0" "$1" --help > /dev/full'
  const ended = promisify(execFile)('sh', ['-c', command, process.execPath, fileURLToPath(bin)])
  await expect(ended).rejects.toMatchObject({ code: 1, stderr: `reply: Standard output can't be written: ${FULL}\n` })
})
