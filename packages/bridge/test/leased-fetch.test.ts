import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { systemClock } from '@reply/core'
import { createLocalAgent } from '@reply/core/source'
import { PortError } from '@reply/sink/channel'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listenerToken } from '../../agents/test/codex/listener.ts'
import { replayListener } from '../../agents/test/codex/replay-listener.ts'
import { scriptedListener } from '../../agents/test/codex/scripted-listener.ts'
import { connectServer, leasedFetch, leasedSource } from '../src/servers/connect.ts'

const arrived: string[] = []
const server = createServer(async (request, response) => {
  arrived.push(`${request.method} ${request.url}`)
  const { 'content-type': type, authorization } = request.headers
  response.end(JSON.stringify({ 'content-type': type, authorization, body: await text(request) }))
})
let url: string

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
})
afterAll(() => server.close())

const held = new AbortController().signal

// The core gives its requests whole, others as an address with options.
const ways = [
  {
    name: 'a whole request',
    ask: (fetching: typeof fetch, path: string) => fetching(new Request(url + path, { method: 'POST' }), {}),
  },
  { name: 'an address', ask: (fetching: typeof fetch, path: string) => fetching(url + path, { method: 'POST' }) },
]

test.each(ways)('$name that changes something waits until it may be made', async ({ name, ask }) => {
  let allow = (_: AbortSignal): void => {}
  const allowed = new Promise<AbortSignal>((resolve) => {
    allow = resolve
  })
  const fetching = leasedFetch(() => allowed)
  const path = `/change/${encodeURIComponent(name)}`
  const changing = ask(fetching, path)
  // A read that is asked for later is answered, so the change would have arrived by then.
  await fetching(new Request(`${url}/read`))
  await fetching(`${url}/read`)
  expect(arrived.filter((one) => one.endsWith(path))).toEqual([])
  allow(held)
  expect((await changing).status).toBe(200)
  expect(arrived.filter((one) => one.endsWith(path))).toEqual([`POST ${path}`])
})

test.each(ways)('$name that changes something is not made by a process that another replaced', async ({ ask }) => {
  const fetching = leasedFetch(async () => {
    throw new PortError('unreachable', 'Another process took over.')
  })
  await expect(ask(fetching, '/replaced')).rejects.toThrow('Another process took over')
  const over = new AbortController()
  over.abort()
  await expect(
    ask(
      leasedFetch(async () => over.signal),
      '/replaced',
    ),
  ).rejects.toThrow('aborted')
  expect(arrived.filter((one) => one.includes('replaced'))).toEqual([])
})

test('a request is not made if another process takes over while it connects', async () => {
  const other = createServer((request) => arrived.push(`${request.method} ${request.url}`))
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const address = other.address()
  const steps: string[] = []
  const onConnected = () => steps.push('connected')
  subscribe('undici:client:connected', onConnected)
  const fetching = leasedFetch(async () => {
    steps.push('asked')
    if (steps.includes('connected')) throw new PortError('unreachable', 'Another process took over.')
    return held
  })
  const connecting = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/connecting`
  const changing = fetching(new Request(connecting, { method: 'POST', body: 'Go' }))
  await expect(changing).rejects.toThrow('Another process took over')
  unsubscribe('undici:client:connected', onConnected)
  await new Promise((resolve) => other.close(resolve))
  expect([steps, arrived.filter((one) => one.includes('connecting'))]).toEqual([['asked', 'connected', 'asked'], []])
})

test.each([
  ['was sent', { code: 'ECONNRESET' }, async () => held],
  ['is not sent yet', { syscall: 'connect' }, async () => await new Promise<AbortSignal>(() => {})],
])('a request that the lease aborts and that %s fails as a connection does', async (_, marks, whenConnected) => {
  const silent = createServer(() => {})
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const address = silent.address()
  const ending = new AbortController()
  let asked = 0
  const fetching = leasedFetch(async () => {
    asked += 1
    if (asked === 1) return ending.signal
    setImmediate(() => ending.abort(new Error('The beat was late.')))
    return await whenConnected().then(() => ending.signal)
  })
  const slow = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/slow`
  await expect(fetching(new Request(slow, { method: 'POST', body: 'Go' }))).rejects.toMatchObject({
    message: 'The beat was late.',
    ...marks,
  })
  silent.closeAllConnections()
  await new Promise((resolve) => silent.close(resolve))
})

test('a request arrives with its body and its headers', async () => {
  const fetching = leasedFetch(async () => held)
  const headers = { 'content-type': 'text/plain', authorization: 'Basic eDp5' }
  const answer = await fetching(new Request(`${url}/echo`, { method: 'POST', headers, body: 'Größe' }))
  expect(await answer.json()).toEqual({ ...headers, body: 'Größe' })
})

test('a request is also ended by its own signal', async () => {
  const leaving = new AbortController()
  const changing = leasedFetch(async () => held)(new Request(`${url}/left`, { method: 'POST', signal: leaving.signal }))
  leaving.abort()
  await expect(changing).rejects.toThrow('aborted')
})

test('a request whose sender gives up while it waits is not made', async () => {
  const leaving = new AbortController()
  const fetching = leasedFetch(async () => await new Promise(() => {}))
  const changing = fetching(new Request(`${url}/given-up`, { method: 'POST' }), { signal: leaving.signal })
  leaving.abort()
  await expect(changing).rejects.toThrow('aborted')
  expect(arrived.filter((one) => one.includes('given-up'))).toEqual([])
})

test('a call to an agent that others use too waits until it may be made, and is not made by a process that another replaced', async () => {
  let created = 0
  const create = () => ({ sessionID: `ses_${++created}` })
  const { source } = createLocalAgent({ name: 'agent', create, prompt: async () => {}, cancel: () => {} })
  let allow = (_: AbortSignal): void => {}
  const allowed = new Promise<AbortSignal>((resolve) => {
    allow = resolve
  })
  const creating = leasedSource(source, () => allowed).create({ directory: undefined })
  // Reads don't wait.
  expect(await leasedSource(source, () => allowed).sessions({ directory: undefined })).toEqual([])
  expect(created).toBe(0)
  allow(held)
  expect(await creating).toMatchObject({ sessionID: 'ses_1' })
  const replaced = leasedSource(source, async () => {
    throw new PortError('unreachable', 'Another process took over.')
  })
  await expect(replaced.create({ directory: undefined })).rejects.toThrow('Another process took over')
  expect(created).toBe(1)
})

test('a Codex that runs already gets no prompt of a process that another replaced', async () => {
  const listener = await replayListener('0.169.0/desk')
  const server = { agent: 'codex', url: listener.url, token: { env: 'TOKEN' }, directory: '/project' }
  const client = await connectServer(server, {
    secret: () => listenerToken,
    secretNames: [],
    connectTimeoutMs: 10_000,
    clock: systemClock,
    whenHeld: async () => {
      throw new PortError('unreachable', 'Another process took over.')
    },
  })
  const { error } = await client.prompt({ text: 'Go.' }).result
  await client.close()
  listener.close()
  expect(error?.message).toContain('Another process took over')
})

test('a Codex gets no prompt that waited while another process took over', async () => {
  const listener = await scriptedListener()
  let asked = 0
  let isReplaced = false
  const whenHeld = async (): Promise<AbortSignal> => {
    asked += 1
    if (isReplaced) throw new PortError('unreachable', 'Another process took over.')
    return held
  }
  const connected = { secret: () => '', secretNames: [], connectTimeoutMs: 10_000, clock: systemClock, whenHeld }
  const client = await connectServer({ agent: 'codex', url: listener.url }, connected)
  const prompts = (): number => listener.methods.filter((method) => method === 'turn/start').length
  const sessionID = 'thread_1'
  client.prompt({ sessionID, text: 'First.' })
  await expect.poll(prompts).toBe(1)
  asked = 0
  const second = client.prompt({ sessionID, text: 'Second.' })
  // It began with the lease, and waits for the first one.
  await expect.poll(() => asked).toBe(1)
  isReplaced = true
  listener.takePrompts()
  const { error } = await second.result
  expect(error?.message).toContain('Another process took over')
  expect(prompts()).toBe(1)
  await client.close()
  listener.close()
})
