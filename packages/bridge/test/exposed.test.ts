import { createServer, connect as dial, type Server } from 'node:net'
import { systemClock } from '@reply/core'
import { createRecordedServer, readRecording } from '@reply/testing'
import { serveFetch } from '@reply/testing/internal'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { replayListener } from '../../agents/test/codex/replay-listener.ts'
import { createRequireSafe, exposedAt } from '../src/servers/safety.ts'

const { bytes } = readRecording({ version: '1.18.33', scenario: 'plain' })
const clock = systemClock
let server: Awaited<ReturnType<typeof serveFetch>>
let locked: Awaited<ReturnType<typeof serveFetch>>
const doors: Server[] = []

/** The same server at another address of this computer. All of 127.0.0.0/8 is this computer. */
async function open(url: string, host: string): Promise<void> {
  const port = Number(new URL(url).port)
  const door = createServer((socket) => {
    const inner = dial({ host: '127.0.0.1', port })
    socket.on('error', () => inner.destroy()).pipe(inner)
    inner.on('error', () => socket.destroy()).pipe(socket)
  })
  await new Promise<void>((resolve) => door.listen(port, host, resolve))
  doors.push(door)
}

beforeAll(async () => {
  server = await serveFetch(createRecordedServer({ bytes }).fetch)
  locked = await serveFetch(async () => new Response('Unauthorized', { status: 401 }))
  await open(server.url, '127.0.0.2')
  await open(locked.url, '127.0.0.2')
})
afterAll(async () => {
  await Promise.all([server.close(), locked.close()])
  for (const door of doors) door.close()
})

describe('a server that is configured by loopback', () => {
  test('is found at another address where it answers without a password', async () => {
    const { port } = new URL(server.url)
    expect(await exposedAt({ url: server.url, clock, addresses: ['127.0.0.3', '127.0.0.2'] })).toBe(
      `http://127.0.0.2:${port}`,
    )
  })

  test('is not found where it does not listen, or asks for a password', async () => {
    expect(await exposedAt({ url: server.url, clock, addresses: ['127.0.0.3'] })).toBeUndefined()
    expect(await exposedAt({ url: locked.url, clock, addresses: ['127.0.0.2'] })).toBeUndefined()
  })
})

test('a Codex is found at another address where it answers without a token', async () => {
  const listeners = [await replayListener('0.169.0/desk', { isOpen: true }), await replayListener('0.169.0/desk')]
  const found = listeners.map(async ({ url }) => {
    await open(url, '127.0.0.2')
    const address = await exposedAt({ url, agent: 'codex', clock, addresses: ['127.0.0.2'] })
    return address?.replace(/:\d+$/, '')
  })
  expect(await Promise.all(found)).toEqual(['ws://127.0.0.2', undefined])
  for (const listener of listeners) listener.close()
})

test('an address beyond loopback is not looked at', async () => {
  expect(await exposedAt({ url: 'http://192.0.2.1:4096', clock, addresses: ['127.0.0.2'] })).toBeUndefined()
})

test('a server is looked at before its first prompt, and again as long as others can use it', async () => {
  const looked: (string | undefined)[] = []
  let isOpen = true
  const guard = createRequireSafe({
    servers: { home: { url: server.url }, work: { url: locked.url } },
    ownPaths: [],
    clock,
    checkExposure: async ({ url }) => {
      looked.push(url)
      if (isOpen && url === server.url) throw new Error('Others can use it.')
    },
  })
  await expect(guard('home', undefined)).rejects.toThrow('Others can use it.')
  await guard('work', undefined)
  await expect(guard('home', undefined)).rejects.toThrow('Others can use it.')
  isOpen = false
  for (const name of ['home', 'home', 'work', 'gone']) await guard(name, undefined)
  expect(looked).toEqual([server.url, locked.url, server.url, server.url])
})
